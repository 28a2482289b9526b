"""Correlations between users and within them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from interloq import InputError, Rating, Sample
from interloq.agree.agreement import meta_evaluate
from interloq.agree.table import By, MetaTable, UserSplit
from interloq.records import INTERLOCUTOR
from tests.made_users import REPLIES, USERS, judged, scores

Array = NDArray[np.float64]


def noise(seed: int = 1) -> Array:
    """Noise that is uncorrelated with the deviations from each user's mean."""
    _, _, deviations = judged()
    drawn = np.random.default_rng(seed).normal(size=USERS * REPLIES)
    return np.asarray(drawn - deviations * (drawn @ deviations) / (deviations @ deviations))


def table(columns: dict[str, Array], *, role: str = "interlocutor", by: By = "none") -> MetaTable:
    samples, _, _ = judged()
    given = scores(samples, columns)
    return meta_evaluate(given, samples, aspect="impression", role=role, by=by, n_bootstrap=200, compare=False)


def split(found: MetaTable, metric: str) -> UserSplit:
    return next(each for each in found.users if each.metric == metric)


def test_a_model_that_knows_only_the_mean_of_each_user_is_called_out() -> None:
    _, means, _ = judged()
    found = table({"learned": means, "noisy": means + 0.3 * noise()})
    learned, noisy = split(found, "learned"), split(found, "noisy")
    assert learned.between["pearson"].value == pytest.approx(1)
    assert learned.between["pearson"].n == USERS
    assert math.isnan(learned.within["pearson"].value)
    assert learned.within["pearson"].note == "constant scores"
    assert noisy.between["pearson"].value > 0.95
    assert noisy.within["pearson"].value == pytest.approx(0, abs=1e-9)
    low, high = noisy.within["pearson"].ci or (1, 0)
    assert low < 0 < high
    assert found.notes[0].endswith("judgments never vary for 0 of 20 users with two samples or more")
    assert "learned orders users, not replies: it gives every reply to a user the same score" in found.notes
    note = next(
        note for note in found.notes if note.startswith("noisy orders users, not replies: within users its Pearson")
    )
    assert "not distinguishable from 0 (between users 0.9" in note


def test_a_model_that_orders_replies_is_not() -> None:
    _, means, deviations = judged()
    found = table({"replies": deviations, "both": means + deviations, "noise": noise()})
    replies, both = split(found, "replies"), split(found, "both")
    assert replies.within["pearson"].value == pytest.approx(1)
    assert replies.averaged["pearson"].value == pytest.approx(1)
    assert "constant scores" in replies.between["pearson"].note
    assert [both.overall[c].value for c in ("pearson", "spearman", "kendall")] == pytest.approx([1, 1, 1])
    assert not [note for note in found.notes if "orders users" in note]


def test_parts_are_coefficients_of_means_and_of_deviations() -> None:
    samples, means, deviations = judged()
    column = means + deviations + noise()
    column[[0, 5]] = np.nan  # unscored
    column[REPLIES : 2 * REPLIES - 1] = np.nan  # a user with one scored sample has no deviations
    found = split(table({"metric": column}), "metric")
    people = np.array([sample.ratings[0].value for sample in samples], dtype=float)
    own, user = ~np.isnan(column), np.repeat(np.arange(USERS), REPLIES)
    mean = [np.array([z[own & (user == u)].mean() for u in range(USERS)]) for z in (column, people)]
    more = own & (user != 1)
    apart = [(z - m[user])[more] for z, m in zip((column, people), mean, strict=True)]
    each = [
        stats.spearmanr(*(z[own & (user == u)] for z in (column, people))).statistic for u in range(USERS) if u != 1
    ]
    assert found.between["kendall"].value == pytest.approx(stats.kendalltau(*mean).statistic)
    assert found.within["spearman"].value == pytest.approx(stats.spearmanr(*apart).statistic)
    assert found.within["spearman"].n == more.sum()
    assert found.averaged["spearman"].value == pytest.approx(np.mean(each))
    assert found.overall["pearson"].value == pytest.approx(stats.pearsonr(column[own], people[own]).statistic)
    assert found.within["spearman"].p is None
    assert found.users("spearman") == "20 (19 averaged)"


def test_intervals_are_from_resamples_of_users() -> None:
    _, means, _ = judged()
    found = table({"metric": means + 0.5 * noise()})
    low, high = split(found, "metric").overall["pearson"].ci or (0, 0)
    alone = found.rows[0].with_mean["pearson"].ci or (0, 0)
    assert high - low > 1.5 * (alone[1] - alone[0])  # replies to one user are not independent


def test_ratings_by_outsiders_are_split_by_the_same_users() -> None:
    _, means, deviations = judged()
    found = split(table({"metric": means + deviations}, role="outsider"), "metric")
    assert found.within["pearson"].value == pytest.approx(1)
    assert "constant judgments" in found.between["pearson"].note


def test_by_user_averages_the_coefficients_of_users() -> None:
    _, means, deviations = judged()
    found = table({"metric": means + deviations + noise()}, by="user")
    row = found.rows[0].with_mean["pearson"]
    averaged = split(found, "metric").averaged["pearson"]
    assert (row.value, row.n, *(row.ci or ())) == pytest.approx((averaged.value, USERS, *(averaged.ci or ())))
    assert f"users with at least 3 rated replies: {USERS}" in found.notes


def test_few_users_have_narrow_intervals() -> None:
    samples, means, _ = judged()
    given = scores(samples[: 3 * REPLIES], {"metric": means[: 3 * REPLIES]})
    found = meta_evaluate(given, samples[: 3 * REPLIES], aspect="impression", role="interlocutor", n_bootstrap=20)
    assert "only 3 users: intervals from resamples of fewer than 10 users are too narrow" in found.notes


def test_without_interlocutors_there_is_nothing_to_split() -> None:
    samples = [Sample(f"s{i}", ["Hi"], "Hello", ratings=[float(i)]) for i in range(5)]
    given = scores(samples, {"metric": np.arange(5.0)})
    assert meta_evaluate(given, samples, n_bootstrap=0).users == ()
    with pytest.raises(InputError, match="no rating has the role 'interlocutor'"):
        meta_evaluate(given, samples, by="user")


def test_the_variance_between_users_is_reported() -> None:
    values = {"a": (1, 1, 1), "b": (3, 3, 3), "c": (1, 3), "d": (2,)}
    ratings = [Rating(float(value), user, role=INTERLOCUTOR) for user, own in values.items() for value in own]
    samples = [Sample(f"s{i}", ["Hi"], "Hello", ratings=[rating]) for i, rating in enumerate(ratings)]
    found = meta_evaluate(scores(samples, {"metric": np.arange(9.0)}), samples, n_bootstrap=0)
    expected = "75% of the variance of the judgments is between users; judgments never vary for 2 of 3 users with two"
    assert found.notes[0].startswith(expected)
