"""Searching list by list finds what faiss finds query by query."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interloq.retrieve import sweep
from interloq.retrieve.folder import vector_lists as lists
from interloq.retrieve.retriever import NOTHING, Floats, best


def unit(rng: np.random.Generator, n: int, dimensions: int = 16) -> Floats:
    rows = rng.standard_normal((n, dimensions)).astype(np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def segments(folder: Path, sizes: list[int], n_lists: int, seed: int) -> list[lists.VectorSegment]:
    rng = np.random.default_rng(seed)
    lists.write_trained(folder / "trained.faiss", lists.train(unit(rng, 40 * n_lists), n_lists))
    made = []
    for i, size in enumerate(sizes):
        (folder / str(i)).mkdir()
        lists.write_lists(folder / str(i), folder / "trained.faiss", unit(rng, size))
        made.append(lists.VectorSegment(folder / str(i), size))
    return made


@pytest.mark.parametrize("sizes", [[500], [200, 1, 300], [3]])
@pytest.mark.parametrize(("k", "n_probe"), [(1, 1), (15, 4), (40, 8)])
def test_it_finds_what_faiss_finds(
    tmp_path: Path, sizes: list[int], k: int, n_probe: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = segments(tmp_path, sizes, 8, seed=k)
    queries = unit(np.random.default_rng(7), 50)
    monkeypatch.setattr(lists, "worthwhile", lambda *_: False)
    ids, scores = best(*lists.nearest(parts, queries, k, n_probe), k)
    monkeypatch.setattr(lists, "worthwhile", lambda *_: True)
    swept_ids, swept = best(*lists.nearest(parts, queries, k, n_probe), k)
    assert swept[:, : scores.shape[1]] == pytest.approx(scores, abs=2e-6)
    assert np.mean(swept_ids[:, : ids.shape[1]] == ids) > 0.98, "scores that differ in the last bit may change places"
    assert ((swept_ids == NOTHING) == np.isinf(swept)).all()


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 60), st.integers(1, 8), st.integers(1, 20), st.integers(0, 1000))
def test_scores_are_those_of_the_stored_vectors(
    tmp_path_factory: pytest.TempPathFactory, n: int, n_probe: int, k: int, seed: int
) -> None:
    (segment,) = segments(tmp_path_factory.mktemp("s"), [n], 4, seed)
    queries = unit(np.random.default_rng(seed), 3)
    products, visited = segment.lists.quantizer.search(queries, min(n_probe, 4))
    ids, scores = sweep.Sweep([segment.lists], [0]).nearest(queries, k, visited, products)
    found = ids != NOTHING
    stored = segment.vectors(np.where(found, ids, 0).ravel()).reshape(*ids.shape, -1)
    expected = np.einsum("qd,qkd->qk", queries, stored)
    assert scores[found] == pytest.approx(expected[found], abs=2e-6)
    for row in np.where(found, ids, -np.arange(1, ids.shape[1] + 1)):
        assert len(set(row.tolist())) == len(row), "nothing twice"


def test_it_is_used_where_lists_are_shared() -> None:
    assert sweep.worthwhile(1000, 128, 1024)
    assert not sweep.worthwhile(1, 128, 1024)
