"""From two files, of samples, dialogues or scores, to a comparison."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from interloq.data.jsonl import Rejected
from interloq.data.progress import Progress, silent
from interloq.meta.compare import WORST, compare
from interloq.meta.comparison import Comparison
from interloq.meta.version_files import Reading, read_versions
from interloq.meta.version_units import Ratings


def compare_file(
    old: str | Path,
    new: str | Path,
    *,
    metrics: Sequence[str] = (),
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

    Samples and dialogues are scored with `metrics`; of score files, `metrics` chooses some. `samples` are the scored
    samples of score files: one file, or one per version. Ratings are of `aspect` (default: overall), by people in
    `role`. Bad lines and `columns` are handled as in `interloq.read`.
    """
    reading = Reading(
        metrics=metrics,
        samples=samples,
        systems={"old": old_system, "new": new_system},
        ratings=Ratings(aspect, role),
        slice_by=slice_by,
        strict=strict,
        on_reject=on_reject,
        columns=columns,
        progress=progress,
    )
    found = read_versions({"old": old, "new": new}, reading).versions
    return compare(
        found["old"],
        found["new"],
        slice_by=slice_by,
        lower_is_better=lower_is_better,
        n_permutations=n_permutations,
        seed=seed,
        worst=worst,
    )
