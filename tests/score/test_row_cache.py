"""The cache of networks' scores: the same bits, and nothing of other samples, metrics or models."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from interloq import Rating, Reference, Result, Sample, evaluate
from interloq.metrics.contextual.bertscore import BertScore
from interloq.metrics.metric import Array
from interloq.metrics.overlap.chrf import Chrf
from interloq.score import row_cache
from interloq.score.row_cache import FEWEST, identify_rows, shard_key
from tests.made_encoder import small_bert

WORDS = ["we", "had", "a", "very", "good", "time", "there", "today", "and", "you", "did", "too"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(small_bert(tmp_path_factory.mktemp("bert")))


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("INTERLOQ_ROW_CACHE")
    monkeypatch.setenv("INTERLOQ_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "rows.db"


@pytest.fixture
def scored(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of samples of each call of BertScore."""
    calls: list[int] = []
    compute: Callable[[BertScore, Sequence[Sample]], Array] = BertScore.stats

    def count(metric: BertScore, samples: Sequence[Sample]) -> Array:
        calls.append(len(samples))
        return compute(metric, samples)

    monkeypatch.setattr(BertScore, "stats", count)
    return calls


def some(n: int = 40) -> list[Sample]:
    rng = np.random.default_rng(0)
    samples = []
    for i in range(n):
        reply, first, second = (" ".join(rng.choice(WORDS, size=rng.integers(1, 9))) for _ in range(3))
        samples.append(Sample(f"{i:02d}", [f"context {i}"], reply, [Reference(first), Reference(second)], "bot"))
    samples[3] = replace(samples[3], references=())
    return samples


def bits(result: Result) -> bytes:
    return np.array(list(result.by_sample.values())).tobytes()


def test_a_warm_cache_gives_the_same_bits(model: str, cache: Path, scored: list[int]) -> None:
    cold = evaluate(BertScore(model), some())
    assert sum(scored) == 39
    warm = evaluate(BertScore(model), some())
    assert sum(scored) == 39
    assert bits(warm) == bits(cold)
    assert (warm.value, warm.ci, warm.reasons, warm.signature) == (cold.value, cold.ci, cold.reasons, cold.signature)
    assert cold.reasons == {("03", "bot"): "no references"}
    rated = [replace(sample, ratings=(Rating(1.0, "ann"),)) for sample in some()]
    assert evaluate(BertScore(model), rated).value == cold.value
    assert sum(scored) == 39
    assert cache.exists()


@pytest.mark.parametrize(
    "change",
    [
        {"response": "something else"},
        {"context": ()},
        {"references": (Reference("we had"),)},
        {"references": (Reference("we had", weight=0.5),)},
        {"id": "x"},
    ],
)
def test_other_samples_are_scored(model: str, cache: Path, scored: list[int], change: dict[str, Any]) -> None:
    samples = some()
    evaluate(BertScore(model), [*samples[:7], replace(samples[7], references=(Reference("we had"),)), *samples[8:]])
    before = len(scored)
    changed = replace(samples[7], references=(Reference("we had", weight=0.25),))
    evaluate(BertScore(model), [*samples[:7], replace(changed, **change), *samples[8:]])
    other = change != {"references": (Reference("we had"),)}
    assert (len(scored) > before) == other
    assert cache.exists()


@pytest.mark.usefixtures("cache")
def test_other_metrics_models_and_constants_have_other_keys(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    samples = some()
    fitted = BertScore(model, idf=True).fit(samples)
    metrics = [
        BertScore(model),
        BertScore(model, layer=1),
        BertScore(model, part="p"),
        BertScore(str(small_bert(tmp_path / "other", seed=5))),
        fitted,
        BertScore(model, idf=True).fit(samples[:9]),
    ]
    identities = list(map(identify_rows, metrics))
    assert all(identities)
    assert len(set(identities)) == len(metrics)
    assert identify_rows(BertScore(model, idf=True).fit(samples)) == identify_rows(fitted)
    monkeypatch.setattr(row_cache, "_identify_code", lambda: "other files")
    assert identify_rows(BertScore(model)) not in identities


@pytest.mark.usefixtures("cache")
def test_which_samples_are_left_unscored_is_part_of_the_key() -> None:
    samples, none = some(), [""] * 40
    assert shard_key("metric", samples, none) != shard_key("metric", samples, ["weak", *none[1:]])
    assert shard_key("metric", samples, none) != shard_key("metric", samples[::-1], none)
    assert shard_key("metric", samples[: FEWEST - 1], none[: FEWEST - 1]) == b""
    assert shard_key("", samples, none) == b""


@pytest.mark.usefixtures("cache")
def test_only_networks_of_this_package_are_cached(model: str) -> None:
    @dataclass(frozen=True)
    class Theirs(BertScore):
        pass

    assert identify_rows(Theirs(model)) == ""
    assert identify_rows(Chrf()) == ""


@pytest.mark.parametrize("variable", ["INTERLOQ_CACHE", "INTERLOQ_ROW_CACHE"])
def test_it_can_be_turned_off(
    model: str, cache: Path, scored: list[int], monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "off")
    for _ in range(2):
        evaluate(BertScore(model), some())
    assert sum(scored) == 78
    assert not cache.exists()


def test_damaged_rows_are_computed_again(model: str, cache: Path, scored: list[int]) -> None:
    cold = evaluate(BertScore(model), some())
    with sqlite3.connect(cache) as database:
        ((stored,),) = database.execute("SELECT row FROM rows").fetchall()
    database.close()
    for damaged in (stored[:-1], stored[:-9] + bytes(9), b""):
        with sqlite3.connect(cache) as database:
            database.execute("UPDATE rows SET row = ?", (damaged,))
        database.close()
        before = sum(scored)
        assert bits(evaluate(BertScore(model), some())) == bits(cold)
        assert sum(scored) == before + 39
    cache.write_bytes(b"no database" * 1000)
    assert bits(evaluate(BertScore(model), some())) == bits(cold)


def test_its_size_is_bounded(model: str, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_cache, "MOST", 2**16)
    sizes = []
    for i in range(60):
        row_cache.store_rows(f"{i:016d}".encode(), bytes(8_000))
        sizes.append(cache.stat().st_size)
    assert max(sizes) < 2**17
    assert row_cache.load_rows(f"{59:016d}".encode()) == bytes(8_000)
    assert evaluate(BertScore(model), some()).n == 39
