"""How the pooled model learns and is compared, against plain loops."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from interloq.reliability.pooled_fit import (
    MEAN,
    POOLED,
    SIZE,
    Labelled,
    Moments,
    choose_greedily,
    columns_of,
    decide,
    learn_folds,
)
from interloq.reliability.rules import FEATURES
from tests.reliability.made_pooled import SETTINGS, made_labelled


@pytest.fixture
def labelled() -> list[Labelled]:
    return made_labelled()


def test_weights_are_those_of_ridge_regression(labelled: list[Labelled]) -> None:
    moments = Moments(labelled, 0, alone=False)
    columns, strength = columns_of(POOLED, replies=False), 0.1
    head = moments.learn(range(len(labelled)), columns, strength)
    left, right = 0.0, 0.0
    for query, weight in zip(labelled, moments.weights, strict=True):
        rows = (query.features[:, columns] - moments.middle[columns]) / moments.scale[columns]
        rows = np.column_stack([rows, np.ones(len(rows))])
        left = left + weight * rows.T @ rows / len(rows)
        right = right + weight * rows.T @ query.labels / len(rows)
    penalty = np.diag([strength * moments.weights.sum()] * len(columns) + [0])
    weights = np.linalg.solve(left + penalty, right)
    rows = (labelled[0].features[:, columns] - moments.middle[columns]) / moments.scale[columns]
    assert head.predict(labelled[0].features).mean == pytest.approx(rows @ weights[:-1] + weights[-1])
    assert not head.weights[[FEATURES.index(name) for name in FEATURES if "agreement" in name]].any()


def test_the_mean_and_the_size_are_simple_heads(labelled: list[Labelled]) -> None:
    moments = Moments(labelled, 0, alone=True)
    every = range(len(labelled))
    mean = moments.select(every, columns_of(MEAN, replies=False), 3).predict(labelled[0].alone).mean
    expected = np.average([query.labels.mean() for query in labelled], weights=moments.weights)
    assert mean == pytest.approx(np.full(len(mean), expected))
    assert columns_of(SIZE, replies=True) == [FEATURES.index("size")]


def test_queries_about_one_text_are_held_out_together(labelled: list[Labelled]) -> None:
    twice = []
    for i, query in enumerate(labelled):
        own = replace(query.scored.query, turns=(f"text {i // 4}" + " " * (i % 4),))
        twice.append(replace(query, scored=replace(query.scored, query=own)))
    seen = []
    for held, _, _, _ in learn_folds(twice, SETTINGS, replies=False):
        assert {i // 4 * 4 + j for i in held for j in range(4)} == set(held)
        seen += held
    assert sorted(seen) == list(range(len(twice)))


def test_the_greedy_choice_takes_the_best_set_each_time(labelled: list[Labelled]) -> None:
    pool = labelled[0].pool
    head = Moments(labelled, 0, alone=False).learn(range(len(labelled)), columns_of(POOLED, replies=True), 0.1)
    chosen = choose_greedily(head, pool, [3], 3)
    assert len(chosen) == 2
    first = {i: head.predict(pool.describe(np.array([[3, i]]))).mean[0] for i in range(len(pool)) if i != 3}
    assert chosen[0] == max(first, key=first.__getitem__)


def test_something_simpler_is_used_where_the_model_is_not_better() -> None:
    errors = {POOLED: 0.2, MEAN: 0.2, SIZE: 0.3, "longest": 0.25}
    chosen = {POOLED: {"1": 0.3, "3": 0.4}, "longest": {"1": 0.3, "3": 0.4}}
    assert decide({"error": errors, "chosen": chosen}) == (MEAN, "longest")
    errors[POOLED], chosen[POOLED]["3"] = 0.1, 0.5
    assert decide({"error": errors, "chosen": chosen}) == (POOLED, POOLED)
