# SPDX-License-Identifier: Apache-2.0
"""Refusals of a gate: input that would make its verdict doubtful."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from interloq.compare.compare_options import BESIDE, CompareOptions
from interloq.compare.version_files import Versions
from interloq.compare.versions import Version, explain_unpaired, list_unscored, match_units
from interloq.errors import InputError, RejectedWarning, count
from interloq.metrics.metric_names import downwards

OLD, NEW = "old", "new"


@contextmanager
def nothing_rejected() -> Iterator[None]:
    """Turn warnings about input that was set aside into errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RejectedWarning)
        try:
            yield
        except RejectedWarning as warning:
            raise InputError(f"not all of the input can be used: {warning}") from warning


def gated_metrics(found: Versions, options: CompareOptions) -> list[str]:
    """Metrics of the verdict; one that did not score all versions, or has no direction or signature, is refused.

    Metrics that are only shown beside a judge's preferences are not among them.
    """
    metrics = found.versions[NEW].metrics
    for side, version in found.versions.items():
        if missing := sorted(set(version.metrics) ^ set(metrics)):
            what = f"{missing[0]} did not score all versions: {side} and new differ"
            raise InputError(what, hint="score all versions with the same metrics, or choose some with -m")
    if options.judge and not options.metrics:
        metrics = [metric for metric in metrics if metric not in BESIDE]
    for metric in metrics:
        downwards(metric, options.lower_is_better, verb="gate")
        if metric not in found.judges:
            what = f"the scores of {metric} have no signature, so it is unknown whether the same judge gave them"
            raise InputError(what, hint="score both versions with `interloq score`")
    return metrics


def refuse_gaps(old: Version, new: Version, metrics: Sequence[str], *, allow_unpaired: bool = False) -> None:
    """Refuse test sets that differ, and units without a score."""
    units = match_units(old, new)
    if any(units.alone) and not allow_unpaired:
        only = " and ".join(f"{n} only in the {side} version" for side, n in zip((OLD, NEW), units.alone, strict=True))
        what = f"{count(len(units.pairs), new.unit)} in both, {only}"
        hint = "let both versions answer the same prompts, or bless a new baseline"
        why, advice = explain_unpaired(old, new, units)
        if why:
            what, hint = f"{what} ({why})" if units.pairs else why, advice
        raise InputError(f"the test sets differ: {what}", hint=f"{hint}, or add --allow-unpaired")
    for side, version in ((OLD, old), (NEW, new)):
        for metric in metrics:
            refuse_unscored(version, metric, side)


def refuse_unscored(version: Version, metric: str, side: str, *, allowed: str = "") -> None:
    """Refuse a version with units that the metric did not score, unless for the allowed reason."""
    missing = [unit for unit in list_unscored(version, metric) if not allowed or unit.reasons.get(metric) != allowed]
    if missing:
        first = missing[0]
        why = f" ({first.reasons[metric]})" if metric in first.reasons else ""
        what = f"{metric} left {count(len(missing), version.unit)} of the {side} version unscored"
        raise InputError(f"{what}, for example {first.id!r}{why}", hint="a verdict needs all scores")
