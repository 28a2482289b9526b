from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from interloq.agree.metric_similarity import FEWEST, spearman_matrix
from interloq.records import Key

VALUES = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=FEWEST, max_size=40)


def _columns(pairs: list[tuple[int, int]]) -> dict[str, dict[Key, float]]:
    return {name: {(str(i), ""): float(pair[j]) for i, pair in enumerate(pairs)} for j, name in enumerate("ab")}


@given(VALUES)
def test_a_cell_is_scipys_spearman(pairs: list[tuple[int, int]]) -> None:
    first, second = zip(*pairs, strict=True)
    cell = spearman_matrix(_columns(pairs)).cells[0][1]
    if len(set(first)) == 1 or len(set(second)) == 1:
        assert math.isnan(cell.value)
        assert cell.note
    else:
        assert cell.value == pytest.approx(spearmanr(first, second).statistic, abs=1e-12)
    assert cell.n == len(pairs)


@given(VALUES, st.randoms())
def test_neither_the_order_of_samples_nor_the_side_matters(
    pairs: list[tuple[int, int]], shuffler: random.Random
) -> None:
    columns = _columns(pairs)
    ids = list(columns["a"])
    shuffler.shuffle(ids)
    shuffled = {name: {id: column[id] for id in ids} for name, column in columns.items()}
    matrix = spearman_matrix(columns)
    assert repr(spearman_matrix(shuffled)) == repr(matrix)
    assert repr(matrix.cells[0][1]) == repr(matrix.cells[1][0])


def test_cells_use_the_samples_that_both_columns_have() -> None:
    keys = [(str(i), "") for i in range(6)]
    columns = {
        "full": dict(zip(keys, [1.0, 2, 3, 4, 5, 6], strict=True)),
        "gap": dict(zip(keys, [2.0, 1, float("nan"), 3, 5, 4], strict=True)),
        "short": {keys[0]: 4.0, keys[1]: 3.0, keys[3]: 2.0, keys[4]: 1.0},
    }
    pairs = spearman_matrix(columns)
    assert [[cell.n for cell in row] for row in pairs.cells] == [[6, 5, 4], [5, 5, 4], [4, 4, 4]]
    assert pairs.cells[0][1].value == pytest.approx(spearmanr([1, 2, 4, 5, 6], [2, 1, 3, 5, 4]).statistic)


def test_two_samples_are_too_few_for_a_number() -> None:
    columns = {name: {(id, ""): float(id) for id in ids} for name, ids in (("a", "12"), ("b", "123"))}
    cell = spearman_matrix(columns).cells[0][1]
    assert math.isnan(cell.value)
    assert "fewer than 3" in cell.note
    assert cell.n == 2


def test_no_columns_give_an_empty_matrix() -> None:
    matrix = spearman_matrix({})
    assert matrix.names == ()
    assert matrix.cells == ()
