# SPDX-License-Identifier: Apache-2.0
"""Correlation by user, the person in the dialogue: does a metric order the replies to a user, or only users?

between   over users: mean score and mean judgment of each
within    over samples: deviations from the user's mean score and mean judgment, pooled; users with two samples or more
averaged  the coefficient within each user with at least three samples, averaged over users

A model that has learned only the mean of each user correlates with people between users but not within them. Resamples
draw users with all their samples.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from interloq.agree.by_context import Contexts, group_samples
from interloq.agree.judgments import Index, Judgments
from interloq.agree.table import UserSplit
from interloq.errors import InputError, count
from interloq.metrics.metric import Array
from interloq.statistics import correlation
from interloq.statistics.correlation import Coefficients, complete_rows
from interloq.statistics.estimate import Estimate
from interloq.statistics.resampling import percentile_interval
from interloq.statistics.rounding import DIGITS

SAME = 1e-9  # total deviation from a mean, relative to the largest value, that is only rounding
FEW_USERS = 10  # with fewer clusters percentile intervals are known to be too narrow


def users(judgments: Judgments) -> Contexts:
    """Return the level over users: a coefficient within each, averaged."""
    if not any(judgments.users):
        raise InputError(
            "by='user' needs samples rated by the person in the dialogue, but no rating has the role 'interlocutor'",
            hint='give ratings "role": "interlocutor" and the user\'s id as "rater"',
        )
    return group_samples(user_numbers(judgments), judgments.sizes() > 0, by="user", unit="user")


def user_numbers(judgments: Judgments) -> Index:
    """Return the user of each sample as a number from 0; -1 if unknown."""
    number = {user: i for i, user in enumerate(sorted(set(judgments.users) - {""}))}
    return np.array([number.get(user, -1) for user in judgments.users], dtype=np.int64)


def user_splits(
    columns: Mapping[str, Array], judgments: Judgments, coefficients: Coefficients, n_bootstrap: int, seed: int
) -> tuple[UserSplit, ...]:
    """Split each metric's correlation; empty unless at least two users have two rated samples each."""
    user, people = user_numbers(judgments), judgments.mean()
    sizes = np.bincount(user[(user >= 0) & ~np.isnan(people)], minlength=1)
    if (sizes > 1).sum() < 2:
        return ()
    splits = []
    for metric, column in columns.items():
        splits.append(_split(metric, column, people, user, coefficients, n_bootstrap, seed))
    return tuple(splits)


def _split(
    metric: str, scores: Array, people: Array, user: Index, coefficients: Coefficients, n_bootstrap: int, seed: int
) -> UserSplit:
    rows = complete_rows(scores, people)
    rows = rows[user[rows] >= 0]
    user = _renumber_users(user[rows])
    x, y = _scale_column(scores[rows]), _scale_column(people[rows])
    mean_x, mean_y = _means(x, user), _means(y, user)
    repeated = np.bincount(user, minlength=1)[user] > 1
    apart_x = np.round(x - mean_x[user], DIGITS)[repeated]
    apart_y = np.round(y - mean_y[user], DIGITS)[repeated]
    estimate = partial(_estimates, coefficients=coefficients, n_bootstrap=n_bootstrap, seed=seed)
    return UserSplit(
        metric=metric,
        overall=estimate(x, y, user),
        between=estimate(mean_x, mean_y),
        within=estimate(apart_x, apart_y, _renumber_users(user[repeated])),
        averaged=_average_over_users(x, y, user, coefficients, n_bootstrap, seed),
    )


def _renumber_users(user: Index) -> Index:
    """Return the same users numbered from 0 without gaps."""
    return np.asarray(np.unique(user, return_inverse=True)[1], dtype=np.int64)


def _scale_column(column: Array) -> Array:
    """Return values scaled to a largest absolute value of 1, so that rounding errors can be rounded away."""
    largest = float(np.abs(column).max(initial=0.0))
    return column / largest if largest else column


def _means(column: Array, user: Index) -> Array:
    return np.asarray(np.round(np.bincount(user, column) / np.bincount(user), DIGITS))


