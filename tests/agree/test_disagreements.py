from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interloq import InputError
from interloq.agree.disagreements import disagreements
from interloq.records import Key

PAIRS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=30)


def _percentile(value: float, values: list[float]) -> float:
    """By counting: half of the ties, one's own included, and all that lie below."""
    below, ties = sum(v < value for v in values), sum(v == value for v in values)
    return 100 * (below + ties / 2) / len(values)


def _mappings(pairs: list[tuple[int, int]]) -> tuple[dict[Key, float], dict[Key, float]]:
    """Of samples that some have by their ids, some by their systems."""
    keys = [(f"{i // 2:02}", f"{i % 2}") for i in range(len(pairs))]
    first, second = ({key: float(pair[j]) for key, pair in zip(keys, pairs, strict=True)} for j in (0, 1))
    return first, second


def _keyed(values: dict[str, float]) -> dict[Key, float]:
    return {(id, ""): value for id, value in values.items()}


@given(PAIRS, st.integers(0, 12))
def test_the_worst_are_those_a_full_sort_puts_first(pairs: list[tuple[int, int]], worst: int) -> None:
    scores, judgments = _mappings(pairs)
    found = disagreements(scores, judgments, worst=worst)
    gaps = {
        id: _percentile(scores[id], list(scores.values())) - _percentile(judgments[id], list(judgments.values()))
        for id in scores
    }
    over = sorted((id for id in gaps if gaps[id] > 1e-9), key=lambda i: (-round(gaps[i], 6), i))
    under = sorted((id for id in gaps if gaps[id] < -1e-9), key=lambda i: (round(gaps[i], 6), i))
    assert [d.key for d in found.over] == over[: worst - worst // 2]
    assert [d.key for d in found.under] == under[: worst // 2]
    for d in (*found.over, *found.under):
        assert d.difference == pytest.approx(gaps[d.key])
        assert (d.score, d.judgment) == (scores[d.key], judgments[d.key])


@given(PAIRS, st.randoms())
def test_the_order_of_samples_does_not_matter(pairs: list[tuple[int, int]], shuffler: random.Random) -> None:
    scores, judgments = _mappings(pairs)
    ids = list(scores)
    shuffler.shuffle(ids)
    assert disagreements({id: scores[id] for id in ids}, judgments) == disagreements(scores, judgments)


def test_only_samples_with_both_count() -> None:
    scores = {"a": 1.0, "b": 2.0, "c": 3.0, "only scored": 9.0, "unscored": float("nan")}
    judgments = {"a": 3.0, "b": 2.0, "c": 1.0, "only judged": 5.0, "unscored": 4.0}
    found = disagreements(_keyed(scores), _keyed(judgments))
    assert found.n == 3
    assert [(d.key[0], round(d.difference)) for d in found.over] == [("c", 67)]
    assert [(d.key[0], round(d.difference)) for d in found.under] == [("a", -67)]


def test_a_monotone_metric_disagrees_nowhere() -> None:
    judgments = _keyed({str(i): float(i) for i in range(10)})
    found = disagreements({id: value**3 for id, value in judgments.items()}, judgments)
    assert (found.over, found.under, found.n) == ((), (), 10)


def test_a_metric_that_counts_downwards_is_turned_round() -> None:
    judgments = _keyed({name: float(i) for i, name in enumerate("abcde")})
    found = disagreements({name: -value for name, value in judgments.items()}, judgments, lower_is_better=True)
    assert (found.over, found.under, found.n) == ((), (), 5)


def test_a_negative_number_is_refused() -> None:
    with pytest.raises(InputError, match="must not be negative, got -1"):
        disagreements({}, {}, worst=-1)
