# SPDX-License-Identifier: Apache-2.0
"""People's ratings of systems, and how well a metric orders systems as people do: correlation, and pairs in order."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from interloq.errors import InputError, count
from interloq.metrics.metric import Array
from interloq.metrics.metric_names import RATING
from interloq.play.samples import system_ratings
from interloq.records import Dialogue, Rating, Sample, Score
from interloq.statistics import correlation
from interloq.statistics.clustered import beta_interval
from interloq.statistics.estimate import COEFFICIENTS, Estimate
from interloq.statistics.resampling import percentile_interval
from interloq.statistics.rounding import mean_of

OVERALL = "overall"  # the aspect of ratings that speaks of a system as a whole
FEWEST = 5  # systems: with fewer, no order of them has a p-value below .05


def agreement(systems: Sequence[str], places: tuple[Array, Array], human: Mapping[str, float]) -> dict[str, Estimate]:
    """Correlate a metric with people over the systems that both rank; the interval is over dialogues."""
    shared = [i for i, name in enumerate(systems) if name in human]
    people = np.array([human[systems[i]] for i in shared])
    estimates = without_p_of_few(correlation.coefficients(places[0][shared], people))
    rows = places[1][:, shared]
    if not len(rows) or any(math.isnan(e.value) for e in estimates.values()):
        return estimates
    judged = np.broadcast_to(people, rows.shape)
    for name in COEFFICIENTS:
        drawn = correlation.by_rows(name, rows, judged)
        estimates[name] = replace(estimates[name], ci=percentile_interval(drawn))
    return estimates


def without_p_of_few(estimates: Mapping[str, Estimate]) -> dict[str, Estimate]:
    """Remove the p-values of correlations over fewer than five systems, and say why."""
    kept = dict(estimates)
    for name, estimate in estimates.items():
        if estimate.p is not None and estimate.n < FEWEST:
            why = f"no p-value: {count(estimate.n, 'system')}, at least {FEWEST} needed"
            kept[name] = replace(estimate, p=None, note="; ".join(filter(None, (estimate.note, why))))
    return kept


def rated_systems(dialogues: Iterable[Dialogue]) -> dict[str, float]:
    """Return people's mean rating of each system in dialogues: of the aspect `overall`, or of the only aspect.

    Empty if there is neither, or if a rating does not say which of two systems it is about.
    """
    dialogues = list(dialogues)
    aspects: set[str] = set()
    for dialogue in dialogues:
        aspects.update(rating.aspect for rating in dialogue.ratings)
    if OVERALL not in aspects and len(aspects) != 1:
        return {}
    values: dict[str, list[float]] = {}
    try:
        scores = list(rating_scores(dialogues, aspect=OVERALL if OVERALL in aspects else aspects.pop()))
    except InputError:
        return {}
    for score in scores:
        if score.value is not None:
            values.setdefault(score.system, []).append(score.value)
    return {system: mean_of(ratings) for system, ratings in sorted(values.items())}


def order_note(accuracy: Estimate | None) -> str:
    """Return a note on how often the metric orders two systems as people do."""
    if accuracy is None or accuracy.ci is None:
        return "people judge no two of these systems differently, so the metric's own error is unknown"
    low, high = accuracy.ci
    return (
        f"the metric's own error: it orders two systems as people do in {accuracy.value:.2f} [{low:.2f}, {high:.2f}] "
        f"of {count(accuracy.n, 'pair')} of systems"
    )


def order_accuracy(systems: Sequence[str], scores: Array, human: Mapping[str, float]) -> Estimate | None:
    """Return the share of pairs of systems that scores (higher is better) order as people do; equal scores count half.

    Pairs that people judge equal are not counted; None if no pair is left. Pairs of k systems overlap: the exact
    interval of k/2 separate pairs is returned, which is cautious.
    """
    known = [(float(score), human[name]) for name, score in zip(systems, scores, strict=True) if name in human]
    agrees = []
    for (x, people_x), (y, people_y) in combinations(known, 2):
        if people_x != people_y:
            agrees.append(0.5 + 0.5 * float(np.sign((x - y) * (people_x - people_y))))
    if not agrees:
        return None
    share = sum(agrees) / len(agrees)
    return Estimate(share, len(agrees), beta_interval(share, len(known) // 2))


def rating_scores(records: Iterable[Sample | Dialogue], *, aspect: str, role: str = "") -> Iterator[Score]:
    """Yield mean ratings of replies, or of systems in dialogues; unrated ones are unscored. The role '' means any role.

    With the labels `continued` of chats, survival curves of `rank` are the product-limit estimate of Kaplan and Meier
    (1958): a reply that was answered has the probability 1, the last one before a person left 0, and the last one
    before the limit of turns none.
    """
    for record in records:
        name = metric_name(aspect, role, dialogues=isinstance(record, Dialogue))
        if isinstance(record, Sample):
            yield _score(record.id, record.system, record.ratings, name, aspect, role)
            continue
        for system in sorted(set(record.systems.values())):
            yield _score(record.id, system, system_ratings(record, system), name, aspect, role)


def metric_name(aspect: str, role: str = "", *, dialogues: bool) -> str:
    """Return the name of the scores: a spec, which says what was rated."""
    fields = {"aspect": aspect, "role": role, "of": "dialogue" if dialogues else ""}
    return f"{RATING}({','.join(f'{name}={value!r}' for name, value in fields.items() if value)})"


def _score(id: str, system: str, ratings: Iterable[Rating], name: str, aspect: str, role: str) -> Score:
    fitting = [rating for rating in ratings if rating.aspect == aspect and role in ("", rating.role)]
    values = [rating.value for rating in fitting if rating.value is not None]
    if not values:
        return Score(id, name, None, "not rated", system)
    return Score(id, name, sum(values) / len(values), "", system)
