"""A file of records, counted and checked."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq import InputError, Rating, Sample, Score, write
from interloq.data.records.read_options import ReadOptions
from interloq.score.check_file import check_file
from interloq.score.score_options import CheckOptions


def test_records_are_counted_and_what_metrics_cannot_use_is_noted(folder: Path) -> None:
    made = [Sample(str(i), ["hi"], "same text", ["same text"], "a") for i in range(3)]
    write("samples.jsonl", made, kind="samples")
    facts, notes = check_file("samples.jsonl", CheckOptions(metrics=["bleu(order=4)"]))
    assert (facts["kind"], facts["records"], facts["systems"]) == ("samples", 3, {"a": 3})
    assert {note.name for note in notes} >= {"own references", "length"}
    assert not any(note.metric for note in check_file("samples.jsonl")[1])


def test_other_kinds_have_no_notes(folder: Path) -> None:
    write("scores.jsonl", [Score("1", "bleu", 0.5)], kind="scores")
    facts, notes = check_file("scores.jsonl", CheckOptions(metrics=["bleu"]))
    assert (facts["kind"], facts["metrics"], notes) == ("scores", {"bleu": 1}, [])
    with pytest.raises(InputError):
        check_file("scores.jsonl", kind="samples", reading=ReadOptions(strict=True))


def test_raters_on_different_scales_are_noted_in_every_kind_of_file(folder: Path) -> None:
    ratings = [
        Rating(factor * i, rater, item=str(i)) for rater, factor in (("ann", 1), ("dan", 20)) for i in range(1, 6)
    ]
    write("ratings.jsonl", ratings, kind="ratings")
    samples = [Sample(str(i), [], "reply", ratings=[r for r in ratings if r.item == str(i)]) for i in range(1, 6)]
    write("samples.jsonl", samples, kind="samples")
    for name in ("ratings.jsonl", "samples.jsonl"):
        assert any("different scales" in note.text for note in check_file(name)[1])
