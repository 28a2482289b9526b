# SPDX-License-Identifier: Apache-2.0
"""Decide whether a new version may replace an old one: pass, regression or undecided.

With a margin m > 0, the largest acceptable loss, and the 95 % interval [low, high] of the gain (new − old; old − new if
lower is better), a metric gives

    pass           low > −m:   the new version is not worse by more than the margin
    regression     high < −m, also after adjusting by Holm's method, and `compare` calls the same scores `worse`
    undecided      otherwise:  the data do not decide

A version passes if all metrics pass, and is a regression if any metric shows one. Passes need no adjustment, because
all metrics must pass. Metrics are one family of tests, slices another, as in `compare`. Degenerate and selected data
are undecided whatever the interval: equal replies, too few units, labels that were chosen by their scores. A metric
that gives all units the same score, or all pairs the same difference, does not pass.
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
from interloq.statistics.significance import adjust_p_values

Outcome = Literal["pass", "regression", "undecided"]
CONSTANT = "this metric cannot tell the versions apart"
EXIT_CODES: Mapping[Outcome, int] = {"pass": 0, "regression": 3, "undecided": 4}


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome by one metric, over all units or one slice. Numbers are in units of the margin."""

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
        """Return metric and slice."""
        if self.slice:
            return f"{self.metric}, {self.slice}"
        return self.metric

    @property
    def reason(self) -> str:
        """Return one line for people."""
        text = f"gain {self._describe_gain()}: {self._explain_outcome()}"
        if self.constant is not None:
            text = f"every {self.counted} of both versions has the score {self.constant:g}; {text}"
        return text

    def _describe_gain(self) -> str:
        low, high = self.ci
        text = f"{self.gain:+.4g}"
        if not math.isnan(low):
            text += f" [{low:.4g}, {high:.4g}]"
        text += f" in {self.scale}s, margin {self.margin:g}"
        if self.slope is None or self.slope.ci is None:
            return text
        low, high = self.slope.ci
        rate = f"1 in ratings is {self.slope.value:.3g} [{low:.3g}, {high:.3g}] in scores"
        return f"{text} ({rate}, by {count(self.slope.n, self.rated)})"

    def _explain_outcome(self) -> str:
        if self.outcome == "pass" and self.compared == "worse":
            return "worse, but not worse by more than the margin"
        if self.outcome == "pass":
            return "not worse by more than the margin"
        if self.outcome == "regression":
            return "worse by more than the margin"
        if self.doubt or self.constant is not None:  # files of earlier versions have no doubts
            return self.doubt or CONSTANT
        alone = ""
        if self.ci[1] < -self.margin and self.p >= ALPHA:
            alone = f"worse by more than the margin, but not after adjustment for all tests (p = {self.p:.2g}); "
        elif self.ci[1] < -self.margin:
            alone = "worse by more than the margin, but the permutation test does not show that it is worse; "
        return alone + self._describe_needed()

    def _describe_needed(self) -> str:
        if self.needed is None:
            kinds = f"{self.counted}s or {self.rated}s alone" if self.slope else f"{self.counted}s"
            return f"so close to the margin that more {kinds} will hardly decide"
        if self.slope and self.needed_of == self.rated:
            more = count(self.needed - self.slope.n, f"more {self.needed_of}")
        else:
            more = count(self.needed - self.n, f"more {self.needed_of}")
        if self.slice and self.needed_of != self.rated:
            more += " in this slice"
        return f"about {more} would decide with a probability of 80 %"


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
        """Return 0 for pass, 3 for regression, 4 for undecided."""
        return EXIT_CODES[self.outcome]

    def counts(self, verdict: Verdict) -> bool:
        """Return whether the gate can only pass if this verdict is a pass."""
        return not verdict.slice or self.slices == "pass"

    def facts(self) -> dict[str, Any]:
        """Return all values, as in JSON."""
        verdicts = [{**asdict(verdict), "reason": verdict.reason} for verdict in self.verdicts]
        noise = [{**asdict(noise), "advice": noise.advice} for noise in self.noise]
        facts = {"outcome": self.outcome, "exit_code": self.exit_code, "slices": self.slices, "verdicts": verdicts}
        return {**facts, "noise": noise, "comparison": self.comparison.facts()}


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
    """Return the verdict on a comparison by these metrics (default: all).

    The margin, one for all or a mapping from metrics, is in units of each metric; with `slopes` (metric → score per
    unit of rating, over `rated` samples or dialogues) or `by_ratings` (the mean human rating, estimated from the
    ratings of both versions and each metric's scores) it is in human ratings. Slices are gated too if `slices` is
    "no-regression" (none may be a regression) or "pass" (all must pass). `doubts` (metric → why) leave metrics
    undecided.
    """
    gated = [change for change in _select_changes(comparison, slices) if metrics is None or change.metric in metrics]
    if not gated:
        raise InputError("no metric to gate by", hint="name one that scored both versions")
    margins = metric_margins(margin, list(dict.fromkeys(change.metric for change in gated)))
    whole_sets: list[Gain] = []
    sliced: list[Gain] = []
    for change in gated:
        if by_ratings:
            gain = rating_gain(change, comparison, margins[change.metric])
        else:
            slope = (slopes or {}).get(change.metric)
            gain = score_gain(change, comparison, margins[change.metric], slope, rated)
        if doubts and not gain.doubt:
            gain = replace(gain, doubt=doubts.get(gain.metric, ""))
        (sliced if gain.slice else whole_sets).append(gain)
    verdicts = []
    for family in (whole_sets, sliced):
        known_p = [gain.p if not math.isnan(gain.p) else None for gain in family]
        p_values = adjust_p_values(known_p)
        for gain, p in zip(family, p_values, strict=True):
            verdicts.append(_verdict(gain, p, len(family), allow_constant))
    changes = {change.metric: change for change in comparison.overall()}
    shares = []
    for metric_noise in noise:
        change = changes[metric_noise.metric]
        shares.append(metric_noise.in_difference(change.new.n, change.error))
    return Gate(_outcome(verdicts, slices), tuple(verdicts), comparison, tuple(shares), slices)


