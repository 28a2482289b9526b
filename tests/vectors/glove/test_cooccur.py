"""Counting against a literal loop with exact fractions, whatever the memory, the order and the size of the parts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interloq.data.text.token_texts import Texts as Numbered
from interloq.vectors.glove import cooccur

Texts = list[list[int]]
Matrix = dict[tuple[int, int], float]


def literal(texts: Texts, window: int) -> Matrix:
    """The definition: both orders of every two words at most `window` apart in one text."""
    sums: dict[tuple[int, int], Fraction] = defaultdict(Fraction)
    for text in texts:
        for i, left in enumerate(text):
            for j in range(i + 1, min(i + window, len(text) - 1) + 1):
                sums[left, text[j]] += Fraction(1, j - i)
                sums[text[j], left] += Fraction(1, j - i)
    return {pair: float(total) for pair, total in sums.items()}


def flat(texts: Texts) -> Numbered:
    tokens = np.array([token for text in texts for token in text], dtype=np.int32)
    return Numbered(tokens, np.concatenate([[0], np.cumsum([len(text) for text in texts])]).astype(np.int64))


def parts(texts: Texts, n: int) -> Iterator[Numbered]:
    for start in range(0, len(texts), max(1, n)):
        yield flat(texts[start : start + max(1, n)])


def counted(texts: Texts, folder: Path, *, window: int, n: int = 3, memory: float = 0) -> Matrix:
    words = max((token for text in texts for token in text), default=0) + 1
    result = cooccur.count(parts(texts, n), folder, words=words, window=window, memory=memory, step=lambda _: None)
    upper = {
        (int(a), int(b)): float(x)
        for rows, columns, values in result.slices(2)
        for a, b, x in zip(rows, columns, values, strict=True)
    }
    assert all(a <= b for a, b in upper)
    full = upper | {(b, a): x for (a, b), x in upper.items()}
    assert len(full) == result.full_entries
    return full


@pytest.fixture
def cramped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small limits, so that a small corpus meets table, runs and merging."""
    monkeypatch.setattr(cooccur, "FREQUENT", 3)
    monkeypatch.setattr(cooccur, "SMALLEST", 5)


@given(
    texts=st.lists(st.lists(st.integers(0, 11), max_size=12), min_size=1, max_size=12),
    window=st.integers(1, 24),
    n=st.integers(1, 5),
)
@settings(max_examples=50, deadline=None)
def test_counts_are_those_of_a_literal_loop(
    tmp_path_factory: pytest.TempPathFactory, texts: Texts, window: int, n: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cooccur, "FREQUENT", 3)
        patch.setattr(cooccur, "SMALLEST", 5)
        found = counted(texts, tmp_path_factory.mktemp("counts"), window=window, n=n)
    expected = literal(texts, window)
    assert found.keys() == expected.keys()
    assert all(found[pair] == pytest.approx(expected[pair], rel=1e-12) for pair in expected)


def test_counts_do_not_depend_on_memory_order_or_parts(tmp_path: Path, cramped: None) -> None:
    rng = np.random.default_rng(0)
    texts: Texts = [rng.integers(0, 40, size=length).tolist() for length in rng.integers(0, 30, size=400)]
    generous = counted(texts, tmp_path / "a", window=15, n=400, memory=1e9)
    tight = counted(texts[::-1], tmp_path / "b", window=15, n=7)
    assert generous == tight, "exact sums, so equal to the last bit"
    assert len(generous) > 1000
    assert not list((tmp_path / "b").glob("run-*"))


def test_tight_memory_spills_several_runs(tmp_path: Path, cramped: None, monkeypatch: pytest.MonkeyPatch) -> None:
    seen, original = list[int](), cooccur.merge_runs

    def watched(runs: Sequence[cooccur.Run], block: int) -> Iterator[cooccur.Run]:
        seen.append(len(runs))
        return original(runs, block)

    monkeypatch.setattr(cooccur, "merge_runs", watched)
    rng = np.random.default_rng(1)
    texts: Texts = [rng.integers(0, 60, size=30).tolist() for _ in range(100)]
    assert counted(texts, tmp_path, window=10) == pytest.approx(literal(texts, 10))
    assert seen[0] > 5


def test_runs_left_by_a_killed_job_are_not_counted(tmp_path: Path, cramped: None) -> None:
    texts = [[0, 5, 7, 5], [7, 7]]
    np.array([99], dtype=np.uint64).tofile(tmp_path / "run-0000.keys")
    np.array([99], dtype=np.int64).tofile(tmp_path / "run-0000.sums")
    assert counted(texts, tmp_path, window=2) == literal(texts, 2)


def test_distance_weights_are_exact_up_to_a_window_of_22() -> None:
    for window in (1, 15, 22):
        weights, unit = cooccur.distance_weights(window)
        assert [Fraction(int(weight), unit) for weight in weights[1:]] == [Fraction(1, d) for d in range(1, window + 1)]
    assert cooccur.distance_weights(23)[0].dtype == np.float64
