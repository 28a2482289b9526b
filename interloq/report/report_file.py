# SPDX-License-Identifier: Apache-2.0
"""Write the report of score files and samples."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from interloq.data.files.opening import replacing
from interloq.data.files.overwriting import refuse_overwriting
from interloq.data.records.read_options import READ_DEFAULTS, ReadOptions
from interloq.report.build import Evidence, build
from interloq.report.evidence import Inputs, read_evidence
from interloq.report.page import ReportPage
from interloq.report.render import render
from interloq.report.report_options import ReportOptions


@dataclass(frozen=True, slots=True)
class Report:
    """The page that was written, and the data it shows."""

    page: ReportPage
    evidence: Evidence


def report_file(
    scores: Sequence[str | Path], output: str | Path, options: ReportOptions, *, reading: ReadOptions = READ_DEFAULTS
) -> Report:
    """Write the report of score files and their samples; `-` as output is standard output."""
    inputs = Inputs(scores, options)
    refuse_overwriting([output], inputs.files)
    evidence = read_evidence(inputs, reading)
    page = build(
        evidence,
        title=options.title,
        aspect=options.aspect,
        command=inputs.command(reading),
        sources=inputs.sources(),
        date=_date(),
    )
    with replacing(output) as file:
        file.write(render(page).encode())
    return Report(page, evidence)


def _date() -> str:
    """Return the date, only if SOURCE_DATE_EPOCH is set, so that the same input gives the same bytes."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    return datetime.fromtimestamp(int(epoch), UTC).strftime("%Y-%m-%d") if epoch.isascii() and epoch.isdigit() else ""
