# SPDX-License-Identifier: Apache-2.0
"""When collection stops: whether the order of systems or metrics is settled, and closing a task that asks for that.

The ranking is watched by the rule of `rank/settle.py`: a round is an answer key (a context or an occasion) that
everybody finished, so looking at the page often does not separate systems that are equal.

The same rule settles which metric agrees best with people. A metric's score of an item (an answer key that everybody
finished) is its accuracy: the share of pairs of replies that it orders as people do, where an equal score counts half.
Pairs that people judge equal, and pairs without a score by some metric, are not counted.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from statistics import fmean

import numpy as np
from sqlalchemy import Connection, func, select

from interloq.agree.dialogue_scores import DialogueScore
from interloq.rank.settle import Rule, SystemGap, plan_looks, watch
from interloq.records import Key
from interloq.web.admin import collected
from interloq.web.admin.collected import FinishedPage
from interloq.web.admin.monitor import Vote, by_system, compares_pairs, pair_scores, scores, votes
from interloq.web.database import Database
from interloq.web.schema import assignment, item
from interloq.web.studies.items import turn_upwards
from interloq.web.studies.questions import StudyTask
from interloq.web.studies.tasks import Stored, close_task, get_task

Values = Mapping[str, Mapping[Key, float]]  # by metric; larger is better
RULE = Rule(lower_is_better=False)


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
    open_gaps: tuple[SystemGap, ...] = ()
    wanted: int | None = None  # items in all, if the true differences are those seen; None: cannot be estimated
    pages: float = 1.0  # of one item, by all annotators; a mean


def is_item_complete(database: Database, number: int, assignment_id: int) -> bool:
    """Return whether a page completed an item, so that the ranking of an open task may be settled now."""
    with database.reading() as connection:
        stored = get_task(connection, number)
        return bool(stored.settings.questions) and not stored.closed and _is_complete(connection, stored, assignment_id)


def close_if_settled(database: Database, number: int) -> bool:
    """Look at the ranking; return whether this closed the task."""
    with database.reading() as connection:
        stored = get_task(connection, number)
        if stored.closed:
            return False
        pages, clusters = collected.pages(connection, number), collected.clusters(connection, number)
    look_at = look_at_metrics if stored.settings.settled_by == "metrics" else look_at_systems
    ranking = look_at(pages, stored.settings.questions[0].aspect, *count_wanted_items(stored.settings, pages, clusters))
    if ranking is None or not ranking.settled:
        return False
    with database.writing() as connection:
        close_task(connection, number)
    return True


def _is_complete(connection: Connection, stored: Stored, assignment_id: int) -> bool:
    """Return whether all pages with the answer key of this one are finished; before that, the ranking cannot change."""
    if stored.settings.kind == "chat":  # each conversation is complete
        return True
    key = select(assignment.c.answer_key).where(assignment.c.id == assignment_id).scalar_subquery()
    same = (assignment.c.task_id == stored.id) & (assignment.c.answer_key == key) & assignment.c.finished.is_not(None)
    items = (item.c.task_id == stored.id) & (item.c.answer_key == key) & item.c.correct.is_(None)
    done = connection.execute(select(func.count()).select_from(assignment).where(same)).scalar_one()
    pages = connection.execute(select(func.count()).select_from(item).where(items)).scalar_one()
    return bool(pages) and done >= pages * stored.settings.per_item


def count_wanted_items(
    settings: StudyTask, pages: Iterable[FinishedPage], clusters: Mapping[str, int]
) -> tuple[Mapping[str, int], int]:
    """Return the items and the annotators of each.

    A chat's items are its finished conversations and the ones still wanted.
    """
    if settings.kind != "chat":
        return clusters, settings.per_item
    done = {page.cluster: 1 for page in pages}
    return done | {f"open {i}": 1 for i in range(sum(clusters.values()) * settings.per_item - len(done))}, 1


def look_at_systems(pages: Sequence[FinishedPage], aspect: str, clusters: Mapping[str, int], per_item: int) -> Enough:
    """Look at the ranking over the items that everybody finished; `clusters` are the pages of each answer key."""
    done = complete(pages, clusters, per_item)
    by_cluster = _group_by_cluster(votes(pages, aspect))
    names: set[str] = set()
    shared = False  # whether an item is about several systems
    for cluster_votes in by_cluster.values():
        cluster_systems: set[str] = set()
        cluster_systems.update(*(vote.systems for vote in cluster_votes))
        names |= cluster_systems
        shared = shared or len(cluster_systems) > 1
    rounds = [_scores(name, by_cluster[name]) for name in done if name in by_cluster]
    alongside = 1
    if not shared:
        rounds = _alongside(rounds)
        alongside = max(1, len(names))
    return look(rounds, len(names), len(clusters) // alongside, pages_of_key(clusters, per_item) * alongside)


def _group_by_cluster(judged: Iterable[Vote]) -> dict[str, list[Vote]]:
    by_cluster: dict[str, list[Vote]] = {}
    for vote in judged:
        by_cluster.setdefault(vote.cluster, []).append(vote)
    return by_cluster


def pages_of_key(clusters: Mapping[str, int], per_item: int) -> float:
    """Return the mean number of pages of an answer key, by all annotators."""
    if not clusters:
        return 0.0
    return per_item * sum(clusters.values()) / len(clusters)


def look(rounds: Sequence[Sequence[DialogueScore]], systems: int, budget: int, pages: float) -> Enough:
    """Look at the order of systems, or of anything else that has a score in each round of `pages` pages."""
    if systems < 2 or budget < 2:
        return Enough(systems, len(rounds), budget, 0, 0, settled=False)
    planned, _ = plan_looks(budget, systems, RULE)
    watched = watch(rounds, RULE, budget=budget, systems=systems)
    looked = watched.looks[-1].rounds if watched.looks else 0
    return Enough(
        systems, len(rounds), budget, looked, planned[0], watched.settled, watched.order, watched.not_apart,
        _estimate_wanted_items(watched.not_apart), pages,
    )  # fmt: skip


def complete(pages: Iterable[FinishedPage], clusters: Mapping[str, int], per_item: int) -> list[str]:
    """Return the answer keys with all the pages they should get, in the order of their last pages."""
    count: Counter[str] = Counter()
    done = []
    for page in sorted(pages, key=lambda page: page.time):
        count[page.cluster] += 1
        if page.correct is None and count[page.cluster] == clusters.get(page.cluster, 0) * per_item:
            done.append(page.cluster)
    return done


def _scores(cluster: str, votes: Sequence[Vote]) -> list[DialogueScore]:
    """Return the mean judgment of each system on one item."""
    values: dict[str, list[float]] = {}
    for vote in votes:
        for name, value in by_system(vote):
            values.setdefault(name, []).append(value)
    return [DialogueScore(cluster, name, "", sum(v) / len(v), cluster) for name, v in sorted(values.items())]


def _alongside(rounds: Iterable[Sequence[DialogueScore]]) -> list[list[DialogueScore]]:
    """Make rounds of items with one system each: the n-th item of every system is in round n."""
    by_system: dict[str, list[DialogueScore]] = {}
    for row in chain.from_iterable(rounds):
        by_system.setdefault(row.system, []).append(row)
    if len(by_system) < 2:
        return []
    return [list(rows) for rows in zip(*by_system.values(), strict=False)]


def _estimate_wanted_items(gaps: Sequence[SystemGap]) -> int | None:
    """Return the items at which intervals would just exclude 0: their width falls with the root of the number."""
    needed = []
    for gap in gaps:
        half = (gap.interval[1] - gap.interval[0]) / 2
        if not (gap.difference and math.isfinite(half)):
            return None
        needed.append(max(gap.rounds + 1, math.ceil(gap.rounds * (half / gap.difference) ** 2)))
    return max(needed, default=None)


def look_at_metrics(
    pages: Sequence[FinishedPage], aspect: str, clusters: Mapping[str, int], per_item: int
) -> Enough | None:
    """Look at the order of the metrics; None without two metrics for which higher or lower is better."""
    judged = votes(pages, aspect)
    values = _metric_values(pages, judged)
    if len(values) < 2:
        return None
    by_cluster = _group_by_cluster(judged)
    rounds = []
    for name in complete(pages, clusters, per_item):
        accuracies = _accuracies(name, by_cluster.get(name, []), values)
        if accuracies:
            rounds.append(accuracies)
    return look(rounds, len(values), len(clusters), pages_of_key(clusters, per_item))


def _metric_values(pages: Sequence[FinishedPage], judged: Sequence[Vote]) -> dict[str, dict[Key, float]]:
    """Return the scores of units, or of pairs if two were compared."""
    known = scores(pages)
    if compares_pairs(judged):
        known = pair_scores(known, judged)
    by_metric: dict[str, dict[Key, float | None]] = {}
    for score in known:
        by_metric.setdefault(score.metric, {})[score.key] = score.value
    upward_values = {metric: turn_upwards(metric, values) for metric, values in by_metric.items()}
    return {metric: values for metric, values in upward_values.items() if values}


def _accuracies(cluster: str, judged: Sequence[Vote], values: Values) -> list[DialogueScore]:
    """Return the accuracy of each metric on one item; empty if no pair can be counted."""
    right = [0.5 + 0.5 * np.sign(people * gaps) for people, gaps in _pairs(judged, values) if people]
    if not right:
        return []
    means = np.mean(right, axis=0).tolist()
    return [DialogueScore(cluster, metric, "", mean, cluster) for metric, mean in zip(values, means, strict=True)]


def _pairs(judged: Sequence[Vote], values: Values) -> Iterator[tuple[float, np.ndarray]]:
    """Yield the difference of the mean judgments of two replies, and the difference of each metric's scores."""
    judgments: dict[Key, list[float]] = {}
    for vote in judged:
        judgments.setdefault(vote.key, []).append(vote.value)
    means, scored = {}, {}
    for key, key_values in judgments.items():
        if all(key in by_key for by_key in values.values()):
            means[key] = fmean(key_values)
            scored[key] = np.array([by_key[key] for by_key in values.values()])
    if compares_pairs(judged):  # judgments and scores are of pairs
        for key, mean in means.items():
            yield mean, scored[key]
        return
    for first, second in combinations(sorted(means), 2):
        yield means[first] - means[second], scored[first] - scored[second]
