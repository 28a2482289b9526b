# SPDX-License-Identifier: Apache-2.0
"""Check a file of records: its kind and counts, and what metrics cannot handle in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from interloq.data.progress import Progress, count_records, silent
from interloq.data.records.convert_file import RecordSummary, detect_kind
from interloq.data.records.raters import RaterRanges
from interloq.data.records.read_options import READ_DEFAULTS, ReadOptions
from interloq.records import Note, Rating, Sample
from interloq.score.checks import Checks
from interloq.score.parse_metrics import choose
from interloq.score.score_options import CHECK_DEFAULTS, CheckOptions


def check_file(
    path: str | Path,
    options: CheckOptions = CHECK_DEFAULTS,
    *,
    kind: str | None = None,
    reading: ReadOptions = READ_DEFAULTS,
    progress: Progress = silent,
) -> tuple[dict[str, Any], list[Note]]:
    """Return kind and counts of a file's records, and notes on its samples and on what metrics cannot score.

    `kind` is found in the file unless it is given.
    """
    chosen, _ = choose(options.metrics, trust=options.trust)
    kind, summary, raters = kind or detect_kind(path), RecordSummary(), RaterRanges()
    checks = Checks([choice.metric for choice in chosen])
    with progress("reading", None) as step:
        for record in summary.watch(count_records(reading.read(path, kind=kind), step)):
            if isinstance(record, Sample):
                checks.add((record,))
            if isinstance(record, Rating):
                raters.add([record])
            else:
                raters.add(getattr(record, "ratings", ()))
    rater_notes = [Note("raters", text, 0, summary.records) for text in raters.notes()]
    return {"kind": kind, **summary.facts()}, [*checks.notes(), *rater_notes]
