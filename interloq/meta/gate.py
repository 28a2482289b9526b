"""Decide whether a new version may replace an old one: pass, regression or undecided.

With a margin m > 0, the largest acceptable loss, and the 95 % interval [low, high] of the gain (new − old; old − new if
lower is better), a metric gives

    pass           low > −m:   the new version is not worse by more than the margin
    regression     high < −m:  it is
    undecided      otherwise:  the data do not decide

A version passes if all metrics pass, and is a regression if any metric shows one. If n clusters do not decide, about
n · (detectable / |gain + m|)² would with a probability of 80 %, if the gain stays the same; `detectable` is the
smallest detectable difference.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from interloq.errors import InputError, count
from interloq.meta.comparison import Change, Comparison, HumanMean
from interloq.meta.repeats import Noise
from interloq.meta.score_slope import check_slope, in_ratings
from interloq.metrics.metric_names import downwards
from interloq.statistics.clustered import Clustered

Outcome = Literal["pass", "regression", "undecided"]
Scale = Literal["score", "rating"]
EXIT_CODES: Mapping[Outcome, int] = {"pass": 0, "regression": 3, "undecided": 4}
MOST = 1000  # times as many units: above it, more data are no advice


@dataclass(frozen=True, slots=True)
class Verdict:
    """Outcome by one metric. Numbers are in units of the margin."""

    metric: str
    outcome: Outcome
    gain: float  # positive if the new version is better
    ci: tuple[float, float]
    margin: float
    scale: Scale
    n: int  # independent units, or labels
    counted: str  # what n counts: sample, dialogue or label
    needed: int | None  # how many would decide; None if decided, or if no number would

    @property
    def reason(self) -> str:
        """One line for people."""
        low, high = self.ci
        shown = f"{self.gain:+.4g} [{low:.4g}, {high:.4g}] in {self.scale}s, margin {self.margin:g}"
        if self.outcome == "pass":
            return f"gain {shown}: not worse by more than the margin"
        if self.outcome == "regression":
            return f"gain {shown}: worse by more than the margin"
        if self.needed is None:
            return f"gain {shown}: so close to the margin that more {self.counted}s will hardly decide"
        more = count(self.needed - self.n, f"more {self.counted}")
        return f"gain {shown}: about {more} would decide with a probability of 80 %"


@dataclass(frozen=True, slots=True)
class Gate:
    """Verdicts of all metrics, and the comparison they are based on."""

    outcome: Outcome
    verdicts: tuple[Verdict, ...]
    comparison: Comparison
    noise: tuple[Noise, ...] = ()  # with repeats: where the variation of scores comes from

    @property
    def exit_code(self) -> int:
        """0 pass, 3 regression, 4 undecided."""
        return EXIT_CODES[self.outcome]

    def facts(self) -> dict[str, Any]:
        """All values, as in JSON."""
        verdicts = [{**asdict(verdict), "reason": verdict.reason} for verdict in self.verdicts]
        noise = [{**asdict(noise), "advice": noise.advice} for noise in self.noise]
        found = {"outcome": self.outcome, "exit_code": self.exit_code, "verdicts": verdicts, "noise": noise}
        return {**found, "comparison": self.comparison.facts()}


def gate(
    comparison: Comparison,
    margin: float,
    *,
    metrics: Sequence[str] | None = None,
    slopes: Mapping[str, Clustered] | None = None,
    by_ratings: bool = False,
    noise: Sequence[Noise] = (),
) -> Gate:
    """Verdict on a comparison by these metrics (default: all).

    The margin is in units of each metric; with `slopes` (metric → score per unit of rating) or `by_ratings` (the mean
    human rating, estimated from the ratings of both versions and each metric's scores) it is in human ratings.
    """
    if not (math.isfinite(margin) and margin > 0):
        raise InputError(
            f"the margin must be a positive number, got {margin}", hint="give the largest loss that is acceptable"
        )
    gated = [change for change in comparison.overall() if metrics is None or change.metric in metrics]
    if by_ratings:
        verdicts = [_by_ratings(change, comparison, margin) for change in gated]
    else:
        verdicts = [_by_scores(change, comparison.unit, margin, (slopes or {}).get(change.metric)) for change in gated]
    outcomes = {verdict.outcome for verdict in verdicts}
    order: tuple[Outcome, ...] = ("regression", "undecided", "pass")
    errors = {change.metric: (change.new.n, change.error) for change in comparison.overall()}
    shared = tuple(one.in_difference(*errors[one.metric]) for one in noise)
    return Gate(next(o for o in order if o in outcomes), tuple(verdicts), comparison, shared)


def _by_scores(change: Change, unit: str, margin: float, slope: Clustered | None) -> Verdict:
    lower = change.direction == "lower" if change.direction != "neither" else downwards(change.metric)
    if change.ci is None:
        raise InputError(f"only {count(change.clusters, 'independent unit')}", hint="compare at least two")
    counted = change.clusters, unit
    if slope is None:
        gain, ci = (-change.difference, (-change.ci[1], -change.ci[0])) if lower else (change.difference, change.ci)
        return _verdict(change.metric, (gain, ci, change.detectable), margin, "score", counted)
    check_slope(slope, change.metric, lower_is_better=lower)
    gain, ci, error = in_ratings(change.difference, change.error, min(change.freedom, slope.freedom), slope)
    scale = error / change.error if change.error else 0.0
    return _verdict(change.metric, (gain, ci, scale * change.detectable), margin, "rating", counted)


def _by_ratings(change: Change, comparison: Comparison, margin: float) -> Verdict:
    found = _human_difference(comparison.people, change.metric)
    if found is None or found.ci is None:
        raise InputError("no ratings of both versions", hint="add ratings to both files, or omit --by-ratings")
    estimate = found.value, found.ci, found.detectable
    return _verdict(change.metric, estimate, margin, "rating", (found.labels, "label"))


def _human_difference(people: Sequence[HumanMean], metric: str) -> HumanMean | None:
    """The difference estimated with the metric's scores, or else from labels alone."""
    found = {human.metric: human for human in people if human.which == "difference"}
    return found.get(metric) or found.get("")


def _verdict(
    metric: str,
    estimate: tuple[float, tuple[float, float], float],
    margin: float,
    scale: Scale,
    counted: tuple[int, str],
) -> Verdict:
    gain, ci, detectable = estimate
    outcome: Outcome = "pass" if ci[0] > -margin else "regression" if ci[1] < -margin else "undecided"
    needed = _needed(counted[0], detectable, gain + margin) if outcome == "undecided" else None
    return Verdict(metric, outcome, gain, ci, margin, scale, counted[0], counted[1], needed)


def _needed(n: int, detectable: float, distance: float) -> int | None:
    """How many units would decide; None if far too many, or if their variation is unknown."""
    if not abs(distance) * math.sqrt(MOST) > detectable:
        return None
    return max(n + 1, math.ceil(n * (detectable / distance) ** 2))
