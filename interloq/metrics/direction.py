"""Which way a metric counts: higher is better, unless its class says `lower_is_better = True`."""

from __future__ import annotations

from interloq.registry import named_class


def lower_is_better(metric: str, said: bool | None = None) -> bool:
    """What is `said`, or what the class behind the name or spec says; an unknown name counts upwards."""
    return bool(getattr(named_class(metric, kind="metric"), "lower_is_better", False)) if said is None else said
