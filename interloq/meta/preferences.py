# SPDX-License-Identifier: Apache-2.0
"""Preferences of an LLM judge between two versions, as scores of their units: 1 for a win, ½ for a tie, 0 for a loss.

So the mean score of a version is the share of pairs it wins, ties counting half, and its difference, interval and test
are computed like those of any metric.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from interloq.errors import InputError, SpecError
from interloq.meta.versions import Unit, Version, matched
from interloq.metrics.llm_judge import LlmJudge
from interloq.pipelines.judge_pairs import judge_pairs
from interloq.records import Rating, Sample
from interloq.registry import create, name_of, title

LABEL = "preference"
UNPAIRED = "no reply of the other version to the same context"


@dataclass(frozen=True, slots=True)
class Judged:
    """Two versions with a judge's preferences as their first metric; notes on the judge and parts of the signature."""

    old: Version
    new: Version
    preference: str = ""  # name of the metric; empty without a judge
    notes: tuple[str, ...] = ()
    facts: Mapping[str, str] = field(default_factory=dict)


def judge_versions(old: Version, new: Version, spec: str) -> Judged:
    """Add the preferences of the judge that a spec describes; nothing if the spec is empty."""
    if not spec:
        return Judged(old, new)
    judge = create(spec, kind="metric")
    if not isinstance(judge, LlmJudge):
        raise SpecError(f"{name_of(judge)} cannot compare replies; write llm_judge(…)")
    pairs = _pairs(old, new)
    # the new version is never from a baseline, which does not have the turns
    first, second = ([_sample(pair[side], pair[1].turns, judge.dimension) for pair in pairs] for side in (0, 1))
    found = judge_pairs(first, second, judge)
    name, scores, reasons = f"{LABEL}={title(judge)}", dict[int, float](), dict[int, str]()
    for (one, two), pair in zip(pairs, found.pairs, strict=True):
        reasons |= {id(unit): pair.failure for unit in (one, two) if pair.failure}
        if pair.value is not None:
            scores |= {id(one): (1 + pair.value) / 2, id(two): (1 - pair.value) / 2}
    old, new = (
        replace(version, units=tuple(_judged(unit, name, scores, reasons) for unit in version.units))
        for version in (old, new)
    )
    return Judged(old, new, name, (f"{LABEL}: {found.remark()}",), {"judge": judge.built_with()})


def _pairs(old: Version, new: Version) -> list[tuple[Unit, Unit]]:
    """Pairs of replies to the same context."""
    if "dialogue" in (old.unit, new.unit):
        raise InputError(
            "a judge compares replies, not dialogues",
            hint="give two files of samples, or let it score whole dialogues: -m \"llm_judge(of='dialogue',…)\"",
        )
    pairs = matched(old, new).pairs
    if pairs and not any(first.text or second.text for first, second in pairs):
        raise InputError("score files have no replies to compare", hint="give the scored samples with --samples")
    same = [(first, second) for first, second in pairs if first.prompt == second.prompt]
    if not same:
        raise InputError("no two replies to the same context", hint="give replies to one test set")
    return same


def _judged(unit: Unit, name: str, scores: Mapping[int, float], reasons: Mapping[int, str]) -> Unit:
    """The unit with its score, or the reason why it has none."""
    reason = {} if id(unit) in scores else {name: reasons.get(id(unit), UNPAIRED)}
    values = {name: scores.get(id(unit), math.nan), **unit.values}
    return replace(unit, values=values, reasons={**unit.reasons, **reason})


def _sample(unit: Unit, context: Sequence[str], aspect: str) -> Sample:
    ratings = [] if math.isnan(unit.rating) else [Rating(unit.rating, aspect=aspect)]
    return Sample(unit.id, context, unit.text, ratings=ratings)
