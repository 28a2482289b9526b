"""Counts of records."""

from __future__ import annotations

from interloq import Dialogue, Rating, Sample, Score, Turn
from interloq.data.records.summary import RecordSummary


def test_samples_and_their_ratings_are_counted(samples: list[Sample]) -> None:
    summary = RecordSummary()
    rated = [*samples, Sample("7", (), "x", (), "", [Rating(None), Rating(2, "rater-0", "fluency")])]
    assert list(summary.watch(rated)) == rated
    facts = summary.facts()
    assert (facts["records"], facts["systems"]) == (7, {"bad": 3, "good": 3})
    assert facts["references"] == {"0": 1, "2": 6}
    assert (facts["raters"], facts["ratings"], facts["ratings_without_rater"]) == (3, 20, 1)
    assert facts["aspects"] == {
        "fluency": {"ratings": 1, "not_applicable": 0},
        "overall": {"ratings": 19, "not_applicable": 1},
    }
    assert "metrics" not in facts


def test_scores_and_dialogues_are_counted() -> None:
    summary = RecordSummary()
    for record in (Score("1", "bleu", 0.5, system="a"), Score("2", "bleu", None, "no references")):
        summary.add(record)
    facts = summary.facts()
    assert (facts["metrics"], facts["unscored"], facts["systems"]) == ({"bleu": 2}, 1, {"a": 1})
    other = RecordSummary()
    other.add(Dialogue("1", [Turn("hi", "x"), Turn("hello", "y")], {"x": "a", "y": "b"}))
    assert other.facts()["systems"] == {"a": 1, "b": 1}
