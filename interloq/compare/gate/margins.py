# SPDX-License-Identifier: Apache-2.0
"""Margins of a gate: one number for all metrics, or one per metric, since metrics have different scales."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from interloq.errors import InputError
from interloq.metrics.metric_names import find

OTHERS = ""  # key of the margin for all metrics that have none of their own
Margins = float | Mapping[str, float]  # a mapping has names, labels or specs of metrics as keys, or OTHERS


def read_margins(texts: Sequence[str]) -> dict[str, float]:
    """`["0.02", "chrf=0.05"]` as {"": 0.02, "chrf": 0.05}."""
    found: dict[str, float] = {}
    for text in texts:
        metric, _, written = text.rpartition("=")  # a spec may contain more of these
        if metric in found:
            raise InputError(f"two margins for {metric or 'all metrics'}", hint="give one")
        try:
            found[metric] = float(written)
        except ValueError:
            raise InputError(f"the margin {text!r} is not a number", hint="write X, or METRIC=X") from None
    return found


def metric_margins(given: Margins, metrics: Sequence[str]) -> dict[str, float]:
    """The margin for each gated metric; a missing one, and one for a metric that is not gated, are refused."""
    found: dict[str, float] = {}
    for name, margin in (given if isinstance(given, Mapping) else {OTHERS: given}).items():
        metric = name and find(name, metrics)
        _check(metric, margin)
        if metric in found:
            raise InputError(f"two margins for {metric}", hint="give one")
        found[metric] = margin
    if unknown := [metric for metric in found if metric not in (OTHERS, *metrics)]:
        raise InputError(f"a margin for {unknown[0]!r}, which is not gated", hint=f"gated: {', '.join(metrics)}")
    if missing := [metric for metric in metrics if metric not in found and OTHERS not in found]:
        raise InputError(f"no margin for {missing[0]}", hint=f"add --margin {missing[0]}=X, or --margin X for the rest")
    return {metric: found[metric if metric in found else OTHERS] for metric in metrics}


def _check(metric: str, margin: float) -> None:
    if not (math.isfinite(margin) and margin > 0):
        what = f"the margin{f' for {metric}' if metric else ''} must be a positive number, got {margin}"
        raise InputError(what, hint="give the largest loss that is acceptable")
