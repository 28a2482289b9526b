"""Priorities of items."""

from __future__ import annotations

import pytest

from interloq.errors import InputError
from interloq.records import Dialogue, Score
from interloq.web.items import rate_items
from interloq.web.priority import disagreement, scores_of_items, with_priorities
from tests.web.conftest import replies


def test_percentiles_far_apart_are_a_disagreement() -> None:
    a, b, c = ("1", ""), ("2", ""), ("3", "")
    found = disagreement({"x": {a: 0.1, b: 0.2}, "y": {a: 5.0, b: 3.0}, "z": {c: 1.0}})
    assert found == {a: 50.0, b: 50.0}


def test_items_on_which_metrics_disagree_come_first() -> None:
    items = rate_items(replies(3, ["owl"]))
    bleu = [Score(f"secret-id-{i}", "bleu", value) for i, value in enumerate((0.9, 0.5, 0.1))]
    other = [Score(f"secret-id-{i}", "mine", value) for i, value in enumerate((0.8, 0.1, 0.2))]
    unscored = Score("secret-id-0", "third", None)
    scores = scores_of_items(items, [*bleu, *other, unscored, Score("elsewhere", "mine", 1.0)])
    assert {score.system for score in scores} == {"owl"}  # found by their ids alone
    found = with_priorities(items, scores)
    assert [round(item.priority, 3) for item in found] == [0.0, 33.333, 33.333]


def test_one_metric_alone_is_watched_without_priorities() -> None:
    items = rate_items(replies(1))
    scores = scores_of_items(items, [Score("secret-id-0", "bleu", 1.0, system="secret-owl")])
    assert [item.priority for item in with_priorities(items, scores)] == [0]


def test_scores_of_other_samples_or_of_dialogues_are_refused() -> None:
    with pytest.raises(InputError, match="no sample of the task has a score"):
        scores_of_items(rate_items(replies(1)), [Score("elsewhere", "bleu", 1.0)])
    with pytest.raises(InputError, match="not of dialogues"):
        scores_of_items(rate_items([Dialogue("d", ["Hi"])]), [])
