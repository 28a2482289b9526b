from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

import numpy as np
import pytest

from interloq import InputError, Reference, Sample, create, evaluate, evaluate_all, from_columns
from interloq.metrics.metric import Array, mean_value, score_rows
from interloq.registry import Component
from interloq.score import evaluate as module
from tests.conftest import by_id
from tests.metrics.made_given import OWN, REPLIES


@dataclass(frozen=True)
class Given(Component):
    """The score stands in the reply: lets a test say what a metric returns."""

    def unscorable(self, sample: Sample) -> str | None:
        return "asked not to" if sample.response == "none" else None

    def stats(self, samples: Sequence[Sample]) -> Array:
        return score_rows(np.array([float(s.response) for s in samples]))

    def value(self, total: Array) -> Array:
        return mean_value(total)


def given(values: Sequence[object], **fields: str) -> list[Sample]:
    return [Sample(f"{i:05d}", "c", str(value), **fields) for i, value in enumerate(values)]  # type: ignore[arg-type]


def test_result_counts_what_is_unscored_and_why() -> None:
    result = evaluate(Given(), given([1, "none", 3]), n_bootstrap=0)
    assert (result.value, result.ci, result.n, result.unscored) == (2.0, None, 2, 1)
    assert by_id(result.by_sample)["00000"] == 1.0
    assert math.isnan(by_id(result.by_sample)["00001"])
    assert by_id(result.reasons) == {"00001": "asked not to"}


@dataclass(frozen=True)
class Late(Given):
    """Knows only after scoring that it could not."""

    def stats(self, samples: Sequence[Sample]) -> Array:
        return score_rows(np.array([math.nan if s.response == "late" else float(s.response) for s in samples]))

    def failures(self, samples: Sequence[Sample]) -> list[str]:
        return ["too late" if s.response == "late" else "" for s in samples]

    def remark(self, total: Array) -> str:
        return f"sum {total[0]:g}"


def test_reasons_known_after_scoring() -> None:
    result = evaluate(Late(), given([1, "late", 3, "none"]), n_bootstrap=0)
    assert (result.value, result.n, result.unscored) == (2.0, 2, 2)
    assert by_id(result.reasons) == {"00001": "too late", "00003": "asked not to"}
    (note,) = result.notes
    assert (note.name, note.text, note.count) == ("judge", "Late: sum 4", 2)
    assert evaluate(Late(), given(["late"])).notes == ()


def test_nothing_scored_is_nan_not_zero() -> None:
    result = evaluate(Given(), given(["none"]), n_bootstrap=10)
    assert math.isnan(result.value)
    assert result.ci is None
    assert (result.n, result.unscored) == (0, 1)
    empty = evaluate(Given(), [])
    assert math.isnan(empty.value)
    assert (empty.n, len(empty.by_sample)) == (0, 0)


def test_bootstrap_interval_is_that_of_a_literal_bootstrap() -> None:
    values = np.random.default_rng(1).normal(size=200)
    result = evaluate(Given(), given(values.tolist()), n_bootstrap=2000, seed=3)
    rng = np.random.default_rng(3)
    means = [values[rng.integers(200, size=200)].mean() for _ in range(2000)]
    assert result.ci == pytest.approx(tuple(np.percentile(means, [2.5, 97.5])), abs=1e-12)


def test_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    covered = 0
    for trial in range(200):
        ci = evaluate(Given(), given(rng.normal(size=60).tolist()), n_bootstrap=400, seed=trial).ci
        assert ci is not None
        covered += ci[0] <= 0 <= ci[1]
    assert 176 <= covered <= 200  # 95 % of 200 is 190; four standard errors below is 178, less a little for n = 60


def test_results_depend_on_neither_order_nor_chunks(samples: list[Sample], monkeypatch: pytest.MonkeyPatch) -> None:
    metric = create("bleu(order=2)")
    first = evaluate(metric, samples, n_bootstrap=50)
    shuffled = list(samples)
    Random(1).shuffle(shuffled)
    monkeypatch.setattr(module, "CHUNK", 2)
    second = evaluate(metric, iter(shuffled), n_bootstrap=50)
    assert (first.value, first.ci, first.signature) == (second.value, second.ci, second.signature)
    assert dict(first.by_sample) == dict(second.by_sample)


