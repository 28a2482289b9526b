# SPDX-License-Identifier: Apache-2.0
"""From files of scores and labelled samples to a table of how well replies are predicted."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from interloq.agree.labels.continuity import evaluate_continuity
from interloq.agree.labels.continuity_table import MEASURES, ContinuityRow, ContinuityTable, UserGroup
from interloq.data.files.opening import reading_saved
from interloq.data.records.jsonl import Rejected, read_all
from interloq.score.scored_samples import ScoredSamples
from interloq.scorers.interlocutor.samples import CONTINUED
from interloq.signature import Signature
from interloq.statistics.estimate import Estimate


def evaluate_continuity_file(
    scores: Sequence[str | Path],
    samples: str | Path,
    *,
    train: str | Path | None = None,
    dev: str | Path | None = None,
    aspect: str = CONTINUED,
    groups: int = 3,
    lower_is_better: bool | None = None,
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
    labelled = list(read([samples], columns=columns))
    checked = ScoredSamples(labelled)
    table = evaluate_continuity(
        checked.check_all(scores, partial(read, kind="scores")),
        labelled,
        train=read([train], columns=columns) if train else (),
        dev=read([dev], columns=columns) if dev else (),
        aspect=aspect,
        groups=groups,
        lower_is_better=lower_is_better,
        n_bootstrap=n_bootstrap,
        seed=seed,
    )
    return replace(table, notes=(*table.notes, *checked.notes()))


def read_continuity(path: str | Path) -> ContinuityTable:
    """Read a table that `interloq meta --labels --json` printed."""
    hint = "make one: interloq meta --labels --json"
    with reading_saved(path, "not a table of predicted labels", hint=hint):
        value = orjson.loads(Path(path).read_bytes())
        groups = [UserGroup(**{**group, "rows": _rows(group["rows"])}) for group in value["groups"]]
        facts = {"signature": Signature.from_json(value["signature"]), "notes": tuple(value["notes"])}
        return ContinuityTable(**{**value, **facts, "rows": _rows(value["rows"]), "groups": tuple(groups)})


def _rows(values: Sequence[Mapping[str, Any]]) -> tuple[ContinuityRow, ...]:
    return tuple(
        ContinuityRow(
            **{
                **row,
                "cut": _number(row["cut"]),
                "predicted": _number(row["predicted"]),
                "measures": {name: _estimate(row["measures"][name]) for name in MEASURES},
            }
        )
        for row in values
    )


def _estimate(value: Mapping[str, Any]) -> Estimate:
    low, high = value["ci"] or (None, None)
    ci = (_number(low), _number(high)) if value["ci"] else None
    return Estimate(**{**value, "value": _number(value["value"]), "ci": ci})


def _number(value: float | None) -> float:
    """A number from JSON, where a missing one is null."""
    return math.nan if value is None else float(value)
