"""Which rated references are kept."""

from __future__ import annotations

import pytest

from interloq import InputError, Reference, Sample
from interloq.rate.rater import check_best, select

GOLD = Reference("gold", -0.5)
LOW, HIGH, SAME = (Reference(f"r{i}", w, f"retrieved:{i}") for i, w in enumerate((-0.2, 0.7, 0.7)))
PARROT = Reference("parrot", 0.9, "parrot")
SAMPLE = Sample("1", ["hello"], "hi", [LOW, GOLD, HIGH, PARROT, SAME])


@pytest.mark.parametrize(
    ("best", "kept"),
    [
        (None, (LOW, GOLD, HIGH, PARROT, SAME)),
        (1, (GOLD, PARROT)),
        (2, (GOLD, HIGH, PARROT)),  # of equal weights the first
        (3, (GOLD, HIGH, PARROT, SAME)),
        (9, (LOW, GOLD, HIGH, PARROT, SAME)),
    ],
)
def test_gold_replies_and_the_best_others_are_kept_in_their_order(
    best: int | None, kept: tuple[Reference, ...]
) -> None:
    assert select(SAMPLE, best=best).references == kept
    unweighed = select(SAMPLE, best=best, weigh=False).references
    assert [(r.text, r.weight, r.source) for r in unweighed] == [(r.text, 1.0, r.source) for r in kept]


def test_a_sample_that_could_not_be_rated_stays_without_weight() -> None:
    unrated = Sample(
        "1", (), "hi", [Reference("a", 0.0), Reference("b", -1.0, "retrieved:1"), Reference("c", 0, "parrot")]
    )
    assert [r.weight for r in select(unrated, weigh=False).references] == [0, -1, 0]
    assert [r.text for r in select(unrated, best=1, weigh=False).references] == ["a", "c"]
    assert select(Sample("1", (), "hi"), best=1, weigh=False).references == ()


def test_at_least_one_is_kept() -> None:
    check_best(None)
    check_best(1)
    with pytest.raises(InputError, match="best must be at least 1, got 0"):
        check_best(0)