def _estimates(
    x: Array, y: Array, cluster: Index | None = None, *, coefficients: Coefficients, n_bootstrap: int, seed: int
) -> dict[str, Estimate]:
    """Return coefficients with intervals; without p-values if samples of one cluster are not independent."""
    estimates = correlation.coefficients(x, y, chosen=coefficients)
    if cluster is not None:
        estimates = {name: replace(estimate, p=None) for name, estimate in estimates.items()}
    if not n_bootstrap or correlation.explain_undefined(x, y):
        return estimates
    drawn = correlation.resample_coefficients(
        x, y, n_bootstrap=n_bootstrap, seed=seed, chosen=coefficients, cluster=cluster
    )
    return _with_intervals(estimates, drawn)


def _average_over_users(
    x: Array, y: Array, user: Index, coefficients: Coefficients, n_bootstrap: int, seed: int
) -> dict[str, Estimate]:
    level = Contexts(user, 0, 0, coefficients, unit="user")
    estimates = level.estimates(x, y)
    if not n_bootstrap or any(math.isnan(estimate.value) for estimate in estimates.values()):
        return estimates
    return _with_intervals(estimates, level.resample(x, y, n_bootstrap, seed))


def _with_intervals(estimates: Mapping[str, Estimate], drawn: Mapping[str, Array]) -> dict[str, Estimate]:
    return {name: replace(estimate, ci=percentile_interval(drawn[name])) for name, estimate in estimates.items()}


def split_notes(splits: Sequence[UserSplit], judgments: Judgments) -> list[str]:
    """Return notes on the judgments, on metrics that order users but not the replies to a user, and on few users."""
    if not splits:
        return []
    notes = [_variance_note(judgments), *filter(None, map(split_note, splits))]
    most = 0
    for split in splits:
        most = max(most, *(estimate.n for estimate in split.between.values()))
    if most < FEW_USERS:
        few = count(most, "user")
        notes.append(f"only {few}: intervals from resamples of fewer than {FEW_USERS} users are too narrow")
    return notes


def _variance_note(judgments: Judgments) -> str:
    """Return how much of the judgments' variance a model that knows only the users could explain."""
    people, user = judgments.mean(), user_numbers(judgments)
    used = ~np.isnan(people) & (user >= 0)
    y, user = _scale_column(people[used]), _renumber_users(user[used])
    means, sizes = _means(y, user), np.bincount(user)
    total = float(((y - y.mean()) ** 2).sum())
    share = float((sizes * (means - y.mean()) ** 2).sum()) / total if total else math.nan
    spread = np.bincount(user, np.abs(y - means[user]))
    same = int(((spread < SAME) & (sizes > 1)).sum())
    return (
        f"{share:.0%} of the variance of the judgments is between users; judgments never vary for {same} of "
        f"{count(int((sizes > 1).sum()), 'user')} with two samples or more"
    )


def split_note(split: UserSplit) -> str:
    """Return a note on a metric, judged by its first coefficient; empty if it orders replies or cannot order users."""
    name, within = next(iter(split.within.items()))
    if not (_differs(split.between[name]) or _differs(split.overall[name])):
        return ""
    start = f"{split.metric} orders users, not replies: "
    if "constant scores" in within.note:
        return f"{start}it gives every reply to a user the same score"
    if _differs(within) or within.ci is None or math.isnan(within.value):
        return ""
    return (
        f"{start}within users its {name.capitalize()} correlation is {_format(within)}, not distinguishable from 0 "
        f"(between users {_format(split.between[name])}, overall {_format(split.overall[name])})"
    )


def _differs(estimate: Estimate) -> bool:
    """Return whether the interval excludes 0."""
    return estimate.ci is not None and (estimate.ci[0] > 0 or estimate.ci[1] < 0)


def _format(estimate: Estimate) -> str:
    if estimate.ci is None:
        return f"{estimate.value:.3f}"
    return f"{estimate.value:.3f} [{estimate.ci[0]:.3f}, {estimate.ci[1]:.3f}]"
