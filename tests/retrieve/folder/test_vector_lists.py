"""Vectors of segments, exact or as codes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interloq import InputError
from interloq.retrieve.folder import vector_lists as lists
from interloq.retrieve.retriever import NOTHING, Floats, best
from tests.retrieve.faiss_lists import write_trained


def unit(n: int, seed: int = 0) -> Floats:
    rows = np.random.default_rng(seed).standard_normal((n, 8)).astype(np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def exact(folder: Path, *parts: Floats) -> dict[Path, int]:
    found = {}
    for i, rows in enumerate(parts):
        (folder / str(i)).mkdir()
        lists.write_exact(folder / str(i), rows)
        found[folder / str(i)] = len(rows)
    return found


def test_exact_segments_are_searched_as_one(tmp_path: Path) -> None:
    vectors, queries = unit(50), unit(4, seed=1)
    segments = lists.open_segments(exact(tmp_path, vectors[:20], vectors[20:]))
    ids, values = lists.nearest(segments, queries, 3, n_probe=1)
    found = {tuple(sorted(row, reverse=True)[:3]) for row in values.tolist()}
    products = queries @ vectors.T
    assert [sorted(row, reverse=True)[:3] for row in values.tolist()] == [
        pytest.approx(sorted(row, reverse=True)[:3]) for row in products.tolist()
    ]
    assert len(found) == 4
    wanted = np.array([[19, 20, 60]])
    assert lists.scores(segments, queries[:1], wanted)[0, :2] == pytest.approx(products[0, [19, 20]])
    assert lists.scores(segments, queries[:1], wanted)[0, 2] == -np.inf
    assert ids.max() < 50


def test_codes_come_back_nearly_as_they_were(tmp_path: Path) -> None:
    vectors = unit(300)
    write_trained(tmp_path / "trained", vectors, 4)
    lists.write_lists(tmp_path, tmp_path / "trained", vectors)
    (segment,) = lists.open_segments({tmp_path: 300})
    assert np.abs(segment.vectors(np.arange(300)) - vectors).max() < 0.02
    ids, _ = lists.nearest([segment], vectors[:20], 1, n_probe=4)
    assert (ids[:, 0] == np.arange(20)).mean() > 0.9


def test_segments_that_do_not_belong_together_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="damaged"):
        lists.open_segments(exact(tmp_path, unit(3), unit(3)[:, :5]))
    with pytest.raises(InputError, match="damaged"):
        lists.open_segments({tmp_path / "0": 4})


def test_true_neighbours_are_those_of_all_segments(tmp_path: Path) -> None:
    vectors, probes = unit(40), unit(5, seed=2)
    parts = exact(tmp_path, vectors[:15], vectors[15:])
    for folder, rows in zip(parts, (vectors[:15], vectors[15:]), strict=True):
        lists.write_truth(folder, probes, rows, 3)
    expected = np.argsort(-(probes @ vectors.T), axis=1)[:, :3]
    assert lists.read_truth(parts, 5).tolist() == expected.tolist()
    with pytest.raises(InputError, match="damaged"):
        lists.read_truth(parts, 6)


def random_units(rng: np.random.Generator, n: int, dimensions: int = 16) -> Floats:
    rows = rng.standard_normal((n, dimensions)).astype(np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def segments(folder: Path, sizes: list[int], n_lists: int, seed: int) -> list[lists.VectorSegment]:
    rng = np.random.default_rng(seed)
    write_trained(folder / "trained.faiss", random_units(rng, 40 * n_lists), n_lists)
    made = []
    for i, size in enumerate(sizes):
        (folder / str(i)).mkdir()
        lists.write_lists(folder / str(i), folder / "trained.faiss", random_units(rng, size))
        made.append(lists.VectorSegment(folder / str(i), size))
    return made


@pytest.mark.parametrize("sizes", [[500], [200, 1, 300], [3]])
@pytest.mark.parametrize(("k", "n_probe"), [(1, 1), (15, 4), (40, 8)])
def test_it_finds_what_faiss_finds(
    tmp_path: Path, sizes: list[int], k: int, n_probe: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = segments(tmp_path, sizes, 8, seed=k)
    queries = random_units(np.random.default_rng(7), 50)
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
    queries = random_units(np.random.default_rng(seed), 3)
    products, visited = segment.lists.quantizer.search(queries, min(n_probe, 4))
    ids, scores = lists.Sweep([segment.lists], [0]).nearest(queries, k, visited, products)
    found = ids != NOTHING
    stored = segment.vectors(np.where(found, ids, 0).ravel()).reshape(*ids.shape, -1)
    expected = np.einsum("qd,qkd->qk", queries, stored)
    assert scores[found] == pytest.approx(expected[found], abs=2e-6)
    for row in np.where(found, ids, -np.arange(1, ids.shape[1] + 1)):
        assert len(set(row.tolist())) == len(row), "nothing twice"


def test_it_is_used_where_lists_are_shared() -> None:
    assert lists.worthwhile(1000, 128, 1024)
    assert not lists.worthwhile(1, 128, 1024)
