"""From files of scores and rated samples to agreement with people."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from interloq.data.jsonl import Rejected, read_all
from interloq.data.progress import Progress, counted, silent
from interloq.meta.coefficients import Coefficients, Correlation
from interloq.meta.evaluate import meta_evaluate
from interloq.meta.significance import Adjust
from interloq.meta.table import COEFFICIENTS, By, MetaTable, SystemScore
from interloq.metrics.selection import Selection


def meta_file(
    scores: Sequence[str | Path],
    samples: str | Path,
    *,
    aspect: str = "overall",
    role: str = "",
    by: By = "none",
    coefficients: Coefficients | Iterable[str | Correlation] = COEFFICIENTS,
    n_bootstrap: int = 1000,
    seed: int = 0,
    compare: bool = True,
    n_permutations: int | None = None,
    adjust: Adjust = "holm",
    system_score: SystemScore = "value",
    drop_own_replies: bool = False,
    without: Sequence[str] = (),
    strict: bool = False,
    on_reject: Callable[[Rejected], None] | None = None,
    columns: Mapping[str, str] | None = None,
    progress: Progress = silent,
) -> MetaTable:
    """How well the metrics of score files agree with the people who rated the samples; see `meta_evaluate`.

    `without` names systems to exclude; `drop_own_replies` drops references identical to the reply being judged. `-` is
    a pipe. Bad lines, and `columns` for the samples, are handled as in `interloq.read`.
    """
    read = partial(read_all, strict=strict, on_reject=on_reject)
    with progress("meta-evaluating", None) as step:
        return meta_evaluate(
            counted(read(scores, kind="scores"), step),
            counted(read([samples], columns=columns), step),
            aspect=aspect,
            role=role,
            by=by,
            coefficients=coefficients,
            n_bootstrap=n_bootstrap,
            seed=seed,
            compare=compare,
            n_permutations=n_permutations,
            adjust=adjust,
            selection=Selection(drop_own_replies=drop_own_replies, without=without),
            system_score=system_score,
        )
