"""By system, a metric counts with the value that `interloq score` prints of a system."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from interloq import InputError, Rating, Sample, Score, evaluate_all, write
from interloq.agree.agreement import meta_evaluate
from interloq.agree.judgments import collect
from interloq.agree.score_columns import score_columns
from interloq.cli.main import main
from interloq.score.selection import SampleFilter
from interloq.statistics.resampling import bootstrap_counts, percentile_interval

METRICS = ("bleu(order=2)", "bleu(order=2,level='sentence')", "nist(order=2)", "chrf", "distinct(n=1)", "rouge_l")
WORDS = ["the", "food", "was", "good", "and", "we", "liked", "it", "a", "lot", "but", "no", "music", "played", "there"]


def talked(*, shared: bool = True, seed: int = 0) -> list[Sample]:
    """Five systems reply to twelve contexts; the judgments have nothing to do with the words."""
    rng = np.random.default_rng(seed)
    found = []
    for context in range(12):
        for system in range(5):
            said = " ".join(rng.choice(WORDS, size=rng.integers(2, 12)))
            references = [" ".join(rng.choice(WORDS, size=8)) for _ in range(2)]
            place = f"context {context}" if shared else f"context {context} of {system}"
            rating = Rating(float(rng.integers(1, 6)), "ann")
            found.append(Sample(f"{context:02}", place, said, references, f"s{system}", [rating]))
    return found


def scored(samples: list[Sample], metrics: tuple[str, ...] = METRICS) -> list[Score]:
    return [score for found in evaluate_all(metrics, samples) for score in found[""].scores()]


def judged(samples: list[Sample]) -> list[float]:
    ratings = {f"s{i}": [s.ratings[0].value or 0 for s in samples if s.system == f"s{i}"] for i in range(5)}
    return [float(np.mean(ratings[name])) for name in sorted(ratings)]


def test_the_scores_of_systems_are_those_that_score_prints() -> None:
    samples = talked()
    results = evaluate_all(METRICS, samples, by_system=True)
    table = {row.metric: row for row in meta_evaluate(scored(samples), samples, by="system", n_bootstrap=20).rows}
    for metric, found in zip(METRICS, results, strict=True):
        values = [found[f"s{i}"].value for i in range(5)]
        row = table[found[""].metric]
        assert row.with_mean["spearman"].value == pytest.approx(stats.spearmanr(values, judged(samples)).statistic)
        assert row.with_mean["pearson"].value == pytest.approx(stats.pearsonr(values, judged(samples)).statistic)
        assert row.system_score == "value"
        assert (row.with_mean["pearson"].ci is None) == metric.startswith("distinct")


def test_a_mean_is_said_to_be_one() -> None:
    samples = talked()
    table = meta_evaluate(scored(samples), samples, by="system", n_bootstrap=0, system_score="mean")
    for row in table.rows:
        own = [s for s in scored(samples) if s.metric == row.metric]
        means = [np.mean([s.value for s in own if s.system == f"s{i}" and s.value is not None]) for i in range(5)]
        assert row.with_mean["pearson"].value == pytest.approx(stats.pearsonr(means, judged(samples)).statistic)
        assert row.system_score == "mean"


@pytest.mark.parametrize("shared", [True, False])
def test_the_value_is_computed_anew_in_every_resample(shared: bool) -> None:
    samples = talked(shared=shared)
    row = meta_evaluate(scored(samples, ("bleu(order=2)",)), samples, by="system", n_bootstrap=60, seed=3).rows[0]
    columns = [[s for s in samples if s.system == f"s{i}"] for i in range(5)]
    found = []
    for b in range(60):
        counts = [np.concatenate(list(bootstrap_counts(12, 60, 3 + (0 if shared else i))))[b] for i in range(5)]
        drawn = [
            replace(s, id=f"{s.id}/{k}")
            for i, own in enumerate(columns)
            for s, n in zip(own, counts[i], strict=True)
            for k in range(n)
        ]
        values = evaluate_all(["bleu(order=2)"], drawn, by_system=True)[0]
        people = judged(drawn)
        found.append(stats.pearsonr([values[f"s{i}"].value for i in range(5)], people).statistic)
    assert row.with_mean["pearson"].ci == pytest.approx(percentile_interval(np.array(found)), abs=1e-6)


def test_systems_are_exchanged_where_values_of_sets_are_compared() -> None:
    samples = talked()
    table = meta_evaluate(scored(samples, ("chrf", "rouge_l")), samples, by="system", n_bootstrap=0)
    pearson = {row.metric: row.with_mean["pearson"].value for row in table.rows}
    compared = next(c for c in table.comparisons if c.coefficient == "pearson")
    assert compared.difference == pytest.approx(abs(pearson["chrf"] - pearson["rouge_l"]))
    assert (compared.permutation_p or 0) > 1 / 2**5


def test_other_samples_or_unknown_metrics_leave_a_mean(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    samples = talked()
    more = [replace(score, metric="of our own") for score in scored(samples, ("rouge_l",))]
    others = [replace(sample, references=sample.references[:1]) for sample in samples]
    table = meta_evaluate([*scored(samples, ("chrf",)), *more], others, by="system", n_bootstrap=0)
    assert [row.system_score for row in table.rows] == ["mean", "mean"]
    assert any(note.startswith("chrf: ") and "are not those that were scored" in note for note in table.notes)
    assert any("the metric is not registered here" in note for note in table.notes)
    write(folder / "samples.jsonl", others, kind="samples")
    write(folder / "scores.jsonl", scored(samples, ("chrf", "rouge_l")), kind="scores")
    assert main(["meta", "scores.jsonl", "--samples", "samples.jsonl", "--by", "system", "--bootstrap", "0"]) == 0
    shown = [line.strip() for line in capsys.readouterr().out.splitlines()]
    rows = [line for line in shown if line.startswith(("chrf ", "rouge_l "))][:2]
    is_mean = {line.split()[0]: line.endswith("mean of sample scores") for line in rows}
    assert is_mean == {"chrf": True, "rouge_l": False}


SAMPLES = [Sample(id, (), "x", (), system, [1.0]) for id, system in (("1", "a"), ("1", "b"), ("2", "a"))]


def columns(*scores: Score, selection: SampleFilter | None = None) -> tuple[dict[str, list[float]], list[str]]:
    found, notes = score_columns(scores, collect(SAMPLES), selection or SampleFilter())
    return {name: column.tolist() for name, column in found.items()}, notes


def test_a_column_has_the_order_of_the_judgments() -> None:
    found, notes = columns(
        Score("2", "m", 3.0, system="a"), Score("1", "m", 1.0, system="a"), Score("1", "l", 5.0, system="b")
    )
    assert list(found) == ["l", "m"]
    assert found["m"] == pytest.approx([1, math.nan, 3], nan_ok=True)
    assert found["l"] == pytest.approx([math.nan, 5, math.nan], nan_ok=True)
    assert notes == []


def test_a_score_without_a_system_belongs_to_the_only_sample_with_its_id() -> None:
    assert columns(Score("2", "m", 3.0))[0]["m"][2] == 3


def test_stray_scores_are_noted_unless_their_system_was_left_out() -> None:
    given = Score("1", "m", 1.0, system="a"), Score("9", "m", 1.0, system="z")
    assert "m: scores without a sample, not used: 1" in columns(*given)[1][0]
    assert columns(*given, selection=SampleFilter(without=["z"]))[1] == []


def test_contradictions_and_infinity_are_refused() -> None:
    one = Score("2", "m", 1.0)
    columns(one, one, Score("1", "m", None, "why", system="a"), Score("1", "m", None, "why", system="a"))
    for other in (2.0, None):
        with pytest.raises(InputError, match="twice"):
            columns(one, Score("2", "m", other))
    with pytest.raises(InputError, match="inf"):
        columns(Score("2", "m", math.inf))


def test_no_scores_or_none_that_fit_are_refused() -> None:
    with pytest.raises(InputError, match="no scores"):
        columns()
    with pytest.raises(InputError, match="no score belongs to a sample"):
        columns(Score("9", "m", 1.0))


@pytest.mark.parametrize("scale", [1e200, 1e-200])
def test_extreme_scores_keep_their_proportions(scale: float) -> None:
    column = columns(Score("1", "m", 1 * scale, system="a"), Score("2", "m", 3 * scale))[0]["m"]
    assert column[2] / column[0] == pytest.approx(3)
    assert 1e-100 < np.nanmax(column) < 1e100
