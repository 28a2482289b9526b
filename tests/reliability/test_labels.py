"""Labels of reference sets."""

from __future__ import annotations

import math
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest
from scipy import stats

from interloq import InputError, Rating, Sample, create, evaluate
from interloq.reliability.labels import (
    CONSTANT_RATINGS,
    CONSTANT_SCORES,
    FEW_REFERENCES,
    FEW_REPLIES,
    NONE,
    UNSCORED,
    QueryScores,
    RatedQuery,
    compute_labels,
    compute_labels_without,
    draw_labels,
    draw_sets,
    group_queries,
    list_usable_metrics,
    score_replies,
    subset_scores,
)
from interloq.reliability.settings import Coefficient
from tests.made_bert import tiny_bert
from tests.reliability.made_queries import rated_samples, sentence

CORRELATE: dict[str, Any] = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}


def rescored(query: RatedQuery, members: list[int], metric: str, coefficient: str) -> float:
    """The label of one set as the paper defines it: the metric scores every reply again."""
    references = [query.references[i] for i in members if i != NONE]
    samples = [Sample(f"{i:03}", query.turns, reply, references) for i, reply in enumerate(query.replies)]
    found = list(evaluate(metric, samples, n_bootstrap=0).by_sample.values())
    return float(CORRELATE[coefficient](found, query.ratings).statistic)


@pytest.mark.parametrize("coefficient", CORRELATE)
@pytest.mark.parametrize("metric", ["bleu_star", "bleu_star(order=2,tokenizer='char')", "rouge_l(multiple='best')"])
def test_labels_equal_a_loop_that_scores_every_set_again(metric: str, coefficient: Coefficient) -> None:
    queries = score_replies(group_queries(rated_samples(3, references=8)), metric)
    found = draw_labels(queries, sizes=(1, 3, 5), per_size=4, coefficient=coefficient)
    assert len(found.values) == 3 * 3 * 4
    for i, members, value in zip(found.query, found.members.tolist(), found.values, strict=True):
        assert value == pytest.approx(rescored(queries[i].query, members, metric, coefficient), abs=1e-12)


def test_labels_by_bertscore_equal_the_loop_up_to_rounding(tmp_path_factory: pytest.TempPathFactory) -> None:
    metric = f"bertscore(model={str(tiny_bert(tmp_path_factory.mktemp('bert')))!r})"
    queries = score_replies(group_queries(rated_samples(2)), metric)
    found = draw_labels(queries, sizes=(2,), per_size=3)
    for i, members, value in zip(found.query, found.members.tolist(), found.values, strict=True):
        assert value == pytest.approx(rescored(queries[i].query, members, metric, "pearson"), abs=1e-4)


def test_labels_without_one_reference_are_those_of_the_smaller_sets() -> None:
    (scored,) = score_replies(group_queries(rated_samples(1, references=6)), "bleu_star")
    members = draw_sets(6, (2, 4), 3, "0")
    found = compute_labels_without(scored, members)
    for row, values in zip(members.tolist(), found, strict=True):
        for place, value in enumerate(values):
            if row[place] == NONE:
                assert math.isnan(value)
            else:
                smaller = np.array([row[:place] + row[place + 1 :]], dtype=np.int32)
                np.testing.assert_allclose(value, compute_labels(scored, smaller)[0], atol=1e-12)


def test_a_mean_over_references_ignores_missing_scores() -> None:
    scores = np.array([[1.0, 3.0, np.nan], [np.nan, np.nan, np.nan]])
    members = np.array([[0, 1, NONE], [1, 2, NONE], [2, NONE, NONE]], dtype=np.int32)
    nan = math.nan
    np.testing.assert_array_equal(subset_scores(scores, members, "mean"), [[2, nan], [3, nan], [nan, nan]])
    np.testing.assert_array_equal(subset_scores(scores, members, "max"), [[3, nan], [3, nan], [nan, nan]])


def test_samples_with_one_context_are_one_query() -> None:
    first = Sample("1", ["hello", "tea ?"], "yes", ["yes please", " no ", ""], "b", [1, 2])
    second = Sample("1", ["hello", "tea ?"], "no", ["no", "\n"], "a", [Rating(4), Rating(None), Rating(9, aspect="x")])
    (query,) = group_queries([first, second])
    assert query.turns == ("hello", "tea ?")
    assert query.replies == ("no", "yes")
    assert query.ratings.tolist() == [4, 1.5]
    assert query.references == ("no", "yes please")
    assert group_queries([second, first])[0].references == query.references
    apart = group_queries([replace(first, context=()), replace(second, context=(), id="2")])
    assert [len(query.replies) for query in apart] == [1, 1]


def test_sets_are_different_and_do_not_depend_on_order_or_other_queries() -> None:
    samples = rated_samples(4, references=12)
    found = draw_labels(score_replies(group_queries(samples), "bleu_star"), sizes=(3, 5), per_size=25)
    rows = list(zip(found.query.tolist(), map(tuple, found.members.tolist()), strict=True))
    assert len(set(rows)) == len(rows) == 4 * 50
    assert {(size, int((found.sizes == size).sum())) for size in (3, 5)} == {(3, 100), (5, 100)}
    Random(1).shuffle(samples)
    again = draw_labels(score_replies(group_queries(samples), "bleu_star"), sizes=(3, 5), per_size=25)
    np.testing.assert_array_equal(again.members, found.members)
    np.testing.assert_array_equal(again.values, found.values)
    queries = group_queries(samples)
    alone = draw_labels(score_replies(queries[2:3], "bleu_star"), sizes=(3, 5), per_size=25)
    np.testing.assert_array_equal(alone.members, found.members[found.query == 2])
    other = draw_labels(score_replies(queries, "bleu_star"), sizes=(3, 5), per_size=25, seed=1)
    assert not np.array_equal(other.members, found.members)


