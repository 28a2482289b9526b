"""Priorities of items."""

from __future__ import annotations

import pytest

from interloq.errors import InputError
from interloq.records import Dialogue, Score
from interloq.web.studies.items import rate_items
from interloq.web.studies.priority import disagreement, with_scores
from tests.web.conftest import replies


def test_percentiles_far_apart_are_a_disagreement() -> None:
    a, b, c = ("1", ""), ("2", ""), ("3", "")
    found = disagreement({"x": {a: 0.1, b: 0.2}, "y": {a: 5.0, b: 3.0}, "z": {c: 1.0}})
    assert found == {a: 50.0, b: 50.0}


def test_items_on_which_metrics_disagree_come_first() -> None:
    items = rate_items(replies(3, ["owl"]))
    bleu = [Score(f"secret-id-{i}", "bleu", value) for i, value in enumerate((0.9, 0.5, 0.1))]
    other = [Score(f"secret-id-{i}", "chrf", value) for i, value in enumerate((0.8, 0.1, 0.2))]
    unscored = Score("secret-id-0", "third", None)
    found = with_scores(items, [*bleu, *other, unscored, Score("elsewhere", "chrf", 1.0)])  # found by their ids
    assert found[0].hidden["units"][0]["scores"] == {"bleu": 0.9, "chrf": 0.8, "third": None}
    assert [round(item.priority, 3) for item in found] == [0.0, 33.333, 33.333]


def test_one_metric_alone_is_watched_without_priorities() -> None:
    items = rate_items(replies(1))
    (found,) = with_scores(items, [Score("secret-id-0", "bleu", 1.0, system="secret-owl")])
    assert found.priority == 0
    assert [unit["scores"] for unit in found.hidden["units"]] == [{}, {"bleu": 1.0}]


def test_scores_of_other_samples_or_of_dialogues_are_refused() -> None:
    with pytest.raises(InputError, match="no sample of the task has a score"):
        with_scores(rate_items(replies(1)), [Score("elsewhere", "bleu", 1.0)])
    with pytest.raises(InputError, match="not of dialogues"):
        with_scores(rate_items([Dialogue("d", ["Hi"])]), [])
