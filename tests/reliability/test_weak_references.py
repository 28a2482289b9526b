from __future__ import annotations

import math
from random import Random
from typing import Any

import pytest

from interloq import Score
from interloq.reliability.labels import distinct_texts
from interloq.reliability.weak_references import (
    FEWEST,
    Predictions,
    Rise,
    count_needed_references,
    is_weak,
    metric_name,
    predicted_metric,
    rises,
    summarise_predictions,
    weak_note,
)
from tests.reliability.made_predictor import MadePredictor
from tests.reliability.made_queries import sentence

NAME, REASON = metric_name("bleu_star"), "too few queries"


def predicted(id: str, value: float | None, needed: int | None = None, system: str = "", why: str = REASON) -> Score:
    weak: dict[str, Any] = {}
    if value is not None and value < 0.2:
        weak["needed"] = needed
        if needed is None and why:
            weak["why_unknown"] = why
    return Score(id, NAME, value, "" if value is not None else "no references", system, {"minimum": 0.2, **weak})


def test_names_of_predictions_are_recognised() -> None:
    assert predicted_metric(NAME) == "bleu_star"
    assert predicted_metric("bleu_star") == ""
    assert predicted_metric("reliability") == ""


def test_weak_is_below_the_minimum() -> None:
    assert [is_weak(predicted("s", value)) for value in (0.1, 0.2, 0.3, None)] == [True, False, False, False]
    assert not is_weak(Score("s", "bleu", 0.1))


def test_a_summary_counts_weak_samples_and_what_they_need() -> None:
    found = summarise_predictions(
        [predicted("a", 0.1, 2), predicted("b", 0.0, 5), predicted("c", -0.1), predicted("d", 0.4)]
    )
    assert found | {"mean": 0} == {
        "samples": 4, "mean": 0, "minimum": 0.2, "weak": 3, "needed": 4, "unknown": 1, "unpredicted": {},
        "why_unknown": {"too few queries": 1},
    }  # fmt: skip
    assert found["mean"] == pytest.approx(0.1)
    assert weak_note("m", found) == (
        "references too weak to trust m: 3 of 4 samples, with a predicted reliability below 0.2; 4 more references "
        "each would be enough for half of them; how many more are needed cannot be said for 1 of them: "
        "too few queries"
    )
    assert summarise_predictions([])["mean"] is None


def test_a_number_that_cannot_be_said_has_a_reason() -> None:
    note = weak_note("m", summarise_predictions([predicted("a", 0.1), predicted("b", None)]))
    assert "1 of 2 samples" in note
    assert note.endswith("how many more are needed cannot be said: too few queries")
    scores = [predicted("a", 0.1, why="no larger sets"), predicted("b", 0.1), predicted("c", 0.1)]
    assert weak_note("m", summarise_predictions(scores)).endswith(": too few queries (2); no larger sets (1)")
    earlier = summarise_predictions([predicted("a", 0.1, why="")])
    assert weak_note("m", earlier).endswith(": larger sets are too rare here, or are weak too")


def test_predictions_are_taken_out_of_scores() -> None:
    scores = [Score("a", "bleu", 0.5), predicted("a", 0.1, 2), predicted("b", 0.05, 1, "bot"), predicted("x", 0.1)]
    found = Predictions()
    assert list(found.without(scores)) == scores[:1]
    keys = [("a", ""), ("b", "bot"), ("c", "")]
    assert found.weak(keys) == {("a", ""): 0.1, ("b", "bot"): 0.05}
    (note,) = found.notes(keys)
    assert note.startswith("references too weak to trust bleu_star: 2 of 2 samples")
    assert note.endswith("(for example 'a', 'b' of 'bot')")
    assert found.notes([("c", "")]) == []


WORDS = ["tea", "milk", "cup", "leaf", "pot", "sip"]


def test_every_new_topic_word_raises_the_prediction_by_a_tenth() -> None:
    queries = [[f"query {i}"] for i in range(FEWEST)]
    found = rises(MadePredictor(), queries, [WORDS] * FEWEST)
    assert [(rise.size, rise.queries) for rise in found] == [(size, FEWEST) for size in range(1, 6)]
    assert [rise.mean for rise in found] == pytest.approx([0.1] * 5)


def test_only_queries_with_more_references_count_and_order_does_not_matter() -> None:
    random, model = Random(1), MadePredictor()
    queries = [[f"query {i}"] for i in range(30)]
    sets = [[sentence(random, i, 0.5) for _ in range(i % 9)] for i in range(30)]
    found = rises(model, queries, sets)
    distinct = [len(distinct_texts(some)) for some in sets]
    assert [rise.queries for rise in found] == [sum(n > rise.size for n in distinct) for rise in found]
    assert found[-1].queries >= FEWEST
    assert rises(model, queries[::-1], sets[::-1]) == found
    assert rises(model, queries * 2, sets * 2) == found
    assert rises(model, queries, sets, seed=1) != found


def test_a_set_of_two_hundred_references() -> None:
    found = rises(MadePredictor(), [[f"q {i}"] for i in range(6)], [[f"tea {j}" for j in range(200)]] * 6)
    assert len(found) == 19
    assert [rise.mean for rise in found] == pytest.approx([0.0] * 19)


@pytest.mark.parametrize("sets", [[["tea"]] * 9, [WORDS] * (FEWEST - 1), [[]] * 9, [["tea"] * 5] * 9])
def test_too_little_to_say(sets: list[list[str]]) -> None:
    assert rises(MadePredictor(), [[f"q {i}"] for i in range(len(sets))], sets) == []
    assert rises(MadePredictor(), [[" "]] * len(sets), sets) == []


RISES = [Rise(1, 0.1, 9), Rise(2, 0.05, 9), Rise(3, -0.05, 9)]


@pytest.mark.parametrize(
    ("value", "size", "wanted", "expected"),
    [(0.3, 1, 0.2, 0), (0.15, 1, 0.2, 1), (0.1, 1, 0.24, 2)],
)
def test_needed(value: float, size: int, wanted: float, expected: int) -> None:
    assert count_needed_references(value, size, wanted, RISES) == (expected, "")


@pytest.mark.parametrize(
    ("value", "size", "wanted", "reason"),
    [
        (0.1, 4, 0.2, "fewer than 5 queries here have more than 4 references"),
        (0.1, 0, 0.2, "fewer than 5 queries here have more than 0 references"),
        (math.nan, 1, 0.2, "nothing is predicted for these references"),
        (
            0.1, 1, 0.5,
            "4 references are not expected to be enough, and fewer than 5 queries here have more than 4 references",
        ),
        (0.1, 20, 0.2, "sets of more than 20 references are not compared"),
    ],
)  # fmt: skip
def test_needed_is_a_number_or_a_reason(value: float, size: int, wanted: float, reason: str) -> None:
    assert count_needed_references(value, size, wanted, RISES) == (None, reason)
