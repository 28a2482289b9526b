"""The metric interlocutor_score."""

from __future__ import annotations

from pathlib import Path

from interloq import Sample, evaluate
from interloq.metrics.trained.interlocutor_score import InterlocutorScore
from tests.scorers.interlocutor.made_models import judged


def test_it_is_a_rating_on_the_scale_of_the_training(score_model: Path) -> None:
    metric = InterlocutorScore(str(score_model))
    assert not metric.is_probability
    assert 3 < evaluate(metric, judged(10), n_bootstrap=0).value < 6


def test_nobody_rates_an_empty_reply(score_model: Path) -> None:
    samples = [Sample("a", ["tea ?"], ""), Sample("b", (), "tea"), Sample("c", ["tea ?"], "rain")]
    result = evaluate(InterlocutorScore(str(score_model)), samples, n_bootstrap=0)
    assert result.reasons == {("a", ""): "empty reply", ("b", ""): "no context"}
    assert result.n == 1
