# SPDX-License-Identifier: Apache-2.0
"""Whether it is settled which metric agrees best with people, by the rule that also settles the ranking of systems.

A metric's score of an item (an answer key that everybody finished) is its accuracy: the share of pairs of replies that
it orders as people do, where an equal score counts half. Pairs that people judge equal, and pairs without a score by
some metric, are not counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from statistics import fmean

import numpy as np

from interloq.meta.dialogue_scores import DialogueScore
from interloq.records import Key
from interloq.web.collected import Page
from interloq.web.monitor import Enough, Vote, complete, look, pages_of_key, pair_scores, scores, votes
from interloq.web.priority import rising

Values = Mapping[str, Mapping[Key, float]]  # by metric; larger is better


def metrics_enough(pages: Sequence[Page], aspect: str, clusters: Mapping[str, int], per_item: int) -> Enough | None:
    """Look at the order of the metrics; None without two metrics for which higher or lower is better."""
    found = votes(pages, aspect)
    values = _values(pages, found)
    if len(values) < 2:
        return None
    by_cluster: dict[str, list[Vote]] = {}
    for vote in found:
        by_cluster.setdefault(vote.cluster, []).append(vote)
    done = (name for name in complete(pages, clusters, per_item) if name in by_cluster)
    rounds = [rows for name in done if (rows := _accuracies(name, by_cluster[name], values))]
    return look(rounds, len(values), len(clusters), pages_of_key(clusters, per_item))


def _values(pages: Sequence[Page], found: Sequence[Vote]) -> dict[str, dict[Key, float]]:
    """Scores of units, or of pairs if two were compared."""
    known = scores(pages)
    known = pair_scores(known, found) if found and len(found[0].systems) > 1 else known
    by_metric: dict[str, dict[Key, float | None]] = {}
    for score in known:
        by_metric.setdefault(score.metric, {})[score.key] = score.value
    return {metric: up for metric, values in by_metric.items() if (up := rising(metric, values))}


def _accuracies(cluster: str, some: Sequence[Vote], values: Values) -> list[DialogueScore]:
    """Accuracy of each metric on one item; empty if no pair can be counted."""
    right = [0.5 + 0.5 * np.sign(people * gaps) for people, gaps in _pairs(some, values) if people]
    if not right:
        return []
    means = np.mean(right, axis=0).tolist()
    return [DialogueScore(cluster, metric, "", mean, cluster) for metric, mean in zip(values, means, strict=True)]


def _pairs(some: Sequence[Vote], values: Values) -> Iterator[tuple[float, np.ndarray]]:
    """Difference of the mean judgments of two replies, and that of each metric's scores."""
    judged: dict[Key, list[float]] = {}
    for vote in some:
        judged.setdefault(vote.key, []).append(vote.value)
    means = {key: fmean(found) for key, found in judged.items() if all(key in own for own in values.values())}
    if len(some[0].systems) > 1:  # judgments and scores are of pairs
        for key, mean in means.items():
            yield mean, np.array([own[key] for own in values.values()])
        return
    for first, second in combinations(sorted(means), 2):
        yield means[first] - means[second], np.array([own[first] - own[second] for own in values.values()])
