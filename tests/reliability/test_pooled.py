"""The pooled model: features and sums against plain loops, and what it does for its callers."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from interloq import InputError, Reference
from interloq.registry import create
from interloq.reliability import pooled as module
from interloq.reliability.augment import Request
from interloq.reliability.labels import NONE, RatedQuery, group_queries, score_replies
from interloq.reliability.pooled import Pooled
from interloq.reliability.pooled_fit import (
    MEAN,
    POOLED,
    SIZE,
    Labelled,
    Moments,
    PairReader,
    choose_greedily,
    columns_of,
    decide,
    label_queries,
    learn_folds,
)
from interloq.reliability.pooled_settings import PooledSettings
from interloq.reliability.rules import FEATURES, RANDOM, Floats, Pool, describe_texts, order_by_rule
from tests.reliability.made_queries import rated_samples

METRIC = "bleu_star"
SETTINGS = PooledSettings(sizes="1,2,3", per_size=4, folds=3)


class WordEncoder:
    """Counts words, in place of a network."""

    name, folder = "words", Path("words")

    def sentences(self, texts: Sequence[str]) -> Floats:
        vectors = np.zeros((len(texts), 64))
        for row, text in zip(vectors, texts, strict=True):
            for word in text.lower().split():
                row[zlib.crc32(word.encode()) % 64] += 1
        return np.asarray(vectors / np.maximum(1e-9, np.linalg.norm(vectors, axis=1, keepdims=True)))


class WordReader(PairReader):
    def __init__(self, name: str, device: str = "auto") -> None:  # noqa: ARG002
        self.encoder = WordEncoder()  # type: ignore[assignment]


@pytest.fixture(autouse=True)
def _words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PairReader", WordReader)


@pytest.fixture(scope="module")
def queries() -> list[RatedQuery]:
    return group_queries(rated_samples(24, replies=6, references=6))


@pytest.fixture(scope="module")
def labelled(queries: list[RatedQuery]) -> list[Labelled]:
    return list(label_queries(score_replies(queries, METRIC), WordReader(""), SETTINGS))


def train(queries: Sequence[RatedQuery]) -> Pooled:
    return Pooled.train(queries, create(METRIC, kind="metric"), SETTINGS)


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


def test_training_reports_held_out_queries_and_what_is_used(queries: list[RatedQuery]) -> None:
    model = train(queries)
    facts = model.facts
    for name, ways in (("validation", 6), ("validation_with_replies", 7)):
        assert facts[name]["queries"] == len(queries)
        assert len(facts[name]["error"]) == ways
        assert set(facts[name]["against_all"]) == {"1", "3", "5"}
    replaced = [name for name, way in facts["uses"].items() if way != POOLED and not name.endswith("replies")]
    assert bool(model.warning()) == bool(replaced)
    assert facts["labels"]["queries"] == len(queries)
    model.facts["network"] = {"reason": "the network lost"}
    assert model.warning().startswith("the network lost")


def test_a_saved_model_predicts_the_same(queries: list[RatedQuery], tmp_path: Path) -> None:
    model = train(queries)
    assert not Pooled.is_saved(tmp_path / "model")
    model.facts["job"] = "kept"
    model.save(tmp_path / "model")
    loaded = Pooled.load(tmp_path / "model", metric=METRIC)
    assert Pooled.is_saved(tmp_path / "model")
    assert loaded.facts == model.facts
    assert loaded.signature() == model.signature()
    turns, references = [query.turns for query in queries[:3]], [query.references for query in queries[:3]]
    assert np.array_equal(loaded.predict(turns, references).mean, model.predict(turns, references).mean)
    with pytest.raises(InputError, match="predicts the reliability of bleu_star"):
        loaded.check_metric("bleu")
    (tmp_path / "model" / "pooled.json").write_text("{}")
    with pytest.raises(InputError, match="damaged"):
        Pooled.load(tmp_path / "model")


def test_predictions_do_not_depend_on_how_they_are_asked_for(queries: list[RatedQuery]) -> None:
    model, query = train(queries), queries[0]
    prediction = model.predict([query.turns, query.turns, (" ",)], [query.references, (), query.references])
    assert np.isnan(prediction.mean).tolist() == [False, True, True]
    assert prediction.low[0] <= prediction.mean[0] <= prediction.high[0]
    (effects,) = model.leave_one_out([query.turns], [query.references])
    assert effects.whole.mean == prediction.mean[0]
    without = model.predict([query.turns], [effects.references[1:]]).mean[0]
    assert effects.effect.mean[0] == pytest.approx(effects.whole.mean - without)
    vectors = model.project(model.encode([(query.turns, text) for text in query.references]))
    sets = np.array([[*range(len(query.references))], [NONE] * len(query.references)])
    assert model.make_projected().predict_sets(vectors, sets).mean == pytest.approx(
        [prediction.mean[0], np.nan], nan_ok=True
    )
    known = model.predict([query.turns], [query.references], replies=[query.replies])
    assert known.mean[0] != prediction.mean[0] or model.facts["uses"]["predict"] != POOLED


@pytest.mark.parametrize("with_replies", [False, True])
def test_references_are_chosen_up_to_a_limit_or_all_added(queries: list[RatedQuery], with_replies: bool) -> None:
    model, query = train(queries), queries[0]
    own, candidates = query.references[:1], query.references[1:]
    request = Request(query.turns, tuple(map(Reference, own)), tuple(map(Reference, candidates)))
    blank = Request((), (), tuple(map(Reference, candidates)))
    more: dict[str, Any] = {"replies": [query.replies, ()]} if with_replies else {}
    some, nothing = model.choose([request, blank], limit=3, **more)
    every, _ = model.choose([request, blank], **more)
    assert len(some.kept) == 2
    assert {reference.text for reference in every.kept} == set(candidates)
    assert some.trials[0].after == some.trials[1].before
    assert some.after == some.trials[-1].after
    assert nothing.kept == ()
    assert np.isnan(nothing.before)
    (alone,) = model.choose([request], limit=1)
    assert alone.kept == ()
    assert alone.before == alone.after


def test_too_few_queries_are_refused(queries: list[RatedQuery]) -> None:
    with pytest.raises(InputError, match="only 5 queries can be labelled"):
        train(queries[:5])
    with pytest.raises(InputError, match="sizes must be whole numbers"):
        _ = PooledSettings(sizes="0,x").set_sizes
