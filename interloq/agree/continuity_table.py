# SPDX-License-Identifier: Apache-2.0
"""Results of predicting whether people reply, as plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import orjson

from interloq.data.files.opening import reading_saved
from interloq.data.records.stored import read_stored
from interloq.errors import count
from interloq.metrics.metric_names import labels
from interloq.signature import Signature
from interloq.statistics.estimate import Estimate
from interloq.tabular import Row, Tabular

Threshold = Literal["half", "reply-ratio", "none"]
MEASURES = {"accuracy": "accuracy", "macro_f1": "macro-F1", "auc": "AUC", "ece": "ECE", "brier": "Brier"}  # headings
BY_GROUP = ("accuracy", "macro_f1", "auc")  # shown by training size of users


@dataclass(frozen=True, slots=True)
class ContinuityRow:
    """One metric as a predictor: scores at or above `cut` predict a reply (at or below, if lower is better)."""

    metric: str
    threshold: Threshold  # where `cut` is from: .5, the reply ratio of the dev samples, or there is none
    cut: float
    measures: Mapping[str, Estimate]  # accuracy, macro_f1, auc, ece and brier; those that are undefined have a note
    predicted: float  # share of samples predicted to be answered
    unscored: int = 0


@dataclass(frozen=True, slots=True)
class UserGroup:
    """Users with similar numbers of training samples, and all predictors on the samples that they judged."""

    users: int
    smallest: int  # training samples of a user
    largest: int
    mean: float
    samples: int  # test samples
    rows: tuple[ContinuityRow, ...]  # as in the whole table

    @property
    def sizes(self) -> str:
        """Number of training samples as text: `3` or `3–10`."""
        return "–".join(f"{size:,}" for size in dict.fromkeys((self.smallest, self.largest)))


@dataclass(frozen=True, slots=True, repr=False)
class ContinuityTable(Tabular):
    """How well metrics predict whether the person addressed replies."""

    aspect: str
    rows: tuple[ContinuityRow, ...]
    groups: tuple[UserGroup, ...]  # by number of training samples, the smallest first; empty without training samples
    samples: int
    replied: int
    dialogues: int
    users: int
    notes: tuple[str, ...]
    signature: Signature

    def _title(self) -> str:
        """Return the title of the table."""
        return f"prediction of {self.aspect!r}, {count(self.samples, 'sample')}, {self.replied:,} answered"

    def _table_rows(self) -> list[Row]:
        """Return one row per metric and threshold."""
        rows: list[Row] = []
        for row in self.rows:
            values = {name: row.measures[name].value for name in MEASURES}
            facts = {"metric": row.metric, "threshold": row.threshold, "cut": row.cut}
            rows.append({**facts, **values, "unscored": row.unscored})
        return rows

    def with_labels(self) -> ContinuityTable:
        """Return the table with metrics under their labels, for display."""
        label_of = labels(list(dict.fromkeys(row.metric for row in self.rows)))

        def label_rows(rows: tuple[ContinuityRow, ...]) -> tuple[ContinuityRow, ...]:
            return tuple(replace(row, metric=label_of[row.metric]) for row in rows)

        groups = tuple(replace(group, rows=label_rows(group.rows)) for group in self.groups)
        return replace(self, rows=label_rows(self.rows), groups=groups)


def read_continuity(path: str | Path) -> ContinuityTable:
    """Read a table that `interloq meta --labels --json` printed."""
    hint = "make one: interloq meta --labels --json"
    with reading_saved(path, "not a table of predicted labels", hint=hint):
        value = orjson.loads(Path(path).read_bytes())
        groups = [read_stored(UserGroup, group, rows=_read_rows(group["rows"])) for group in value["groups"]]
        signature = Signature.from_json(value["signature"])
        rows = _read_rows(value["rows"])
        return read_stored(ContinuityTable, value, rows=rows, groups=tuple(groups), signature=signature)


def _read_rows(values: Sequence[Mapping[str, Any]]) -> tuple[ContinuityRow, ...]:
    rows = []
    for value in values:
        measures = {name: read_stored(Estimate, value["measures"][name]) for name in MEASURES}
        rows.append(read_stored(ContinuityRow, value, measures=measures))
    return tuple(rows)
