"""Features of sets and rules, against plain loops."""

from __future__ import annotations

import numpy as np
import pytest

from interloq.reliability.labels import NONE
from interloq.reliability.pooled_fit import Labelled
from interloq.reliability.rules import FEATURES, RANDOM, Pool, describe_texts, order_by_rule
from tests.reliability.made_pooled import made_labelled


@pytest.fixture
def labelled() -> list[Labelled]:
    return made_labelled()


def test_features_of_a_set_are_those_of_plain_loops(labelled: list[Labelled]) -> None:
    pool = labelled[0].pool
    members, every = [0, 2, 5], range(len(pool))
    row = dict(zip(FEATURES, pool.describe(np.array([[*members, NONE]]))[0], strict=True))
    near = pool.cosines
    others = [np.mean([near[i, j] for j in every if j != i]) for i in every]
    assert row["others"] == pytest.approx(np.mean([others[i] for i in members]))
    assert row["coverage"] == pytest.approx(np.mean([max(near[i, j] for i in members) for j in every]))
    assert row["spread"] == pytest.approx(np.mean([near[i, j] for i in members for j in members if i != j]))
    assert row["size"] == pytest.approx(np.log(3))
    assert row["pool size"] == pytest.approx(np.log(len(pool)))
    assert pool.scores is not None
    scores = pool.scores[:, members].max(axis=1)
    assert row["agreement with best"] == pytest.approx(np.corrcoef(scores, pool.scores.max(axis=1))[0, 1])


def test_a_set_alone_is_its_own_pool(labelled: list[Labelled]) -> None:
    pool = labelled[0].pool
    alone = pool.describe_alone(np.array([[1, 3, NONE]]))
    own = Pool(pool.texts[[1, 3]], pool.cosines[np.ix_([1, 3], [1, 3])])
    of_texts = [i for i, name in enumerate(FEATURES) if "agreement" not in name]
    assert alone[0, of_texts] == pytest.approx(own.describe(np.array([[0, 1]]))[0, of_texts])
    assert np.array_equal(pool.describe_alone(np.zeros((0, 2), dtype=int)), np.zeros((0, len(FEATURES))))


def test_texts_are_described_by_length_and_shared_words() -> None:
    length, query, overlap, distinct = describe_texts("Tea, please", ["tea tea milk"], np.array([0.5]))[0]
    assert length == pytest.approx(np.log(13))
    assert (query, overlap, distinct) == (0.5, 0.5, pytest.approx(2 / 3))


def test_rules_order_references(labelled: list[Labelled]) -> None:
    pool = labelled[0].pool
    lengths = pool.texts[:, 0]
    assert order_by_rule("longest", pool)[0] == lengths.argmax()
    assert sorted(order_by_rule(RANDOM, pool, 1)) == list(range(len(pool)))
    assert order_by_rule(RANDOM, pool, 1) != order_by_rule(RANDOM, pool, 2)
