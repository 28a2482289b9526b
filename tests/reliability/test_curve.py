"""Correlation as references are added."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from interloq import InputError, Sample, evaluate
from interloq.reliability.curve import FEW_REFERENCES, UNRATED, AgreementCurve, curve
from interloq.reliability.labels import RatedQuery, group_queries
from interloq.reliability.reliability_options import CurveOptions
from tests.reliability.made_queries import rated_samples

METRIC = "bleu_star(order=1)"


def queries(n: int = 12, **options: Any) -> list[RatedQuery]:
    return group_queries(rated_samples(n, references=8, **options))


def made(found: list[RatedQuery] | None = None, metric: Any = METRIC, **options: Any) -> AgreementCurve:
    settings: dict[str, Any] = {"sizes": (1, 2, 4, 8), "own": 2, "draws": 3, "n_bootstrap": 50} | options
    return curve(found or queries(), metric, CurveOptions(**settings))


def scores_and_people(samples: list[Sample]) -> tuple[list[float], list[float]]:
    """Scores with all references, and mean ratings."""
    scores = {score.key: score.value for score in evaluate(METRIC, samples, n_bootstrap=0).scores(METRIC)}
    ratings = [[rating.value or 0.0 for rating in sample.ratings] for sample in samples]
    return [scores[sample.key] or 0.0 for sample in samples], [sum(own) / len(own) for own in ratings]


def test_all_references_give_the_correlation_of_the_metric_itself() -> None:
    samples = rated_samples(12, references=8)
    found = made(group_queries(samples))
    last = next(p for p in found.arm("all", noisy=False) if p.references == 8)
    assert last.value == pytest.approx(stats.pearsonr(*scores_and_people(samples)).statistic)
    assert (found.queries, found.replies, last.queries) == (12, 72, 12)


def test_value_per_query_is_the_mean_over_queries() -> None:
    samples = rated_samples(12, references=8)
    found = made(group_queries(samples), coefficient="kendall")
    by_query = [[sample for sample in samples if sample.id == number] for number in {sample.id for sample in samples}]
    taus = [stats.kendalltau(*scores_and_people(own)).statistic for own in by_query]
    assert found.arm("query", noisy=False)[-1].value == pytest.approx(np.mean(taus))


@pytest.mark.parametrize("level", ["query", "all"])
def test_own_references_help_and_foreign_ones_harm(level: Any) -> None:
    found = made(queries(30))
    clean, noisy = (found.arm(level, noisy=wanted) for wanted in (False, True))
    assert [(p.references, p.foreign) for p in clean] == [(1, 0), (2, 0), (4, 0), (8, 0)]
    assert [(p.references, p.foreign) for p in noisy] == [(1, 0), (2, 0), (4, 2), (8, 6)]
    assert clean[-1].gain_ci[0] > 0
    assert noisy[-1].value < clean[-1].value
    assert noisy[-1].gain == pytest.approx(noisy[-1].value - noisy[1].value)
    assert all(p.ci[0] <= p.value <= p.ci[1] for p in found.points)


def test_first_points_have_no_gain() -> None:
    first = made().arm("query", noisy=False)[0]
    assert (first.gain, first.gain_ci) == (0, (0, 0))


def test_metrics_that_do_not_combine_references_or_are_fitted_are_scored_again() -> None:
    """BLEU-1 without smoothing of single references is BLEU*, and with more it is not."""
    star, bleu = (made(metric=f"{name}(order=1,smoothing='none')") for name in ("bleu_star", "bleu"))
    assert bleu.points[0].value == pytest.approx(star.points[0].value)
    assert bleu.points[3].value != pytest.approx(star.points[3].value)
    assert np.isfinite(made(metric="nist").points[-1].value)


@pytest.mark.parametrize("coefficient", ["pearson", "spearman", "kendall"])
def test_order_of_queries_does_not_matter(coefficient: Any) -> None:
    some = queries(45)
    first, second = (made(order, coefficient=coefficient, n_bootstrap=2) for order in (some, some[::-1]))
    assert [p.value for p in first.points] == pytest.approx([p.value for p in second.points])


def test_queries_without_enough_references_or_ratings_are_counted() -> None:
    some = queries()
    some[0] = replace(some[0], references=some[0].references[:3])
    some[1] = replace(some[1], ratings=np.full(len(some[1].replies), np.nan))
    found = made(some)
    assert found.skipped == {FEW_REFERENCES: 1, UNRATED: 1}
    assert found.queries == 10


def test_a_query_without_a_correlation_at_one_size_is_left_out_at_all_sizes() -> None:
    """Replies with no word of a single reference all score 0; with eight references, some do not."""
    some = queries(20)
    words = [f"unheard{i}" for i in range(7)]
    some[0] = replace(some[0], references=(some[0].references[0], *words))
    found, others = made(some, sizes=(1, 8), own=8, draws=1), made(some[1:], sizes=(1, 8), own=8, draws=1)
    first, last = found.arm("query", noisy=False)
    assert (first.queries, last.queries, found.undefined) == (19, 19, 1)
    assert last.value == pytest.approx(others.arm("query", noisy=False)[-1].value)
    assert "1 query has no own correlation" in " ".join(found.notes())


def test_replies_that_equal_a_reference_are_noted_or_excluded() -> None:
    some = queries(20)
    human = [f"{query.references[-1].upper()}!" for query in some]
    with_copies = [
        replace(query, replies=(*query.replies, reply), ratings=np.append(query.ratings, 5.0))
        for query, reply in zip(some, human, strict=True)
    ]
    plain, found, without = made(some), made(with_copies), made(with_copies, without_copies=True)
    assert (plain.copies, found.copies, without.copies) == (0, 20, 20)
    assert "20 rated replies equal a reference" in " ".join(found.notes())
    assert "excluded" in " ".join(without.notes())
    assert without.points == plain.points
    assert found.points != plain.points


def test_queries_without_a_correlation_of_their_own_count_over_all_replies_only() -> None:
    some = queries()
    some[0] = replace(some[0], ratings=np.full(len(some[0].replies), 3.0))
    found = made(some)
    assert {(p.level, p.queries) for p in found.points} == {("query", 11), ("all", 12)}
    found = made(queries(replies=2))
    assert {(p.level, p.queries) for p in found.points} == {("query", 0), ("all", 12)}
    assert all(np.isnan(p.value) == (p.level == "query") for p in found.points)


@pytest.mark.parametrize(
    ("queries_made", "options", "message"),
    [
        (12, {"sizes": ()}, "at least 1"),
        (12, {"sizes": (0, 3)}, "at least 1"),
        (12, {"own": 0}, "at least 1"),
        (12, {"draws": 0}, "at least 1"),
        (12, {"sizes": (20,), "own": 20}, "no query has 20 references"),
        (1, {}, "0 references of other queries, but 6"),
    ],
)
def test_what_cannot_be_computed_is_refused(queries_made: int, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        made(queries(queries_made), **options)
