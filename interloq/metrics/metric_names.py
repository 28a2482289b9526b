# SPDX-License-Identifier: Apache-2.0
"""Properties of a metric known from its name or spec, without loading it: its model may not be on this machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from interloq.errors import InputError, SpecError
from interloq.metrics.metric import Direction
from interloq.registry import named_class
from interloq.spec_text import read_spec, split_label


def direction(metric: str, lower_is_better: bool | None = None) -> Direction:
    """Which score is better: as given, or as the metric's class defines it; "higher" for an unknown metric."""
    if lower_is_better is not None:
        return "lower" if lower_is_better else "higher"
    found: Direction = getattr(named_class(metric, kind="metric"), "direction", "higher")
    return found


def downwards(metric: str, lower_is_better: bool | None = None, *, verb: str = "rank") -> bool:
    """Whether lower scores are better; a metric without a better side, or of whole sets, is refused."""
    if why := unrankable(metric, lower_is_better):
        what, hint = why
        raise InputError(f"cannot {verb} by {metric}: {what}", hint=hint)
    return direction(metric, lower_is_better) == "lower"


def unrankable(metric: str, lower_is_better: bool | None = None) -> tuple[str, str] | None:
    """Why systems cannot be ranked by the mean of its scores, and what to do instead; None if they can."""
    if about_sets(metric):
        return (
            "it scores sets of replies, not single ones",
            "compare the systems' values that `interloq score` prints",
        )
    if direction(metric, lower_is_better) == "neither":
        return (
            "neither a high nor a low score is better",
            "use another metric, or add --higher-is-better or --lower-is-better",
        )
    return None


def is_known(metric: str) -> bool:
    """Whether a spec or a label names a registered metric."""
    return named_class(metric, kind="metric") is not None


def about_sets(metric: str) -> bool:
    """Whether it scores only sets of replies, such as distinct-n: see `metric.SetMetric`."""
    return hasattr(named_class(metric, kind="metric"), "value_of_set")


def about_dialogues(metric: str) -> bool:
    """Whether it scores whole dialogues, such as `llm_judge(of='dialogue')`; see `metric.judges_dialogues`."""
    try:
        return bool(read_spec(split_label(metric)[1]).fields.get("of") == "dialogue")
    except SpecError:
        return False


def labels(metrics: Collection[str]) -> dict[str, str]:
    """Name of each metric in tables: its label, or its whole name if it has none or shares it with another."""
    short = {metric: split_label(metric)[0] or metric for metric in metrics}
    counts = Counter(short.values())
    return {metric: label if counts[label] == 1 else metric for metric, label in short.items()}


def find(asked: str, metrics: Collection[str]) -> str:
    """The metric with this name, label or spec; `asked` itself if there is none or several."""
    found = [metric for metric in metrics if asked in split_label(metric)]
    return found[0] if asked not in metrics and len(found) == 1 else asked