def _select_changes(comparison: Comparison, slices: Slices) -> list[Change]:
    """Return the changes over all units, then the changes by slice if slices are gated."""
    whole_sets = list(comparison.overall())
    if slices == "shown":
        return whole_sets
    sliced = [change for change in comparison.changes if change.slice]
    if not sliced:
        hint = f"name a field with --slice that has several values of at least {LEAST} units each, or omit --slices"
        raise InputError("no slices to gate", hint=hint)
    return whole_sets + sliced


def _outcome(verdicts: Sequence[Verdict], slices: Slices) -> Outcome:
    outcome: Outcome = "pass"
    for verdict in verdicts:
        if verdict.outcome == "regression":
            return "regression"
        if verdict.outcome == "undecided" and (not verdict.slice or slices == "pass"):
            outcome = "undecided"
    return outcome


def _verdict(gain: Gain, p: float | None, tests: int, allow_constant: bool) -> Verdict:
    doubt = gain.doubt or _no_variation(gain, allow_constant)
    outcome: Outcome = "undecided"
    if not doubt and gain.ci[0] > -gain.margin:
        outcome = "pass"
    elif not doubt and gain.ci[1] < -gain.margin and p is not None and p < ALPHA and gain.compared != NOT_SHOWN:
        outcome = "regression"
    needed, needed_of = None, ""
    if outcome == "undecided" and not doubt:
        level = ALPHA / tests if gain.distance < 0 else ALPHA
        needed, needed_of = gain.estimate_needed(level) or (None, "")
    return Verdict(
        metric=gain.metric,
        outcome=outcome,
        gain=gain.value,
        ci=gain.ci,
        margin=gain.margin,
        scale=gain.scale,
        n=gain.n,
        counted=gain.counted,
        needed=needed,
        slice=gain.slice,
        p=math.nan if p is None else p,
        needed_of=needed_of,
        slope=gain.slope,
        constant=gain.constant,
        rated=gain.rated,
        compared=gain.compared,
        doubt=doubt,
    )


def _no_variation(gain: Gain, allow_constant: bool) -> str:
    """Return why a gain that does not vary cannot pass; a gain that all units share can, if it really is a gain."""
    if gain.varies or gain.distance < 0 or gain.compared == "better" or (allow_constant and not gain.value):
        return ""
    if gain.constant is not None:
        return CONSTANT
    return f"the difference is the same for every {gain.counted}, so nothing shows how much it varies"
