"""Comparisons of files."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq import InputError, Rating, Sample, write
from interloq.compare.compare_file import compare_file
from interloq.compare.compare_options import CompareOptions
from tests.made_dialogues import made_dialogues, write_dialogues


def test_samples_with_ratings(folder: Path) -> None:
    for name, words, value in (("old", 1, 2), ("new", 3, 4)):
        samples = [
            Sample(
                f"{i}/{name}", [f"question {i}"], "word " * (words + i % 2), system=name, ratings=[Rating(value, "a")]
            )
            for i in range(12)
        ]
        write(f"{name}.jsonl", samples, kind="samples")
    found = compare_file("old.jsonl", "new.jsonl", CompareOptions(metrics=["length"], lower_is_better=False))
    assert (found.old, found.new, found.pairing) == ("old", "new", "context")
    assert found.changes[0].difference == 2
    assert [(h.which, h.value) for h in found.people] == [("old", 2), ("new", 4), ("difference", 2)]
    assert not [note for note in found.notes if "--aspect" in note]
    with pytest.raises(InputError, match="no ratings of aspect 'wit'"):
        compare_file("old.jsonl", "new.jsonl", CompareOptions(metrics=["length"], aspect="wit"))


def test_scores_of_played_dialogues_are_compared_by_dialogue(folder: Path) -> None:
    for name, level in (("old", 0.0), ("new", 2.0)):
        write_dialogues(folder, *made_dialogues({name: level}, openings=8, seed=len(name) + int(level)), name=name)
    found = compare_file(
        "oldscores.jsonl", "newscores.jsonl", CompareOptions(slice_by=["partner"], lower_is_better=False)
    )
    assert (found.unit, found.pairing) == ("dialogue", "occasion")
    assert found.changes[0].verdict == "better"
    assert found.changes[0].clusters == 16
