# SPDX-License-Identifier: Apache-2.0
"""Figures of a running task from the pages that people finished: agreement, systems and metrics.

Pairs of replies are treated as samples of their own: a preference is 1 for the first system, −1 for the second, 0 for a
tie, and a metric's score of a pair is the difference of its scores.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from interloq.agree.agreement import meta_evaluate
from interloq.agree.human_agreement import agreement as human_agreement
from interloq.agree.judgments import Judgments, collect
from interloq.agree.levels import level
from interloq.agree.table import HumanRow
from interloq.rank.human_preferences import rank_preferences
from interloq.records import INTERLOCUTOR, Preference, Rating, Sample, Score
from interloq.statistics.clustered import Clustered, cluster_mean
from interloq.statistics.estimate import Estimate
from interloq.web.admin.collected import FinishedPage

RESAMPLES = 200  # the page is computed again whenever answers come in
COEFFICIENT = "spearman"
_CODES = {"a": 1.0, "tie": 0.0, "b": -1.0}


@dataclass(frozen=True)
class Vote:
    """One person's judgment of one aspect: of a unit, or of a pair (`systems` has one or two names)."""

    person: int
    cluster: str
    key: tuple[str, str]
    systems: tuple[str, ...]
    value: float


@dataclass(frozen=True)
class SystemFigure:
    """A system's mean rating, or its share of wins with its Bradley–Terry strength; intervals are clustered by item."""

    name: str
    mean: Clustered
    strength: Estimate | None = None


def votes(pages: Iterable[FinishedPage], aspect: str) -> list[Vote]:
    """Return judgments of one aspect, excluding attention checks and "not applicable" answers."""
    judged: list[Vote] = []
    for page in pages:
        if page.correct is None:
            judged += _page_votes(page, aspect)
    return judged


def _page_votes(page: FinishedPage, aspect: str) -> Iterator[Vote]:
    for answer in page.answers:
        if answer.aspect != aspect:
            continue
        if answer.choice is not None:
            names = tuple(str(unit["system"]) for unit in page.units)
            id = f"{page.units[0]['id']} {' / '.join(names)}"
            yield Vote(page.person, page.cluster, (id, ""), names, _CODES[answer.choice])
        elif answer.value is not None and answer.unit < len(page.units):  # chats have no units
            unit = page.units[answer.unit]
            yield Vote(page.person, page.cluster, (unit["id"], unit["system"]), (unit["system"],), answer.value)


def judgments(votes: Sequence[Vote], aspect: str) -> Judgments | None:
    """Return votes as judgments for meta-evaluation; None if there are none."""
    if not votes:
        return None
    return collect(_make_rated_samples(votes, aspect), aspect=aspect)


def _make_rated_samples(votes: Iterable[Vote], aspect: str) -> list[Sample]:
    """Return one sample per judged unit or pair, with a rating per vote; its texts do not matter."""
    contexts: dict[tuple[str, str], str] = {}
    ratings: dict[tuple[str, str], list[Rating]] = {}
    for vote in votes:
        contexts.setdefault(vote.key, vote.cluster)
        ratings.setdefault(vote.key, []).append(Rating(vote.value, f"p{vote.person}", aspect))
    return [Sample(key[0], [contexts[key]], "…", (), key[1], ratings[key]) for key in ratings]


def agreement(votes: Sequence[Vote], aspect: str) -> HumanRow | None:
    """Return α and pairwise coefficients of the annotators; None if nothing was judged twice."""
    judged = judgments(votes, aspect)
    if judged is None:
        return None
    return human_agreement(judged, level("none", judged), n_bootstrap=RESAMPLES, seed=0)


def scores(pages: Iterable[FinishedPage]) -> list[Score]:
    """Return the metric scores that the judged units came with."""
    scores_of_units: dict[tuple[str, str], Mapping[str, float | None]] = {}
    for page in pages:
        for unit in page.units:
            scores_of_units[unit["id"], unit["system"]] = unit.get("scores", {})
    records = []
    for (id, system), by_metric in scores_of_units.items():
        for metric, value in by_metric.items():
            failure = "no score" if value is None else ""
            records.append(Score(id, metric, value, failure, system))
    return records


def metric_agreement(scores: Iterable[Score], votes: Sequence[Vote], aspect: str) -> dict[str, Estimate]:
    """Return the correlation of each metric with the mean judgment; empty without judgments or scores."""
    if compares_pairs(votes):
        scores = pair_scores(scores, votes)
    judged_keys = {vote.key for vote in votes}
    usable = [score for score in scores if score.key in judged_keys]
    if not usable:
        return {}
    table = meta_evaluate(
        usable, _make_rated_samples(votes, aspect), aspect=aspect, n_bootstrap=RESAMPLES, compare=False
    )
    return {row.metric: row.with_mean[COEFFICIENT] for row in table.rows}