def test_networks_score_in_parts_that_keep_contexts_together(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[str]] = []

    @dataclass(frozen=True)
    class Network(Given):
        libraries = ("torch",)

        def stats(self, samples: Sequence[Sample]) -> Array:
            seen.append([sample.context[0].text for sample in samples])
            return super().stats(samples)

    monkeypatch.setattr(module, "NETWORK_CHUNK", 2)
    samples = [Sample(f"{i}", [f"context {i % 3}"], str(float(i))) for i in range(6)]
    steps: list[int] = []
    (found,) = evaluate_all([Network()], samples, n_bootstrap=0, progress=steps.append)
    assert steps == [2, 2, 2]
    assert [texts for texts in seen if texts] == [[f"context {i}"] * 2 for i in range(3)]
    (whole,) = evaluate_all([Given()], samples, n_bootstrap=0)
    assert dict(found[""].by_sample) == dict(whole[""].by_sample)


def test_seed_and_resamples_are_signed_and_matter(samples: list[Sample]) -> None:
    one, two = (evaluate("bleu", samples, n_bootstrap=50, seed=seed) for seed in (1, 2))
    assert one.ci != two.ci
    assert one.value == two.value
    assert (one.signature.parts["resamples"], one.signature.parts["seed"]) == ("50", "1")
    assert "seed" not in evaluate("bleu", samples, n_bootstrap=0).signature.parts


def test_by_system_each_system_stands_alone(samples: list[Sample]) -> None:
    (results,) = evaluate_all(["bleu(order=2)"], samples, by_system=True)
    assert sorted(results) == ["", "bad", "good"]
    for system in ("bad", "good"):
        alone = evaluate("bleu(order=2)", [s for s in samples if s.system == system])
        assert results[system].value == alone.value
        assert dict(results[system].by_sample) == dict(alone.by_sample)


def test_duplicate_ids_and_bad_arguments_are_refused(samples: list[Sample]) -> None:
    with pytest.raises(InputError, match=r"duplicate sample '1' of 'good'"):
        evaluate("bleu", [*samples, samples[0]])
    with pytest.raises(InputError, match="must not be negative"):
        evaluate("bleu", samples, n_bootstrap=-1)


def test_a_metric_may_not_lose_a_sample_silently() -> None:
    with pytest.raises(InputError, match="unscored without a reason"):
        evaluate(Given(), given([1, float("nan")]))


def test_columns_make_samples() -> None:
    samples = from_columns(REPLIES, OWN, contexts=["a", "b", "c"], systems=["x"] * 3)
    assert [s.references for s in samples] == [tuple(map(Reference, refs)) for refs in OWN]
    assert [s.id for s in samples] == ["1", "2", "3"]
    assert evaluate("bleu(order=1)", samples).n == 3


def test_intervals_resample_dialogues() -> None:
    rng = np.random.default_rng(0)
    sizes = rng.integers(3, 30, size=60)
    alone = [Sample(f"{i}", (), "a " * size) for i, size in enumerate(sizes)]
    copies = [Sample(f"{i}.{k}", (), "a " * size, dialogue=f"{i}") for i, size in enumerate(sizes) for k in range(4)]
    once, named = evaluate("length", alone), evaluate("length", copies)
    unnamed = evaluate("length", [replace(sample, dialogue="") for sample in copies])
    widths = [found.ci[1] - found.ci[0] for found in (once, named, unnamed) if found.ci]
    assert widths[0] == pytest.approx(widths[1], rel=0.15)  # four equal replies in a dialogue tell no more than one
    assert widths[0] == pytest.approx(2 * widths[2], rel=0.15)
    assert dict(named.signature.parts)["dialogues"] == "60"
    assert evaluate("length", copies[:4]).ci is None  # a single dialogue does not show how dialogues vary
