"""From files of scores and labelled samples to a table of how well replies are predicted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from interloq.data.jsonl import Rejected, read_all
from interloq.interlocutor.samples import CONTINUED
from interloq.meta.continuity import evaluate_continuity
from interloq.meta.continuity_table import ContinuityTable


def evaluate_continuity_file(
    scores: Sequence[str | Path],
    samples: str | Path,
    *,
    train: str | Path | None = None,
    dev: str | Path | None = None,
    aspect: str = CONTINUED,
    groups: int = 3,
    n_bootstrap: int = 1000,
    seed: int = 0,
    strict: bool = False,
    on_reject: Callable[[Rejected], None] | None = None,
    columns: Mapping[str, str] | None = None,
) -> ContinuityTable:
    """Evaluate the metrics of score files as predictors of the samples' labels; see `evaluate_continuity`.

    Bad lines, and `columns` for the samples, are handled as in `interloq.read`.
    """
    read = partial(read_all, strict=strict, on_reject=on_reject)
    return evaluate_continuity(
        read(scores, kind="scores"),
        read([samples], columns=columns),
        train=read([train], columns=columns) if train else (),
        dev=read([dev], columns=columns) if dev else (),
        aspect=aspect,
        groups=groups,
        n_bootstrap=n_bootstrap,
        seed=seed,
    )
