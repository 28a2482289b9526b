"""What the name or the spec of a metric says about its scores, without making it: its model may lie elsewhere."""

from __future__ import annotations

from interloq.registry import named_class


def lower_is_better(metric: str, said: bool | None = None) -> bool:
    """What is `said`, or what the class says with `lower_is_better = True`; an unknown name counts upwards."""
    return bool(getattr(named_class(metric, kind="metric"), "lower_is_better", False)) if said is None else said


def about_sets(metric: str) -> bool:
    """Whether it says something about sets of replies only, such as distinct-n: see `metric.SetMetric`."""
    return hasattr(named_class(metric, kind="metric"), "value_of_set")
