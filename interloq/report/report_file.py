# SPDX-License-Identifier: Apache-2.0
"""Writes the report of score files and samples."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from interloq.data.files.opening import replacing
from interloq.data.files.overwriting import refuse_overwriting
from interloq.data.records.jsonl import Rejected
from interloq.report.build import Evidence, build
from interloq.report.evidence import read_evidence
from interloq.report.inputs import Inputs, ReportOptions, check, command
from interloq.report.page import TITLE, ReportPage
from interloq.report.render import render


@dataclass(frozen=True, slots=True)
class Report:
    """The page that was written, and the data it shows."""

    page: ReportPage
    evidence: Evidence


def report_file(
    scores: Sequence[str | Path],
    output: str | Path,
    *,
    samples: str | Path,
    dialogues: Sequence[str | Path] = (),
    models: Sequence[str | Path] = (),
    curves: Sequence[str | Path] = (),
    continuity: Sequence[str | Path] = (),
    comparisons: Sequence[str | Path] = (),
    preferences: Sequence[str | Path] = (),
    aspect: str = "overall",
    title: str = TITLE,
    n_bootstrap: int = 1000,
    seed: int = 0,
    worst: int = 10,
    read: int = 2,
    lower_is_better: bool | None = None,
    survival: bool = False,
    role: str = "",
    slice_by: Sequence[str] | None = None,
    strict: bool = False,
    on_reject: Callable[[Rejected], None] | None = None,
    columns: Mapping[str, str] | None = None,
) -> Report:
    """Write the report of score files and their samples; `-` as output is standard output.

    `dialogues` are those that the samples were made from: they add a ranking and dialogues to read. `models` are
    folders of trained models whose training is shown, `curves` files of `interloq reliability curve`, and `continuity`
    files printed by `interloq meta --labels --json`. `comparisons`, written by `interloq compare -o` or `interloq gate
    -o`, put their verdicts first. `preferences` are files of people's preferences between two systems. `survival` draws
    how long people would stay with each system.
    If `role` is given, only ratings by people in this role are used. `worst` disagreements are shown per metric, and
    the `read` best and worst dialogues per system. Samples can be filtered by the fields `slice_by`; by default those
    that `interloq compare` slices by. Bad lines and `columns` are handled as in `interloq.read`.
    """
    inputs = Inputs(scores, samples, dialogues, models, curves, continuity, comparisons, preferences)
    refuse_overwriting([output], inputs.files)
    options = ReportOptions(aspect, title, n_bootstrap, seed, worst, read, lower_is_better, survival, role, slice_by)
    check(inputs, options)
    evidence = read_evidence(inputs, options, strict=strict, on_reject=on_reject, fields=columns)
    made_by = command(inputs, options)
    page = build(evidence, title=title, aspect=aspect, command=made_by, sources=inputs.sources(), date=_date())
    with replacing(output) as file:
        file.write(render(page).encode())
    return Report(page, evidence)


def _date() -> str:
    """The date, only if SOURCE_DATE_EPOCH is set, so that the same input gives the same bytes."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    return datetime.fromtimestamp(int(epoch), UTC).strftime("%Y-%m-%d") if epoch.isascii() and epoch.isdigit() else ""
