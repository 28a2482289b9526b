"""Vectors of segments, exact or as codes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from interloq import InputError
from interloq.retrieve.folder import vector_lists as lists
from interloq.retrieve.retriever import NOTHING, Floats


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


def test_fewer_vectors_than_asked_for_leave_empty_places(tmp_path: Path) -> None:
    segments = lists.open_segments(exact(tmp_path, unit(2)))
    ids, values = lists.nearest(segments, unit(1, seed=3), 4, n_probe=1)
    assert sorted(ids[0].tolist()) == [NOTHING, NOTHING, 0, 1]
    assert np.isinf(values[0]).sum() == 2


def test_codes_come_back_nearly_as_they_were(tmp_path: Path) -> None:
    vectors = unit(300)
    lists.write_trained(tmp_path / "trained", lists.train(vectors, 4))
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
