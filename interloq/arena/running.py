"""The ranking so far, while dialogues are still played: what has come is scored now and then, and each only once."""

from __future__ import annotations

from collections.abc import Sequence

from interloq.errors import InputError
from interloq.meta.dialogue_scores import dialogue_scores, means
from interloq.metrics import metric_names
from interloq.metrics.evaluate import evaluate
from interloq.metrics.metric import FittedMetric, Metric
from interloq.play.samples import samples
from interloq.records import Dialogue, Score
from interloq.registry import name_of
from interloq.signature import signature


class Running:
    """Hears finished dialogues, and says how their targets stand; a mean over dialogues, as `interloq rank` takes."""

    def __init__(self, metric: Metric, *, lower_is_better: bool | None = None) -> None:
        self.metric, self.lower_is_better = metric, check_metric(metric, lower_is_better)
        self.dialogues = 0  # scored ones
        self._fresh: list[Dialogue] = []
        self._sums: dict[str, tuple[float, int]] = {}

    def hear(self, dialogue: Dialogue) -> None:
        """Take note of a dialogue that has just ended."""
        self._fresh.append(dialogue)

    def standings(self) -> list[tuple[str, float]]:
        """Systems and their scores, the best first; those without a score are left out."""
        fresh, self._fresh = self._fresh, []
        if scores := score_dialogues(self.metric, fresh):
            rows = [row for row in dialogue_scores(scores, fresh) if row.value == row.value]
            self.dialogues += len(rows)
            for name, value in means(rows).items():
                n = sum(row.system == name for row in rows)
                total, size = self._sums.get(name, (0.0, 0))
                self._sums[name] = total + value * n, size + n
        sign = 1 if self.lower_is_better else -1
        found = [(name, total / size) for name, (total, size) in self._sums.items()]
        return sorted(found, key=lambda each: (sign * each[1], each[0]))

    def line(self) -> str:
        """`length over 40 dialogues: mine 9.21, theirs 8.65`, to be shown while the rest is played."""
        found = ", ".join(f"{name} {value:.4g}" for name, value in self.standings())
        return f"{name_of(self.metric)} over {self.dialogues:,} dialogues: {found}" if found else ""


def score_dialogues(metric: Metric, dialogues: Sequence[Dialogue]) -> list[Score]:
    """Of every utterance of the dialogues' targets; none where they said nothing."""
    judged = list(samples(dialogues))
    if not judged:
        return []
    return list(evaluate(metric, judged, n_bootstrap=0).scores())


def check_metric(metric: Metric, lower_is_better: bool | None = None) -> bool:
    """Whether its lowest score is the best.

    Refuses a metric that nothing can be ranked by, one whose score of a reply may change with what else is scored, and
    one that cannot be had.
    """
    lower = metric_names.downwards(name_of(metric), lower_is_better)
    if isinstance(metric, FittedMetric):
        raise InputError(
            f"{name_of(metric)} takes constants from the whole set, so its scores would change from look to look",
            hint="take another metric, or play everything and rank with it afterwards",
        )
    signature(metric)  # reads what the metric rests on: a missing model is told before anybody talks
    return lower