def test_few_references_give_all_their_sets() -> None:
    drawn = draw_sets(4, (2, 3, 4, 5), 25, "0")
    assert (drawn != NONE).sum(axis=1).tolist() == [2] * 6 + [3] * 4 + [4]
    assert len({tuple(row) for row in drawn.tolist()}) == 11


def test_two_hundred_references() -> None:
    (scored,) = score_replies(group_queries(rated_samples(1, references=200)), "bleu_star")
    assert scored.scores.shape[1] == len(scored.query.references) > 150
    found = draw_labels([scored], sizes=(3, 40), per_size=25)
    assert np.isfinite(found.values).all()
    assert found.sizes.tolist() == [3] * 25 + [40] * 25


def unusable(query: RatedQuery, *, sizes: tuple[int, ...] = (1, 2)) -> tuple[dict[str, int], dict[str, int], int]:
    found = draw_labels(score_replies([query], "bleu_star"), sizes=sizes, per_size=2)
    assert np.isnan(found.values).sum() == sum(found.undefined.values())
    return dict(found.skipped), dict(found.undefined), len(found.values)


def test_bad_queries_are_skipped_and_counted() -> None:
    (query,) = group_queries(rated_samples(1))
    ratings, references = query.ratings, query.references
    one = replace(query, replies=query.replies[:1], ratings=ratings[:1])
    assert unusable(one) == ({FEW_REPLIES: 1}, {}, 0)
    unrated = replace(query, ratings=np.where(np.arange(len(ratings)) < 2, ratings, np.nan))
    assert unusable(unrated) == ({FEW_REPLIES: 1}, {}, 0)
    assert unusable(replace(query, ratings=np.full(len(ratings), 3.0))) == ({CONSTANT_RATINGS: 1}, {}, 0)
    assert unusable(replace(query, references=())) == ({FEW_REFERENCES: 1}, {}, 0)
    copies = group_queries([Sample(str(i), ["q"], sentence(Random(i)), ["same"] * 5, "", [i]) for i in range(4)])[0]
    assert copies.references == ("same",)
    assert unusable(copies, sizes=(2,)) == ({FEW_REFERENCES: 1}, {}, 0)
    assert unusable(replace(query, replies=("the same",) * len(ratings))) == ({}, {CONSTANT_SCORES: 4}, 4)
    assert unusable(replace(query, references=references[:1])) == ({}, {}, 1)


def test_unrated_replies_are_ignored() -> None:
    (query,) = group_queries(rated_samples(1, replies=6))
    some = replace(query, ratings=np.where(np.arange(6) == 2, np.nan, query.ratings))
    without = replace(query, replies=query.replies[:2] + query.replies[3:], ratings=np.delete(query.ratings, 2))
    found, expected = (
        draw_labels(score_replies([q], "bleu_star"), sizes=(2,), per_size=5).values for q in (some, without)
    )
    np.testing.assert_array_equal(found, expected)


def test_sets_that_leave_a_reply_unscored_are_undefined() -> None:
    scores = np.array([[0.1, np.nan], [0.2, 0.5], [0.4, 0.3]])
    query = RatedQuery(("q",), ("a", "b", "c"), np.array([1.0, 2.0, 3.0]), ("x", "y"))
    found = draw_labels([QueryScores(query, scores, "max")], sizes=(1, 2), per_size=2)
    assert found.undefined == {UNSCORED: 1}
    assert np.isnan(found.values).tolist() == [False, True, False]


@pytest.mark.parametrize("metric", ["bleu", "distinct", "rouge_l", "bertscore(model='none',idf=True)"])
def test_metrics_that_do_not_combine_single_references_are_refused(metric: str) -> None:
    with pytest.raises(InputError, match="not a maximum or mean over single references; use one of bertscore, bleu_s"):
        score_replies([], metric)


def test_usable_metrics_are_listed() -> None:
    assert {"bertscore", "bleu_star", "rouge_l", "deep_am"} <= {*list_usable_metrics()}
    assert not {"bleu", "chrf", "relevance"} & {*list_usable_metrics()}


@pytest.mark.parametrize("sizes", [(), (0,), (3, -1)])
def test_sizes_must_be_positive(sizes: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match="at least 1"):
        draw_labels([], sizes=sizes)


def test_no_queries() -> None:
    found = draw_labels(score_replies(group_queries([]), create("bleu_star")))
    assert (len(found.values), found.members.shape) == (0, (0, 10))


def test_progress_counts_scored_replies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interloq.reliability.labels.REPLIES", 10)
    queries, steps = group_queries(rated_samples(4)), list[int]()
    score_replies(queries, "bleu_star", step=steps.append)
    assert len(steps) > 1
    assert sum(steps) == sum(len(query.replies) for query in queries)
