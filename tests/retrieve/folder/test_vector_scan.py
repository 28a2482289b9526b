"""Short codes that are scanned, and full codes that give the scores."""

from __future__ import annotations

from pathlib import Path

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interloq import InputError
from interloq.retrieve.folder import vector_lists as lists
from interloq.retrieve.folder.vector_scan import CODES, NUMBERS, PLACES, STARTS, TrainedCodes
from interloq.retrieve.retriever import NOTHING, Floats, best


def unit_vectors(n: int, dimensions: int = 48, seed: int = 0) -> Floats:
    """Vectors of which few directions carry most, as in real ones."""
    rows = np.random.default_rng(seed).standard_normal((n, dimensions)).astype(np.float32)
    rows *= np.arange(1, dimensions + 1, dtype=np.float32) ** -0.5
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def write_segments(folder: Path, parts: list[Floats], n_lists: int = 8) -> list[lists.VectorSegment]:
    trained = folder / "trained.npz"
    TrainedCodes.train(parts[0], n_lists).save(trained)
    for i, part in enumerate(parts):
        (folder / str(i)).mkdir(exist_ok=True)
        TrainedCodes.load(trained).write_segment(folder / str(i), part)
    return lists.open_segments({folder / str(i): len(part) for i, part in enumerate(parts)}, trained)


def test_it_finds_what_exact_search_finds(tmp_path: Path) -> None:
    vectors, queries = unit_vectors(6_000), unit_vectors(50, seed=1)
    segments = write_segments(tmp_path, [vectors[:2_500], vectors[2_500:2_501], vectors[2_501:]], n_lists=32)
    true = np.sort(queries @ vectors.T, axis=1)[:, ::-1][:, :15]
    ids, scores = best(*lists.nearest(segments, queries, 15, n_probe=32), 15)
    assert scores == pytest.approx(true, abs=2e-3), "short codes lose few candidates, full codes little of the score"
    assert scores == pytest.approx(np.einsum("qd,qkd->qk", queries, vectors[ids]), abs=1e-3)
    found = best(*lists.nearest(segments, queries, 15, n_probe=8), 15)[0]
    recall = np.mean([len(set(some) & set(every)) / 15 for some, every in zip(found, ids, strict=True)])
    assert 0.5 < recall < 1, "fewer lists find less"


def test_scores_do_not_depend_on_threads_or_other_queries(tmp_path: Path) -> None:
    vectors, queries = unit_vectors(3_000), unit_vectors(20, seed=1)
    vectors[100:1_000] = vectors[100]  # more equal vectors than candidates
    segments = write_segments(tmp_path, [vectors[:1_700], vectors[1_700:]])
    queries[0] = vectors[100]
    together = best(*lists.nearest(segments, queries, 15, n_probe=5), 15)
    alone = [best(*lists.nearest(segments, query[None], 15, n_probe=5), 15) for query in queries]
    assert np.array_equal(together[0], np.concatenate([ids for ids, _ in alone]))
    assert together[0][0].tolist() == list(range(100, 115)), "the first of equal vectors"
    threads = numba.get_num_threads()
    try:
        numba.set_num_threads(1)
        single = best(*lists.nearest(segments, queries, 15, n_probe=5), 15)
    finally:
        numba.set_num_threads(threads)
    assert np.array_equal(together[0], single[0])
    assert np.array_equal(together[1], single[1])


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 150), st.integers(1, 9), st.integers(1, 700), st.integers(0, 1000))
def test_every_vector_is_found_once(
    tmp_path_factory: pytest.TempPathFactory, n: int, n_lists: int, k: int, seed: int
) -> None:
    folder = tmp_path_factory.mktemp("scan")
    segments = write_segments(folder, [unit_vectors(n, 8, seed), unit_vectors(3, 8, seed + 1)], min(n, n_lists))
    queries = unit_vectors(2, 8, seed + 2)
    ids, values = lists.nearest(segments, queries, k, n_probe=n_lists)
    assert [sorted(row) for row in ids.tolist()] == [list(range(n + 3))] * 2
    assert np.array_equal(lists.scores(segments, queries, ids), values)
    assert lists.scores(segments, queries, np.array([[NOTHING], [n + 3]])).tolist() == [[-np.inf]] * 2


@pytest.mark.parametrize(
    ("name", "change"),
    [
        (NUMBERS, lambda a: np.full_like(a, 2**32 - 1)),
        (PLACES, lambda a: np.full_like(a, 2**32 - 1)),
        (STARTS, lambda a: a[::-1]),
        (STARTS, lambda a: np.where(np.arange(len(a)) == 1, -(2**62), a)),
        (CODES, lambda a: a[:, :-1]),
    ],
)
def test_damaged_codes_are_refused(tmp_path: Path, name: str, change: object) -> None:
    vectors = unit_vectors(300)
    write_segments(tmp_path, [vectors])
    assert callable(change)
    np.save(tmp_path / "0" / name, change(np.load(tmp_path / "0" / name)))
    with pytest.raises(InputError, match=r"damaged.*interloq index build"):
        lists.nearest(lists.open_segments({tmp_path / "0": 300}, tmp_path / "trained.npz"), vectors[:2], 3, 8)


def test_parts_that_do_not_match_are_refused(tmp_path: Path) -> None:
    trained = TrainedCodes.train(unit_vectors(300), 4)
    parts = {name: getattr(trained, name) for name in TrainedCodes.__slots__}
    np.savez(tmp_path / "trained.npz", **{**parts, "steps": parts["steps"][1:]})
    with pytest.raises(InputError, match="its parts do not match"):
        TrainedCodes.load(tmp_path / "trained.npz")
