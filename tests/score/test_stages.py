"""The stages between reading and scoring: run once per pipeline, before anything is scored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from interloq import create, evaluate, load
from interloq.metrics.combined import rated_references
from interloq.score.evaluate import score_samples
from interloq.score.stages import extend_samples, find_pipelines, rate_samples, with_rated
from tests.made_pipeline import HUMAN

VBLEU = f"vbleu(index='index',rater={HUMAN})"
NESTED = f"blend(metrics=(length,{VBLEU}))"


@pytest.fixture
def here(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(made)
    monkeypatch.setenv("INTERLOQ_CACHE", "off")


def test_pipelines_are_found_inside_other_metrics(here: None) -> None:
    metrics = [create(text) for text in ("bleu", VBLEU, NESTED)]
    assert find_pipelines(metrics) == [create(VBLEU)] * 2
    assert find_pipelines(metrics[:1]) == []


def test_without_a_pipeline_no_sample_is_read() -> None:
    metrics = [create("bleu")]
    rated = rate_samples(extend_samples(metrics, iter(lambda: pytest.fail("a sample was read"), None)))
    assert rated == {}
    assert with_rated(metrics, rated) == metrics


@pytest.mark.parametrize("text", [VBLEU, NESTED])
def test_scoring_neither_searches_nor_rates(here: None, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    samples, metric = load("samples.jsonl"), create(text)
    in_one_call = evaluate(metric, samples)
    rated = rate_samples(extend_samples([metric], samples))

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("scoring searched in the index")

    monkeypatch.setattr(rated_references, "open_index", refuse)
    ((scored, *_),) = (list(results.values()) for results in score_samples(with_rated([metric], rated), samples))
    assert (scored.value, scored.ci, scored.signature) == (in_one_call.value, in_one_call.ci, in_one_call.signature)
    assert list(scored.by_sample.values()) == pytest.approx(list(in_one_call.by_sample.values()), abs=0, nan_ok=True)
