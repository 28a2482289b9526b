"""Counts of a rating."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq import InputError, Rating, Reference, Sample, write
from interloq.rate.human import Human
from interloq.rate.summary import summary

GOLD, FOUND, BAD = Reference("a", 0.5), Reference("b", 1.0, "retrieved:1"), Reference("c", -1.0, "retrieved:2")


class Anyone:
    """A rater that judges every reference."""


def test_weights_are_counted_by_source() -> None:
    given = [Sample("1", (), "x", [GOLD, FOUND, BAD]), Sample("2", (), "x", [BAD]), Sample("3", (), "x")]
    facts = summary(given, Anyone())  # type: ignore[arg-type]
    assert (facts["samples"], facts["without_references"], facts["without_gold"]) == (3, 1, 2)
    assert (facts["without_positive"], facts["references"]) == (1, 4)
    retrieved = facts["sources"]["retrieved"]
    assert (retrieved["references"], retrieved["judged"]) == (3, 3)
    assert (retrieved["mean"], retrieved["positive"]) == (pytest.approx(-1 / 3), pytest.approx(1 / 3))


def test_ratings_of_other_samples_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "r.jsonl", [Rating(4, "x", item="1/0")], kind="ratings")
    rater = Human(str(tmp_path / "r.jsonl"))
    facts = summary(rater.rate([Sample("1", (), "x", [GOLD, FOUND])]), rater)
    assert facts["sources"]["retrieved"] == {"references": 1, "judged": 0, "mean": None, "positive": None}
    with pytest.raises(InputError, match="'9/0'"):
        summary(rater.rate([Sample("9", (), "x", [GOLD])]), rater)
