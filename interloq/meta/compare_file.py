"""From two files, of samples, dialogues or scores, to a comparison."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from interloq.data.jsonl import Rejected
from interloq.data.progress import Progress, silent
from interloq.errors import InputError
from interloq.meta.compare import WORST, compare
from interloq.meta.comparison import Comparison
from interloq.meta.preferences import judge_versions
from interloq.meta.version_files import Reading, read_versions
from interloq.meta.version_units import Ratings

BESIDE = ("length",)  # compared beside a judge's preferences if no metric is named: judges favour long replies


def compare_file(
    old: str | Path,
    new: str | Path,
    *,
    metrics: Sequence[str] = (),
    judge: str = "",
    samples: Sequence[str | Path] = (),
    old_system: str = "",
    new_system: str = "",
    aspect: str = "",
    role: str = "",
    slice_by: Sequence[str] | None = None,
    lower_is_better: bool | None = None,
    n_permutations: int | None = None,
    seed: int = 0,
    worst: int = WORST,
    strict: bool = False,
    on_reject: Callable[[Rejected], None] | None = None,
    columns: Mapping[str, str] | None = None,
    progress: Progress = silent,
) -> Comparison:
    """Compare the versions of a system in two files; see `compare`.

    Samples and dialogues are scored with `metrics`; of score files, `metrics` chooses some. `judge` is the spec of an
    LLM judge, whose preferences between paired replies are added as a metric. `samples` are the scored samples of score
    files: one file, or one per version. Ratings are of `aspect` (default: overall), by people in `role`. Bad lines and
    `columns` are handled as in `interloq.read`.
    """
    if judge and lower_is_better is not None:
        raise InputError("a direction would also apply to the judge's preferences", hint="compare without it")
    reading = Reading(
        metrics=metrics,
        otherwise=BESIDE if judge else (),
        samples=samples,
        systems={"old": old_system, "new": new_system},
        ratings=Ratings(aspect, role),
        slice_by=slice_by,
        strict=strict,
        on_reject=on_reject,
        columns=columns,
        progress=progress,
    )
    found = read_versions({"old": old, "new": new}, reading)
    judged = judge_versions(found.versions["old"], found.versions["new"], judge)
    comparison = compare(
        judged.old,
        judged.new,
        slice_by=slice_by,
        lower_is_better=lower_is_better,
        n_permutations=n_permutations,
        seed=seed,
        worst=worst,
    )
    signature = comparison.signature.with_parts(judged.facts)
    return replace(comparison, notes=(*comparison.notes, *found.notes, *judged.notes), signature=signature)
