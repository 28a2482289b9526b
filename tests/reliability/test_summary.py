from __future__ import annotations

import pytest

from interloq import Score
from interloq.reliability.summary import Predictions, is_weak, metric_name, predicted_metric, summary, weak_note

NAME = metric_name("bleu_star")


def predicted(id: str, value: float | None, needed: int | None = None, system: str = "") -> Score:
    weak = {"needed": needed} if value is not None and value < 0.2 else {}
    return Score(id, NAME, value, "" if value is not None else "no references", system, {"minimum": 0.2, **weak})


def test_names_of_predictions_are_recognised() -> None:
    assert predicted_metric(NAME) == "bleu_star"
    assert predicted_metric("bleu_star") == ""
    assert predicted_metric("reliability") == ""


def test_weak_is_below_the_minimum() -> None:
    assert [is_weak(predicted("s", value)) for value in (0.1, 0.2, 0.3, None)] == [True, False, False, False]
    assert not is_weak(Score("s", "bleu", 0.1))


def test_a_summary_counts_weak_samples_and_what_they_need() -> None:
    found = summary([predicted("a", 0.1, 2), predicted("b", 0.0, 5), predicted("c", -0.1), predicted("d", 0.4)])
    assert found | {"mean": 0} == {
        "samples": 4, "mean": 0, "minimum": 0.2, "weak": 3, "needed": 4, "unknown": 1, "unpredicted": {},
    }  # fmt: skip
    assert found["mean"] == pytest.approx(0.1)
    assert weak_note("m", found) == (
        "references too weak to trust m: 3 of 4 samples, with a predicted reliability below 0.2; 4 more references "
        "each would be enough for half of them; how many more are needed cannot be said for 1 of them: "
        "larger sets are too rare here, or are weak too"
    )
    assert summary([])["mean"] is None


def test_a_number_that_cannot_be_said_is_not_said() -> None:
    note = weak_note("m", summary([predicted("a", 0.1), predicted("b", None)]))
    assert "1 of 2 samples" in note
    assert note.endswith("how many more are needed cannot be said: larger sets are too rare here, or are weak too")


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
