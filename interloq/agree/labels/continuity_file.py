# SPDX-License-Identifier: Apache-2.0
"""From files of scores and labelled samples to a table of how well replies are predicted."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from interloq.agree.labels.continuity import evaluate_continuity
from interloq.agree.labels.continuity_table import MEASURES, ContinuityRow, ContinuityTable, UserGroup
from interloq.agree.meta_options import LabelOptions
from interloq.data.files.opening import reading_saved
from interloq.data.records.read_options import READ_DEFAULTS, ReadOptions
from interloq.score.scored_samples import ScoredSamples
from interloq.signature import Signature
from interloq.statistics.estimate import Estimate


def evaluate_continuity_file(
    scores: Sequence[str | Path], options: LabelOptions, *, reading: ReadOptions = READ_DEFAULTS
) -> ContinuityTable:
    """Evaluate the metrics of score files as predictors of the samples' labels; see `evaluate_continuity`."""
    labelled = list(reading.read(options.samples))
    checked = ScoredSamples(labelled)
    table = evaluate_continuity(
        checked.check_all(scores, partial(reading.read_beside, kind="scores")),
        labelled,
        train=reading.read(options.train) if options.train else (),
        dev=reading.read(options.dev) if options.dev else (),
        aspect=options.aspect,
        groups=options.groups,
        lower_is_better=options.lower_is_better,
        n_bootstrap=options.n_bootstrap,
        seed=options.seed,
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
