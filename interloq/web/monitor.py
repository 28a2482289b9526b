# SPDX-License-Identifier: Apache-2.0
"""Figures of a running task from the pages that people finished: agreement, systems, metrics, and whether it is enough.

Pairs of replies are treated as samples of their own: a preference is 1 for the first system, −1 for the second, 0 for a
tie, and a metric's score of a pair is the difference of its scores. The ranking is watched by the rule of
`arena/settle.py`: a round is an answer key (a context or an occasion) that everybody finished, so looking at the page
often does not separate systems that are equal.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from interloq.arena.settle import Gap, Rule, plan_looks, watch
from interloq.meta.agree import agreement as human_agreement
from interloq.meta.dialogue_scores import DialogueScore
from interloq.meta.evaluate import meta_evaluate
from interloq.meta.human_preferences import rank_preferences
from interloq.meta.judgments import Judgments, collect
from interloq.meta.levels import level
from interloq.meta.table import Estimate, HumanRow
from interloq.records import INTERLOCUTOR, Preference, Rating, Sample, Score
from interloq.statistics.clustered import Clustered, cluster_mean
from interloq.web.collected import Page
from interloq.web.questions import Task

RESAMPLES = 200  # the page is computed again whenever answers come in
COEFFICIENT = "spearman"
RULE = Rule(lower_is_better=False)
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


@dataclass(frozen=True)
class Enough:
    """Whether the ranking is settled, and how many more items would separate the systems that are not.

    An item is an answer key with all its pages or, if every page is about one system, one answer key of each system.
    """

    systems: int
    complete: int  # items that everybody finished
    items: int
    looked: int  # complete items at the last planned look; 0: none yet
    first_look: int
    settled: bool
    order: tuple[str, ...] = ()
    open_gaps: tuple[Gap, ...] = ()
    wanted: int | None = None  # items in all, if the true differences are those seen; None: cannot be estimated
    pages: float = 1.0  # of one item, by all annotators; a mean


def votes(pages: Iterable[Page], aspect: str) -> list[Vote]:
    """Judgments of one aspect, without attention checks and "not applicable"."""
    return [vote for page in pages if page.correct is None for vote in _votes(page, aspect)]


def _votes(page: Page, aspect: str) -> Iterator[Vote]:
    for one in page.answers:
        if one.aspect != aspect:
            continue
        if one.choice is not None:
            names = tuple(str(unit["system"]) for unit in page.units)
            id = f"{page.units[0]['id']} {' / '.join(names)}"
            yield Vote(page.person, page.cluster, (id, ""), names, _CODES[one.choice])
        elif one.value is not None and one.unit < len(page.units):  # chats have no units
            unit = page.units[one.unit]
            yield Vote(page.person, page.cluster, (unit["id"], unit["system"]), (unit["system"],), one.value)


# ---- agreement -------------------------------------------------------------------------------------------------------


def judgments(found: Sequence[Vote], aspect: str) -> Judgments | None:
    """Votes as judgments for meta-evaluation; None if there are none."""
    return collect(_samples(found, aspect), aspect=aspect) if found else None


def _samples(found: Iterable[Vote], aspect: str) -> list[Sample]:
    by_key: dict[tuple[str, str], list[Vote]] = {}
    for vote in found:
        by_key.setdefault(vote.key, []).append(vote)
    return [
        Sample(key[0], [some[0].cluster], "…", (), key[1], [Rating(v.value, f"p{v.person}", aspect) for v in some])
        for key, some in by_key.items()
    ]


def agreement(found: Sequence[Vote], aspect: str) -> HumanRow | None:
    """α and pairwise coefficients of the annotators; None if nothing was judged twice."""
    judged = judgments(found, aspect)
    if judged is None:
        return None
    return human_agreement(judged, level("none", judged), n_bootstrap=RESAMPLES, seed=0)


def scores(pages: Iterable[Page]) -> list[Score]:
    """Scores of metrics that the judged units came with."""
    units = {(unit["id"], unit["system"]): unit.get("scores", {}) for page in pages for unit in page.units}
    return [
        Score(id, metric, value, "" if value is not None else "no score", system)
        for (id, system), found in units.items()
        for metric, value in found.items()
    ]


def metric_agreement(scores: Iterable[Score], found: Sequence[Vote], aspect: str) -> dict[str, Estimate]:
    """Correlation of each metric with the mean judgment so far; empty without judgments or scores of them."""
    usable = pair_scores(scores, found) if found and len(found[0].systems) > 1 else list(scores)
    keys = {vote.key for vote in found}
    usable = [score for score in usable if score.key in keys]
    if not usable:
        return {}
    table = meta_evaluate(usable, _samples(found, aspect), aspect=aspect, n_bootstrap=RESAMPLES, compare=False)
    return {row.metric: row.with_mean[COEFFICIENT] for row in table.rows}


def pair_scores(scores: Iterable[Score], found: Sequence[Vote]) -> list[Score]:
    """Differences of the scores of the two replies of each pair; pairs without both scores are unscored."""
    known: dict[str, dict[tuple[str, str], float | None]] = {}
    for score in scores:
        known.setdefault(score.metric, {})[score.key] = score.value
    pairs = {vote.key: vote.systems for vote in found}
    made = []
    for metric, values in known.items():
        for key, names in pairs.items():
            id = key[0].removesuffix(f" {' / '.join(names)}")
            first, second = (values.get((id, name)) for name in names)
            gap = None if first is None or second is None else first - second
            made.append(Score(key[0], metric, gap, "" if gap is not None else "a reply has no score"))
    return made


# ---- systems ---------------------------------------------------------------------------------------------------------


def systems(found: Sequence[Vote]) -> list[SystemFigure]:
    """Figures of each system, the best first."""
    values: dict[str, list[tuple[float, str]]] = {}
    for vote in found:
        for name, value in _by_system(vote):
            values.setdefault(name, []).append((value, vote.cluster))
    strength = _strengths(found) if found and len(found[0].systems) > 1 else {}
    figures = [
        SystemFigure(name, cluster_mean(np.array([v for v, _ in some]), [c for _, c in some]), strength.get(name))
        for name, some in values.items()
    ]
    return sorted(figures, key=lambda one: (-(one.strength.value if one.strength else one.mean.value), one.name))


def _by_system(vote: Vote) -> list[tuple[str, float]]:
    """The rating of the system, or 1 for the winner of a pair, 0 for the loser and ½ for a tie."""
    if len(vote.systems) == 1:
        return [(vote.systems[0], vote.value)]
    return [(vote.systems[0], (1 + vote.value) / 2), (vote.systems[1], (1 - vote.value) / 2)]


def _strengths(found: Iterable[Vote]) -> dict[str, Estimate]:
    """Bradley–Terry strengths, with intervals from resamples of items."""
    given = (Preference(vote.cluster, _pair(vote), _winner(vote), f"p{vote.person}") for vote in found)
    (ranking,) = rank_preferences(given, n_bootstrap=RESAMPLES, n_permutations=0)
    note = "; ".join(ranking.notes)
    return {one.system: Estimate(one.strength, ranking.items, ci=one.ci, note=note) for one in ranking.systems}


def _pair(vote: Vote) -> tuple[str, str]:
    first, second = vote.systems
    return first, second


def _winner(vote: Vote) -> str:
    return "" if not vote.value else vote.systems[0] if vote.value > 0 else vote.systems[1]


def chatter_gap(pages: Iterable[Page], aspect: str) -> dict[str, Clustered]:
    """Mean rating by the people in the dialogues minus that by outsiders, per system; only units rated by both."""
    outside: dict[tuple[str, str, str], list[float]] = {}
    inside: dict[tuple[str, str, str], float] = {}
    for page in pages:
        for vote in _votes(page, aspect) if page.correct is None else ():
            outside.setdefault((*vote.key, page.cluster), []).append(vote.value)
        for unit in page.units:
            own = [
                float(one["value"])
                for one in unit["record"].get("ratings", ())
                if (one.get("role"), one.get("aspect", "overall")) == (INTERLOCUTOR, aspect)
                and one.get("value") is not None
            ]
            if own:
                inside[unit["id"], unit["system"], page.cluster] = sum(own) / len(own)
    rows = [(key[1], inside[key] - float(np.mean(some)), key[2]) for key, some in outside.items() if key in inside]
    return {
        name: cluster_mean(np.array([gap for s, gap, _ in rows if s == name]), [c for s, _, c in rows if s == name])
        for name in sorted({name for name, _, _ in rows})
    }


# ---- enough ----------------------------------------------------------------------------------------------------------


def wanted(settings: Task, pages: Iterable[Page], clusters: Mapping[str, int]) -> tuple[Mapping[str, int], int]:
    """Items, and the annotators of each. Items of a chat are the finished conversations and those still wanted."""
    if settings.kind != "chat":
        return clusters, settings.per_item
    done = {page.cluster: 1 for page in pages}
    return done | {f"open {i}": 1 for i in range(sum(clusters.values()) * settings.per_item - len(done))}, 1


def enough(pages: Sequence[Page], aspect: str, clusters: Mapping[str, int], per_item: int) -> Enough:
    """Look at the ranking over the items that everybody finished; `clusters` are the pages of each answer key."""
    done = complete(pages, clusters, per_item)
    by_cluster: dict[str, list[Vote]] = {}
    for vote in votes(pages, aspect):
        by_cluster.setdefault(vote.cluster, []).append(vote)
    names = {name for some in by_cluster.values() for vote in some for name in vote.systems}
    rounds = [_scores(name, by_cluster[name]) for name in done if name in by_cluster]
    shared = any(len({name for vote in some for name in vote.systems}) > 1 for some in by_cluster.values())
    if not shared:
        rounds = _alongside(rounds)
    alongside = 1 if shared or not names else len(names)
    return look(rounds, len(names), len(clusters) // alongside, pages_of_key(clusters, per_item) * alongside)


def pages_of_key(clusters: Mapping[str, int], per_item: int) -> float:
    """Return the mean number of pages of an answer key, by all annotators."""
    return per_item * sum(clusters.values()) / len(clusters) if clusters else 0.0


def look(rounds: Sequence[Sequence[DialogueScore]], systems: int, budget: int, pages: float) -> Enough:
    """Look at the order of systems, or of anything else that has a score in each round of `pages` pages."""
    if systems < 2 or budget < 2:
        return Enough(systems, len(rounds), budget, 0, 0, settled=False)
    planned, _ = plan_looks(budget, systems, RULE)
    found = watch(rounds, RULE, budget=budget, systems=systems)
    looked = found.looks[-1].rounds if found.looks else 0
    return Enough(
        systems, len(rounds), budget, looked, planned[0], found.settled, found.order, found.not_apart,
        _wanted(found.not_apart), pages,
    )  # fmt: skip


def complete(pages: Iterable[Page], clusters: Mapping[str, int], per_item: int) -> list[str]:
    """Answer keys with all the pages they should get, in the order of the last one."""
    count: Counter[str] = Counter()
    done = []
    for page in sorted(pages, key=lambda page: page.time):
        count[page.cluster] += 1
        if page.correct is None and count[page.cluster] == clusters.get(page.cluster, 0) * per_item:
            done.append(page.cluster)
    return done


def _scores(cluster: str, some: Sequence[Vote]) -> list[DialogueScore]:
    values: dict[str, list[float]] = {}
    for vote in some:
        for name, value in _by_system(vote):
            values.setdefault(name, []).append(value)
    return [DialogueScore(cluster, name, "", sum(v) / len(v), cluster) for name, v in sorted(values.items())]


def _alongside(rounds: Iterable[Sequence[DialogueScore]]) -> list[list[DialogueScore]]:
    """Rounds for items with one system each: the n-th item of every system is in round n."""
    by_system: dict[str, list[DialogueScore]] = {}
    for row in (row for some in rounds for row in some):
        by_system.setdefault(row.system, []).append(row)
    return [list(some) for some in zip(*by_system.values(), strict=False)] if len(by_system) > 1 else []


def _wanted(gaps: Sequence[Gap]) -> int | None:
    """Items at which the intervals would just exclude 0: their width falls with the root of the number of items."""
    needed = []
    for gap in gaps:
        half = (gap.interval[1] - gap.interval[0]) / 2
        if not (gap.difference and math.isfinite(half)):
            return None
        needed.append(max(gap.rounds + 1, math.ceil(gap.rounds * (half / gap.difference) ** 2)))
    return max(needed, default=None)