def compares_pairs(votes: Sequence[Vote]) -> bool:
    """Return whether the votes are about pairs of replies.

    A task asks only about pairs, or only about single replies.
    """
    return bool(votes) and len(votes[0].systems) > 1


def pair_scores(scores: Iterable[Score], votes: Sequence[Vote]) -> list[Score]:
    """Return the score difference of the two replies of each pair; pairs without both scores are unscored."""
    known: dict[str, dict[tuple[str, str], float | None]] = {}
    for score in scores:
        known.setdefault(score.metric, {})[score.key] = score.value
    pairs = {vote.key: vote.systems for vote in votes}
    made = []
    for metric, values in known.items():
        for key, names in pairs.items():
            id = key[0].removesuffix(f" {' / '.join(names)}")
            first, second = values.get((id, names[0])), values.get((id, names[1]))
            if first is None or second is None:
                made.append(Score(key[0], metric, None, "a reply has no score"))
            else:
                made.append(Score(key[0], metric, first - second))
    return made


def systems(votes: Sequence[Vote]) -> list[SystemFigure]:
    """Return the figures of each system, best first."""
    values: dict[str, list[float]] = {}
    clusters: dict[str, list[str]] = {}
    for vote in votes:
        for name, value in by_system(vote):
            values.setdefault(name, []).append(value)
            clusters.setdefault(name, []).append(vote.cluster)
    strengths = _strengths(votes) if compares_pairs(votes) else {}
    figures = [
        SystemFigure(name, cluster_mean(np.array(values[name]), clusters[name]), strengths.get(name)) for name in values
    ]
    return sorted(figures, key=lambda figure: (-(figure.strength or figure.mean).value, figure.name))


def by_system(vote: Vote) -> list[tuple[str, float]]:
    """Return the rating of the system, or 1 for the winner of a pair, 0 for the loser and ½ for a tie."""
    if len(vote.systems) == 1:
        return [(vote.systems[0], vote.value)]
    return [(vote.systems[0], (1 + vote.value) / 2), (vote.systems[1], (1 - vote.value) / 2)]


def _strengths(votes: Iterable[Vote]) -> dict[str, Estimate]:
    """Return Bradley–Terry strengths, with intervals from resamples of items."""
    preferences = []
    for vote in votes:
        first, second = vote.systems
        winner = ""
        if vote.value:
            winner = first if vote.value > 0 else second
        preferences.append(Preference(vote.cluster, (first, second), winner, f"p{vote.person}"))
    (ranking,) = rank_preferences(preferences, n_bootstrap=RESAMPLES, n_permutations=0)
    note = "; ".join(ranking.notes)
    return {row.system: Estimate(row.strength, ranking.items, ci=row.ci, note=note) for row in ranking.systems}


def chatter_gap(pages: Iterable[FinishedPage], aspect: str) -> dict[str, Clustered]:
    """Return the chatters' mean rating minus the outsiders', per system; only units that both rated count."""
    outside: dict[tuple[str, str, str], list[float]] = {}
    inside: dict[tuple[str, str, str], float] = {}
    for page in pages:
        if page.correct is None:
            for vote in _page_votes(page, aspect):
                outside.setdefault((*vote.key, page.cluster), []).append(vote.value)
        for unit in page.units:
            chatter_values = _interlocutor_values(unit["record"], aspect)
            if chatter_values:
                inside[unit["id"], unit["system"], page.cluster] = sum(chatter_values) / len(chatter_values)
    gaps: dict[str, list[float]] = {}
    clusters: dict[str, list[str]] = {}
    for key, outsider_values in outside.items():
        if key in inside:
            _, system, cluster = key
            gaps.setdefault(system, []).append(inside[key] - float(np.mean(outsider_values)))
            clusters.setdefault(system, []).append(cluster)
    return {system: cluster_mean(np.array(gaps[system]), clusters[system]) for system in sorted(gaps)}


def _interlocutor_values(record: Mapping[str, Any], aspect: str) -> list[float]:
    """Return the ratings of one aspect by the people who chatted."""
    values = []
    for rating in record.get("ratings", ()):
        is_wanted = (rating.get("role"), rating.get("aspect", "overall")) == (INTERLOCUTOR, aspect)
        if is_wanted and rating.get("value") is not None:
            values.append(float(rating["value"]))
    return values
