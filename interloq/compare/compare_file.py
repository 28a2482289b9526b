# SPDX-License-Identifier: Apache-2.0
"""From two files, of samples, dialogues or scores, to a comparison."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from interloq.compare.compare import compare
from interloq.compare.compare_options import COMPARE_DEFAULTS, CompareOptions
from interloq.compare.comparison import Comparison
from interloq.compare.judge_preferences import JudgedVersions, judge_versions
from interloq.compare.version_files import VersionReading, read_versions
from interloq.data.progress import Progress, silent
from interloq.data.records.jsonl import Rejected


def compare_file(
    old: str | Path,
    new: str | Path,
    options: CompareOptions = COMPARE_DEFAULTS,
    *,
    strict: bool = False,
    on_reject: Callable[[Rejected], None] | None = None,
    progress: Progress = silent,
) -> Comparison:
    """Compare the versions of a system in two files; bad lines are handled as in `interloq.read`."""
    found = read_versions({"old": old, "new": new}, VersionReading(options, strict, on_reject, progress))
    judged = judge_versions(found.versions["old"], found.versions["new"], options.judge)
    return compare_judged(judged, options, notes=found.notes)


def compare_judged(judged: JudgedVersions, options: CompareOptions, *, notes: Sequence[str] = ()) -> Comparison:
    """Compare two versions; `notes` are added to those on the comparison and the judge."""
    found = compare(
        judged.old,
        judged.new,
        slice_by=options.slice_by,
        planned=options.slices_planned,
        lower_is_better=options.lower_is_better,
        n_permutations=options.n_permutations,
        seed=options.seed,
        worst=options.worst,
    )
    signature = found.signature.with_parts({"normalise": options.normalise, **judged.facts})
    return replace(found, notes=(*found.notes, *notes, *judged.notes), signature=signature)
