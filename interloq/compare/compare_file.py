# SPDX-License-Identifier: Apache-2.0
"""From two files, of samples, dialogues or scores, to a comparison; also by the preferences of an LLM judge.

A preference becomes scores of the two units: 1 for a win, ½ for a tie, 0 for a loss. So the mean score of a version is
the share of pairs it wins, ties counting half, and its difference, interval and test are computed as for any metric.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from interloq.compare.compare import compare
from interloq.compare.compare_options import COMPARE_DEFAULTS, CompareOptions
from interloq.compare.comparison import Comparison
from interloq.compare.match_versions import Unit, Version, match_units
from interloq.compare.version_files import VersionReading, read_versions
from interloq.data.progress import Progress, silent
from interloq.data.records.read_options import READ_DEFAULTS, ReadOptions
from interloq.data.tool_logs.inspect_scores import is_inspect_log
from interloq.errors import InputError, SpecError
from interloq.metrics.llm_judge.judge_pairs import judge_pairs
from interloq.metrics.llm_judge.llm_judge import LlmJudge
from interloq.records import Rating, Sample
from interloq.registry import create, name_of, title

LABEL = "preference"
UNPAIRED = "no reply of the other version to the same context"


def compare_file(
    old: str | Path,
    new: str | Path,
    options: CompareOptions = COMPARE_DEFAULTS,
    *,
    reading: ReadOptions = READ_DEFAULTS,
    progress: Progress = silent,
) -> Comparison:
    """Compare the versions of a system in two files."""
    notes: tuple[str, ...] = ()
    if options.lower_is_better is None and is_inspect_log(old) and is_inspect_log(new):
        options = replace(options, lower_is_better=False)
        notes = ("higher scores are taken for better, as Inspect's scorers have it; else add --lower-is-better",)
    read = read_versions({"old": old, "new": new}, VersionReading(options, reading, progress))
    judged = judge_versions(read.versions["old"], read.versions["new"], options.judge)
    return compare_judged(judged, options, notes=(*notes, *read.notes))


def compare_judged(judged: JudgedVersions, options: CompareOptions, *, notes: Sequence[str] = ()) -> Comparison:
    """Compare two versions; `notes` are added to the notes on the comparison and the judge."""
    comparison = compare(
        judged.old,
        judged.new,
        slice_by=options.slice_by,
        planned=options.slices_planned,
        lower_is_better=options.lower_is_better,
        n_permutations=options.n_permutations,
        seed=options.seed,
        worst=options.worst,
    )
    signature = comparison.signature.with_parts({"normalise": options.normalise, **judged.facts})
    return replace(comparison, notes=(*comparison.notes, *notes, *judged.notes), signature=signature)


# ---- preferences of a judge ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class JudgedVersions:
    """Two versions with a judge's preferences as their first metric; notes on the judge and parts of the signature."""

    old: Version
    new: Version
    preference: str = ""  # name of the metric; empty without a judge
    notes: tuple[str, ...] = ()
    facts: Mapping[str, str] = field(default_factory=dict)


def judge_versions(old: Version, new: Version, spec: str) -> JudgedVersions:
    """Add the preferences of the judge that a spec describes; nothing if the spec is empty."""
    if not spec:
        return JudgedVersions(old, new)
    judge = create(spec, kind="metric")
    if not isinstance(judge, LlmJudge):
        raise SpecError(f"{name_of(judge)} cannot compare replies; write llm_judge(…)")
    pairs = _pair_replies(old, new)
    old_samples, new_samples = [], []
    for old_unit, new_unit in pairs:
        # the new version is never from a baseline, which does not have the turns
        old_samples.append(_sample(old_unit, new_unit.turns, judge.dimension))
        new_samples.append(_sample(new_unit, new_unit.turns, judge.dimension))
    preferences = judge_pairs(old_samples, new_samples, judge)
    name, scores, reasons = f"{LABEL}={title(judge)}", dict[int, float](), dict[int, str]()
    for (old_unit, new_unit), pair in zip(pairs, preferences.pairs, strict=True):
        if pair.failure:
            reasons[id(old_unit)] = reasons[id(new_unit)] = pair.failure
        if pair.value is not None:
            scores[id(old_unit)], scores[id(new_unit)] = (1 + pair.value) / 2, (1 - pair.value) / 2
    return JudgedVersions(
        _add_scores(old, name, scores, reasons),
        _add_scores(new, name, scores, reasons),
        name,
        (f"{LABEL}: {preferences.remark()}",),
        {"judge": judge.built_with()},
    )


def _pair_replies(old: Version, new: Version) -> list[tuple[Unit, Unit]]:
    """Return pairs of replies to the same context."""
    if "dialogue" in (old.unit, new.unit):
        raise InputError(
            "a judge compares replies, not dialogues",
            hint="give two files of samples, or let it score whole dialogues: -m \"llm_judge(of='dialogue',…)\"",
        )
    pairs = match_units(old, new).pairs
    if pairs and not any(first.text or second.text for first, second in pairs):
        raise InputError("score files have no replies to compare", hint="give the scored samples with --samples")
    same = [(first, second) for first, second in pairs if first.prompt == second.prompt]
    if not same:
        raise InputError("no two replies to the same context", hint="give replies to one test set")
    return same


def _add_scores(version: Version, name: str, scores: Mapping[int, float], reasons: Mapping[int, str]) -> Version:
    """Return the version with the score of each unit, or the reason why it has none."""
    units = []
    for unit in version.units:
        unit_reasons = dict(unit.reasons)
        if id(unit) not in scores:
            unit_reasons[name] = reasons.get(id(unit), UNPAIRED)
        values = {name: scores.get(id(unit), math.nan), **unit.values}
        units.append(replace(unit, values=values, reasons=unit_reasons))
    return replace(version, units=tuple(units))


def _sample(unit: Unit, context: Sequence[str], aspect: str) -> Sample:
    ratings = []
    if not math.isnan(unit.rating):
        ratings.append(Rating(unit.rating, aspect=aspect))
    return Sample(unit.id, context, unit.text, ratings=ratings)
