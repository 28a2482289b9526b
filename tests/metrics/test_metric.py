"""Defaults of metrics, and rows of metrics whose score of a set is a mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from interloq import Sample, evaluate
from interloq.metrics.combined.blend import Blend
from interloq.metrics.metric import (
    Array,
    as_metric,
    mean_parts,
    mean_value,
    needs_references,
    score_rows,
)
from interloq.metrics.overlap.bleu import Bleu


def test_rows_add_up_to_the_mean() -> None:
    rows = score_rows(np.array([0.2, np.nan, 0.6]))
    assert np.isnan(rows[1]).all()
    assert mean_value(rows)[[0, 2]].tolist() == [0.2, 0.6]
    assert mean_value(np.nansum(rows, axis=0)) == pytest.approx(0.4)
    assert np.isnan(mean_value(np.zeros(2))), "the mean of nothing is missing, not 0"


def test_parts_follow_the_score() -> None:
    rows = score_rows(np.array([0.2, 0.6]), np.array([1.0, 3.0]), np.array([0.0, 1.0]))
    assert mean_parts(rows.sum(axis=0), "p", "r") == {"p": 2.0, "r": 0.5}


@dataclass(frozen=True)
class Bare:
    """Only what a metric must have, and a field with the name of an attribute of `Metric`."""

    scale: float = 2.0
    is_mean = False

    def unscorable(self, sample: Sample) -> str | None:
        return needs_references(sample)

    def stats(self, samples: Sequence[Sample]) -> Array:
        return score_rows(np.array([self.scale * len(sample.response) for sample in samples]))

    def value(self, total: Array) -> Array:
        return mean_value(total)


def test_a_class_that_only_satisfies_the_protocol_gets_the_defaults() -> None:
    bare: Any = Bare()
    metric = as_metric(bare)
    assert metric == bare
    assert (metric.direction, metric.of, metric.over_references) == ("higher", "reply", None)
    assert metric.reads_references, "as `unscorable` says"
    assert not metric.is_mean, "what the class says stays"
    assert bare.scale == 2.0, "fields stay"
    assert (metric.details(np.zeros(2)), metric.failures([Sample("1")]), metric.places) == ({}, [""], ())
    assert type(metric).catalogue_facts()["direction"] == "higher"


def test_bare_metrics_are_evaluated_alone_and_as_parts() -> None:
    samples = [Sample("1", (), "abc", ["d"]), Sample("2", (), "abcd", ["d"]), Sample("3", (), "abcd")]
    result = evaluate(Bare(), samples, n_bootstrap=0)
    assert (result.value, result.unscored) == (7.0, 1)
    assert evaluate(Blend((Bare(), Bare(3.0))), samples, n_bootstrap=0).value == pytest.approx(0.5 * (7.0 + 10.5))  # type: ignore[arg-type]


def test_the_spec_of_a_metric_is_a_metric() -> None:
    assert as_metric("bleu(order=2)") == Bleu(order=2)
