"""Metrics whose parts are scored alone give the scores that they give by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from interloq import Sample, create, evaluate, load
from interloq.metrics.metric import FittedMetric
from interloq.metrics.overlap.nist import Nist
from interloq.score.split_metrics import change_scored, is_split, list_scored, with_rows
from tests.made_pipeline import HUMAN

RUBER = "ruber(referenced=nist,unreferenced=length)"
AM_FM = "am_fm(am=chrf,fm=length)"
VBLEU = f"vbleu(index='index',rater={HUMAN})"
NESTED = f"blend(metrics=(bleu,{RUBER}))"


@pytest.mark.parametrize("text", [RUBER, AM_FM, NESTED, f"blend(metrics=({AM_FM},{VBLEU}))"])
def test_scores_are_those_of_the_metric_alone(here: Path, text: str) -> None:
    samples, metric = load("samples.jsonl"), create(text)
    assert is_split(metric)
    result = evaluate(text, samples, n_bootstrap=0)
    assert isinstance(metric, FittedMetric)
    fitted: Any = metric.fit(samples)
    scored = [sample for sample in samples if fitted.unscorable(sample) is None]
    values = fitted.value(fitted.stats(scored))
    assert [result.by_sample[sample.key] for sample in scored] == values.tolist()
    assert {key for key, value in result.by_sample.items() if np.isnan(value)} == result.reasons.keys()
    assert result.reasons == {sample.key: why for sample in samples if (why := fitted.unscorable(sample)) is not None}
    assert result.signature.parts["fitted"] == fitted.fitted()


def test_parts_read_each_sample_once(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    compute = Nist.stats

    def count(metric: Nist, samples: Sequence[Sample]) -> Any:
        read.extend(sample.id for sample in samples)
        return compute(metric, samples)

    monkeypatch.setattr(Nist, "stats", count)
    result = evaluate(NESTED, load("samples.jsonl"))
    assert len(read) == len(set(read)) == result.n


def test_only_what_needs_scores_is_split() -> None:
    nested = create(NESTED)
    assert [type(part).__name__ for part in list_scored(nested)] == ["Bleu", "Nist", "Length"]
    assert list_scored(create("best")) == [create("best")]
    assert change_scored(nested, lambda part: part) == nested
    known = with_rows(create("length"), np.array([[3.0, 1.0]]), {}, {("a", ""): 0})
    assert known == create("length")
    assert known.stats([Sample("a", (), "")]).tolist() == [[3.0, 1.0]]
