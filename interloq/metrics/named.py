"""What the name or the spec of a metric says about its scores, without making it: its model may lie elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from interloq.registry import named_class
from interloq.spec_text import split_label


def lower_is_better(metric: str, said: bool | None = None) -> bool:
    """What is `said`, or what the class says with `lower_is_better = True`; an unknown name counts upwards."""
    return bool(getattr(named_class(metric, kind="metric"), "lower_is_better", False)) if said is None else said


def about_sets(metric: str) -> bool:
    """Whether it says something about sets of replies only, such as distinct-n: see `metric.SetMetric`."""
    return hasattr(named_class(metric, kind="metric"), "value_of_set")


def labels(metrics: Collection[str]) -> dict[str, str]:
    """What tables call each metric: its label, or its whole name where it has none or shares it with another."""
    short = {metric: split_label(metric)[0] or metric for metric in metrics}
    counts = Counter(short.values())
    return {metric: label if counts[label] == 1 else metric for metric, label in short.items()}


def find(asked: str, metrics: Collection[str]) -> str:
    """The metric meant by its name, its label or its spec; `asked` itself where none or several are."""
    found = [metric for metric in metrics if asked in split_label(metric)]
    return found[0] if asked not in metrics and len(found) == 1 else asked
