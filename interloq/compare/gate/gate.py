# SPDX-License-Identifier: Apache-2.0
"""Decide whether a new version may replace an old one: pass, regression or undecided.

With a margin m > 0, the largest acceptable loss, and the 95 % interval [low, high] of the gain (new − old; old − new if
lower is better), a metric gives

    pass           low > −m:   the new version is not worse by more than the margin
    regression     high < −m, also after adjusting by Holm's method, and `compare` says `worse` of the same scores
    undecided      otherwise:  the data do not decide

A version passes if all metrics pass, and is a regression if any metric shows one. Passes need no adjustment, because
all metrics must pass. Metrics are one family of tests, slices another, as in `compare`. Degenerate and selected data
are undecided whatever the interval: equal replies, too few units, labels that were chosen by their scores; and no
metric passes that gives all units the same score, or all pairs the same difference.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from interloq.agree.table import UnitKind
from interloq.compare.compare_options import Slices
from interloq.compare.comparison import NOT_SHOWN, Change, Comparison
from interloq.compare.gate.gate_gains import ALPHA, Gain, Scale, rating_gain, score_gain
from interloq.compare.gate.margins import Margins, metric_margins
from interloq.compare.repeats import Noise
from interloq.compare.slices import LEAST
from interloq.errors import InputError, count
from interloq.statistics.clustered import Clustered
from interloq.statistics.estimate import Estimate
from interloq.statistics.significance import adjusted

Outcome = Literal["pass", "regression", "undecided"]
CONSTANT = "this metric cannot tell the versions apart"
EXIT_CODES: Mapping[Outcome, int] = {"pass": 0, "regression": 3, "undecided": 4}


@dataclass(frozen=True, slots=True)
class Verdict:
    """Outcome by one metric, over all units or those of one slice. Numbers are in units of the margin."""

    metric: str
    outcome: Outcome
    gain: float  # positive if the new version is better
    ci: tuple[float, float]
    margin: float
    scale: Scale
    n: int  # independent units, or labels
    counted: str  # what n counts: sample, dialogue, cluster of these, or label
    needed: int | None  # how many would decide; None if decided, or if no number would
    slice: str = ""  # "topic: food"; empty for all units
    p: float = math.nan  # one-sided, of a loss above the margin, adjusted for all metrics and slices
    needed_of: str = ""  # what `needed` counts: as `counted`, or as `rated`
    slope: Estimate | None = None  # score per unit of rating, if it converted the margin
    constant: float | None = None  # the score, if all units of both versions have the same
    rated: str = "rated sample"  # or rated dialogue: what people rated for the slope
    compared: str = ""  # verdict of the comparison on the same scores
    doubt: str = ""  # why these data cannot decide, whatever the interval

    @property
    def name(self) -> str:
        """Metric and slice."""
        return f"{self.metric}, {self.slice}" if self.slice else self.metric

    @property
    def reason(self) -> str:
        """One line for people."""
        return f"{self._same}gain {self._shown}: {self._why}"

    @property
    def _same(self) -> str:
        return (
            "" if self.constant is None else f"every {self.counted} of both versions has the score {self.constant:g}; "
        )

    @property
    def _shown(self) -> str:
        low, high = self.ci
        interval = "" if math.isnan(low) else f" [{low:.4g}, {high:.4g}]"
        shown = f"{self.gain:+.4g}{interval} in {self.scale}s, margin {self.margin:g}"
        if self.slope is None or self.slope.ci is None:
            return shown
        low, high = self.slope.ci
        rate = f"1 in ratings is {self.slope.value:.3g} [{low:.3g}, {high:.3g}] in scores"
        return f"{shown} ({rate}, by {count(self.slope.n, self.rated)})"

    @property
    def _why(self) -> str:
        if self.outcome == "pass":
            return f"{'worse, but ' if self.compared == 'worse' else ''}not worse by more than the margin"
        if self.outcome == "regression":
            return "worse by more than the margin"
        if self.doubt or self.constant is not None:  # files of earlier versions have no doubts
            return self.doubt or CONSTANT
        alone = ""
        if self.ci[1] < -self.margin and self.p >= ALPHA:
            alone = f"worse by more than the margin, but not after adjustment for all tests (p = {self.p:.2g}); "
        elif self.ci[1] < -self.margin:
            alone = "worse by more than the margin, but the permutation test does not show that it is worse; "
        if self.needed is None:
            kinds = f"{self.counted}s or {self.rated}s alone" if self.slope else f"{self.counted}s"
            return f"{alone}so close to the margin that more {kinds} will hardly decide"
        known = self.slope.n if self.slope and self.needed_of == self.rated else self.n
        more = count(self.needed - known, f"more {self.needed_of}")
        where = " in this slice" if self.slice and self.needed_of != self.rated else ""
        return f"{alone}about {more}{where} would decide with a probability of 80 %"


@dataclass(frozen=True, slots=True)
class Gate:
    """Verdicts of all metrics, and the comparison they are based on."""

    outcome: Outcome
    verdicts: tuple[Verdict, ...]  # of metrics first, then of their slices if these are gated
    comparison: Comparison
    noise: tuple[Noise, ...] = ()  # with repeats: where the variation of scores comes from
    slices: Slices = "shown"  # which verdicts of slices count

    @property
    def exit_code(self) -> int:
        """0 pass, 3 regression, 4 undecided."""
        return EXIT_CODES[self.outcome]

    def counts(self, verdict: Verdict) -> bool:
        """Whether the gate can only pass if this verdict is a pass."""
        return not verdict.slice or self.slices == "pass"

    def facts(self) -> dict[str, Any]:
        """All values, as in JSON."""
        verdicts = [{**asdict(verdict), "reason": verdict.reason} for verdict in self.verdicts]
        noise = [{**asdict(noise), "advice": noise.advice} for noise in self.noise]
        found = {"outcome": self.outcome, "exit_code": self.exit_code, "slices": self.slices, "verdicts": verdicts}
        return {**found, "noise": noise, "comparison": self.comparison.facts()}


def gate(
    comparison: Comparison,
    margin: Margins,
    *,
    metrics: Sequence[str] | None = None,
    slopes: Mapping[str, Clustered] | None = None,
    rated: UnitKind = "sample",
    by_ratings: bool = False,
    noise: Sequence[Noise] = (),
    slices: Slices = "shown",
    allow_constant: bool = False,
    doubts: Mapping[str, str] | None = None,
) -> Gate:
    """Verdict on a comparison by these metrics (default: all).

    The margin, one for all or a mapping from metrics, is in units of each metric; with `slopes` (metric → score per
    unit of rating, over `rated` samples or dialogues) or `by_ratings` (the mean human rating, estimated from the
    ratings of both versions and each metric's scores) it is in human ratings. Slices are gated too if `slices` is
    "no-regression" (none may be a regression) or "pass" (all must pass). `doubts` (metric → why) leave metrics
    undecided.
    """
    gated = [c for c in _gated(comparison, slices) if metrics is None or c.metric in metrics]
    margins = metric_margins(margin, list(dict.fromkeys(change.metric for change in gated)))
    if by_ratings:
        gains = [rating_gain(change, comparison, margins[change.metric]) for change in gated]
    else:
        gains = [score_gain(c, comparison, margins[c.metric], (slopes or {}).get(c.metric), rated) for c in gated]
    doubtful = doubts or {}
    gains = [replace(gain, doubt=gain.doubt or doubtful.get(gain.metric, "")) for gain in gains]
    verdicts = []
    for family in ([g for g in gains if not g.slice], [g for g in gains if g.slice]):
        p_values = adjusted([None if math.isnan(gain.p) else gain.p for gain in family])
        verdicts += [_verdict(g, p, len(family), allow_constant) for g, p in zip(family, p_values, strict=True)]
    errors = {change.metric: (change.new.n, change.error) for change in comparison.overall()}
    shared = tuple(one.in_difference(*errors[one.metric]) for one in noise)
    return Gate(_outcome(verdicts, slices), tuple(verdicts), comparison, shared, slices)


def _gated(comparison: Comparison, slices: Slices) -> list[Change]:
    """Changes over all units, then those of slices if they are gated."""
    found = list(comparison.overall())
    if slices == "shown":
        return found
    sliced = [change for change in comparison.changes if change.slice]
    if not sliced:
        hint = f"name a field with --slice that has several values of at least {LEAST} units each, or omit --slices"
        raise InputError("no slices to gate", hint=hint)
    return found + sliced


def _outcome(verdicts: Sequence[Verdict], slices: Slices) -> Outcome:
    counting = {v.outcome for v in verdicts if not v.slice or slices == "pass" or v.outcome == "regression"}
    order: tuple[Outcome, ...] = ("regression", "undecided", "pass")
    return next(outcome for outcome in order if outcome in counting)


def _verdict(gain: Gain, p: float | None, tests: int, allow_constant: bool) -> Verdict:
    doubt = gain.doubt or _no_variation(gain, allow_constant)
    outcome: Outcome = "undecided"
    if not doubt and gain.ci[0] > -gain.margin:
        outcome = "pass"
    elif not doubt and gain.ci[1] < -gain.margin and p is not None and p < ALPHA and gain.compared != NOT_SHOWN:
        outcome = "regression"
    needed = None
    if outcome == "undecided" and not doubt:
        needed = gain.needed(ALPHA / tests if gain.distance < 0 else ALPHA)
    return Verdict(
        metric=gain.metric,
        outcome=outcome,
        gain=gain.value,
        ci=gain.ci,
        margin=gain.margin,
        scale=gain.scale,
        n=gain.n,
        counted=gain.counted,
        needed=needed[0] if needed else None,
        slice=gain.slice,
        p=math.nan if p is None else p,
        needed_of=needed[1] if needed else "",
        slope=gain.slope,
        constant=gain.constant,
        rated=gain.rated,
        compared=gain.compared,
        doubt=doubt,
    )


def _no_variation(gain: Gain, allow_constant: bool) -> str:
    """Why a gain that does not vary cannot pass; one that all units share can, if it is really a gain."""
    if gain.varies or gain.distance < 0 or gain.compared == "better" or (allow_constant and not gain.value):
        return ""
    if gain.constant is not None:
        return CONSTANT
    return f"the difference is the same for every {gain.counted}, so nothing shows how much it varies"
