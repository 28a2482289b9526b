"""Leaving systems out, and the reply's own copies."""

from __future__ import annotations

import pytest

from interloq import InputError, Sample, Score
from interloq.score.selection import SampleFilter

SAMPLES = [
    Sample("1", ["x"], "I did .", ["i did", "no"], "human"),
    Sample("2", ["x"], "Yes !", ["yes"], "human"),
    Sample("3", ["x"], "Yes !", ["no"], "bot"),
    Sample("4", ["x"], "Yes !", ["no"]),
]


def test_everything_passes_where_nothing_is_asked() -> None:
    selection = SampleFilter()
    assert list(selection.samples(SAMPLES)) == SAMPLES
    assert (selection.facts(), list(selection.notes())) == ({}, [])


def test_copies_of_the_reply_are_dropped_and_counted_by_system() -> None:
    selection = SampleFilter(drop_own_replies=True)
    kept = list(selection.samples(SAMPLES))
    assert [[r.text for r in sample.references] for sample in kept] == [["no"], [], ["no"], ["no"]]
    assert selection.facts() == {"own-replies": "dropped"}
    (note,) = selection.notes()
    assert (note.count, note.of, note.by_system) == (2, 4, (("human", 2),))
    assert note.text.endswith("dropped from them; 1 have no other reference")


def test_systems_are_left_out_by_name() -> None:
    selection = SampleFilter(without=["human", "(none)"])
    assert [sample.id for sample in selection.samples(SAMPLES)] == ["3"]
    assert selection.excluded == [("1", "human"), ("2", "human"), ("4", "")]
    (note,) = selection.notes()
    assert note.text == "3 of 4 replies (human 2, (none) 1) were excluded as requested"
    assert selection.facts() == {"without": "(none),human"}


def test_an_unknown_system_is_refused() -> None:
    with pytest.raises(InputError, match=r"no sample is of system 'humans'; did you mean 'human'\?"):
        list(SampleFilter(without=["humans"]).samples(SAMPLES))


def test_scores_of_excluded_samples_are_told_from_unknown_ones() -> None:
    selection = SampleFilter(without=["human", "(none)"])
    list(selection.samples(SAMPLES))
    scores = [Score("9", "m", 1.0, system="human"), Score("9", "m", 1.0), Score("3", "m", 1.0, system="bot")]
    assert [selection.excludes(score) for score in scores] == [True, True, False]
    some = SampleFilter(without=["human"])
    list(some.samples(SAMPLES))
    assert [some.excludes(Score(id, "m", 1.0)) for id in ("1", "3", "9")] == [True, False, False]  # without a system
