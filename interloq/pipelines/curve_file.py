"""Correlation of metrics with people as references are added, for a file of rated samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from interloq.data.jsonl import Rejected, read, write
from interloq.data.overwriting import refuse_overwriting
from interloq.data.progress import Progress, silent
from interloq.reliability.curve import DRAWS, OWN, SIZES, Curve, curve
from interloq.reliability.labels import Coefficient, group


def curve_file(
    samples: str | Path,
    metrics: Sequence[str],
    output: str | Path | None = None,
    *,
    sizes: Sequence[int] = SIZES,
    own: int = OWN,
    aspect: str = "overall",
    coefficient: Coefficient = "pearson",
    draws: int = DRAWS,
    n_bootstrap: int = 1000,
    seed: int = 0,
    strict: bool = False,
    on_reject: Callable[[Rejected], None] | None = None,
    columns: Mapping[str, str] | None = None,
    progress: Progress = silent,
) -> list[Curve]:
    """One curve per metric (see `reliability.curve.curve`), also written to `output`, if given."""
    refuse_overwriting([output] if output else [], [samples])
    queries = group(read(samples, strict=strict, on_reject=on_reject, columns=columns), aspect=aspect)
    found = []
    with progress("curves", len(metrics)) as step:
        for metric in metrics:
            found.append(
                curve(
                    queries,
                    metric,
                    sizes=sizes,
                    own=own,
                    coefficient=coefficient,
                    draws=draws,
                    n_bootstrap=n_bootstrap,
                    seed=seed,
                )
            )
            step(1)
    if output:
        options = {"sizes": list(sizes), "own": own, "draws": draws, "resamples": n_bootstrap, "seed": seed}
        write(output, found, kind="curves", aspect=aspect, options=options)
    return found
