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

from interloq.agree.dialogue_scores import DialogueScore
from interloq.records import Key
from interloq.web.admin.monitor import (
    Enough,
    Vote,
    compares_pairs,
    complete,
    look,
    pages_of_key,
    pair_scores,
    scores,
    votes,
)
from interloq.web.studies.priority import rising
from interloq.web.work.collected import FinishedPage

Values = Mapping[str, Mapping[Key, float]]  # by metric; larger is better


def metrics_enough(
    pages: Sequence[FinishedPage], aspect: str, clusters: Mapping[str, int], per_item: int
) -> Enough | None:
    """Look at the order of the metrics; None without two metrics for which higher or lower is better."""
    judged = votes(pages, aspect)
    values = _metric_values(pages, judged)
    if len(values) < 2:
        return None
    by_cluster: dict[str, list[Vote]] = {}
    for vote in judged:
        by_cluster.setdefault(vote.cluster, []).append(vote)
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
    rising_values = {metric: rising(metric, values) for metric, values in by_metric.items()}
    return {metric: values for metric, values in rising_values.items() if values}


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
