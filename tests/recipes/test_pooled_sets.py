"""Agreement over several sets at once, against plain loops."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pooled_sets
import pytest
from pooled_sets import PEARSON, SPEARMAN, Difference
from rated_sets import Floats, RatedSet
from scipy.stats import pearsonr, spearmanr

from interloq import Rating, Sample

ANNOTATORS = ("ann", "bob", "eve")


def made_set(name: str, *, named: bool, seed: int, contexts: int = 12, replies: int = 4) -> RatedSet:
    rng = np.random.default_rng(seed)
    samples: list[Sample] = []
    for number in range(contexts * replies):
        values = rng.integers(1, 6, size=len(ANNOTATORS)).tolist()
        ratings = [
            Rating(value, annotator if named else "", aspect="overall")
            for annotator, value in zip(ANNOTATORS, values, strict=True)
        ]
        samples.append(Sample(f"{name}/{number}", [f"{name} {number // replies}"], "yes", ratings=ratings))
    human = np.array([np.mean([rating.value for rating in sample.ratings]) for sample in samples])
    return RatedSet(samples, np.arange(len(samples)), human)


@pytest.fixture
def sets() -> dict[str, RatedSet]:
    return {"first": made_set("a", named=True, seed=1), "second": made_set("b", named=False, seed=2, contexts=20)}


def draw_scores(replies: pooled_sets.PooledReplies, seed: int) -> Floats:
    return np.random.default_rng(seed).normal(size=len(replies)) + replies.human


def test_the_mean_agreement_is_the_mean_over_sets(sets: dict[str, RatedSet]) -> None:
    replies = pooled_sets.pool_replies(sets)
    scores = draw_scores(replies, 3)
    every = np.arange(len(replies))
    for coefficient, function in ((SPEARMAN, spearmanr), (PEARSON, pearsonr)):
        expected = np.mean([function(scores[of], replies.human[of]).statistic for of in (every[:48], every[48:])])
        found = pooled_sets.mean_agreement(replies, scores, coefficient, every, 200)
        assert found.value == pytest.approx(expected)
        low, high = found.interval
        assert low < found.value < high
        assert len(found.resampled) == 200


def test_replies_to_one_context_are_drawn_together(sets: dict[str, RatedSet]) -> None:
    replies = pooled_sets.pool_replies(sets)
    assert replies.count_contexts(np.arange(len(replies))) == 32
    scores = draw_scores(replies, 3)
    copied = {name: replace_with_copies(own) for name, own in sets.items()}
    several = pooled_sets.pool_replies(copied)
    once = pooled_sets.mean_agreement(replies, scores, SPEARMAN, np.arange(len(replies)), 100)
    twice = pooled_sets.mean_agreement(several, np.repeat(scores, 2), SPEARMAN, np.arange(len(several)), 100)
    np.testing.assert_allclose(once.resampled, twice.resampled)


def replace_with_copies(own: RatedSet) -> RatedSet:
    samples = [replace(sample, id=f"{sample.id}/{copy}") for sample in own.samples for copy in range(2)]
    return RatedSet(samples, np.arange(len(samples)), np.repeat(own.human, 2))


def test_annotators_are_compared_where_they_have_names(sets: dict[str, RatedSet]) -> None:
    replies = pooled_sets.pool_replies(sets)
    assert replies.annotators == tuple((0, name) for name in ANNOTATORS)
    scores = draw_scores(replies, 5)
    by_annotator = [pearsonr(scores[:48], ratings[:48]).statistic for ratings in replies.by_annotator]
    every = np.arange(len(replies))
    assert pooled_sets.annotator_agreement(replies, scores, PEARSON, min, every) == pytest.approx(min(by_annotator))
    assert pooled_sets.annotator_agreement(replies, scores, PEARSON, max, every) == pytest.approx(max(by_annotator))
    first, second, third = (ratings[:48] for ratings in replies.by_annotator)
    pairs = [pearsonr(*pair).statistic for pair in ((first, second), (first, third), (second, third))]
    assert pooled_sets.human_agreement(replies, PEARSON, max) == pytest.approx(max(pairs))


def test_a_row_is_compared_with_the_best_of_the_others(sets: dict[str, RatedSet]) -> None:
    replies = pooled_sets.pool_replies(sets)
    rows = {
        "good": replies.human + 0.01 * draw_scores(replies, 1),
        "weak": draw_scores(replies, 2) - replies.human,
        "better": draw_scores(replies, 4),
    }
    rows["weak"][0] = np.nan  # this reply is left out of all rows
    claim = Difference(item="000/83", way="made", higher="good", lower=("weak", "better"), published=0.1, decides=True)
    found = pooled_sets.measure(claim, replies, rows, "made sets", 100)
    kept = np.arange(1, len(replies))
    values = {name: pooled_sets.mean_agreement(replies, row, SPEARMAN, kept, 100).value for name, row in rows.items()}
    assert found.value == pytest.approx(values["good"] - values["better"])
    assert (found.units, found.unit, found.verdict, found.decides) == (32, "contexts", "holds", True)
    turned = pooled_sets.measure(replace(claim, higher="weak", lower=("good",)), replies, rows, "made sets", 100)
    assert turned.verdict == "does not hold"


def test_the_lowest_annotators_are_compared_on_the_sets_that_name_them(sets: dict[str, RatedSet]) -> None:
    replies = pooled_sets.pool_replies(sets)
    rows = {"good": replies.human.copy(), "other": draw_scores(replies, 9)}
    claim = Difference(item="001/33", way="made", higher="good", lower=("other",), coefficient=PEARSON, end=min)
    found = pooled_sets.measure(claim, replies, rows, "made sets", 50)
    assert found.units == 12
    every = np.arange(len(replies))
    lowest = [pooled_sets.annotator_agreement(replies, rows[name], PEARSON, min, every) for name in rows]
    assert found.value == pytest.approx(lowest[0] - lowest[1])
