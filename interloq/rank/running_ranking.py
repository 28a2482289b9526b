# SPDX-License-Identifier: Apache-2.0
"""The current ranking while dialogues are still being played; finished dialogues are scored in batches, each once."""

from __future__ import annotations

from collections.abc import Sequence

from interloq.agree.dialogue_scores import dialogue_scores, means
from interloq.errors import InputError, count
from interloq.metrics import metric_names
from interloq.metrics.function import remember
from interloq.metrics.metric import FittedMetric, Metric
from interloq.play.samples import samples
from interloq.records import Dialogue, Score
from interloq.registry import name_of
from interloq.score.evaluate import evaluate
from interloq.signature import signature


class Running:
    """Collects finished dialogues and ranks their targets by the mean over dialogues, like `interloq rank`."""

    def __init__(self, metric: Metric, *, lower_is_better: bool | None = None) -> None:
        self.metric, self.lower_is_better = metric, check_metric(metric, lower_is_better)
        self.dialogues = 0  # scored ones
        self._fresh: list[Dialogue] = []
        self._sums: dict[str, tuple[float, int]] = {}

    def hear(self, dialogue: Dialogue) -> None:
        """Add a dialogue that has just ended."""
        self._fresh.append(dialogue)

    def standings(self) -> list[tuple[str, float]]:
        """Return systems with a score, best first."""
        fresh, self._fresh = self._fresh, []
        if scores := score_dialogues(self.metric, fresh):
            rows = [row for row in dialogue_scores(scores, fresh) if row.value == row.value]
            self.dialogues += len(rows)
            for name, value in means(rows).items():
                n = sum(row.system == name for row in rows)
                total, size = self._sums.get(name, (0.0, 0))
                self._sums[name] = total + value * n, size + n
        sign = 1 if self.lower_is_better else -1
        standings = [(name, total / size) for name, (total, size) in self._sums.items()]
        return sorted(standings, key=lambda standing: (sign * standing[1], standing[0]))

    def line(self) -> str:
        """Return one line to show, such as `length over 40 dialogues: mine 9.21, theirs 8.65`."""
        standings = [f"{name} {value:.4g}" for name, value in self.standings()]
        if not standings:
            return ""
        return f"{name_of(self.metric)} over {count(self.dialogues, 'dialogue')}: {', '.join(standings)}"


def score_dialogues(metric: Metric, dialogues: Sequence[Dialogue]) -> list[Score]:
    """Return the scores of all utterances of the dialogues' targets; empty if they said nothing."""
    judged = list(samples(dialogues))
    if not judged:
        return []
    return list(evaluate(metric, judged, n_bootstrap=0).scores())


def check_metric(metric: Metric, lower_is_better: bool | None = None) -> bool:
    """Return whether lower scores are better.

    Metrics are refused if neither higher nor lower is better, if the score of a reply depends on the other replies, or
    if they cannot be loaded.
    """
    remember(metric)
    lower = metric_names.downwards(name_of(metric), lower_is_better)
    if isinstance(metric, FittedMetric):
        raise InputError(
            f"{name_of(metric)} is fitted to the whole set, so its scores would change between looks",
            hint="use another metric, or play everything and rank afterwards",
        )
    signature(metric)  # loads the metric's files, so that a missing model is reported before anything is played
    return lower
