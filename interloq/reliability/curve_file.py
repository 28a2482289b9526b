# SPDX-License-Identifier: Apache-2.0
"""Correlation of metrics with people as references are added, for a file of rated samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import orjson

from interloq.data.files.opening import lines, reading_saved
from interloq.data.files.overwriting import refuse_overwriting
from interloq.data.progress import Progress, silent
from interloq.data.records.jsonl import header, write
from interloq.data.records.read_options import READ_DEFAULTS, ReadOptions
from interloq.data.records.stored import read_all_stored, read_stored
from interloq.errors import InputError
from interloq.reliability.curve import DEFAULTS, AgreementCurve, AgreementPoint, curve
from interloq.reliability.labels import group_queries
from interloq.reliability.reliability_options import CurveOptions


def curve_file(
    samples: str | Path,
    metrics: Sequence[str],
    output: str | Path | None = None,
    options: CurveOptions = DEFAULTS,
    *,
    reading: ReadOptions = READ_DEFAULTS,
    progress: Progress = silent,
) -> list[AgreementCurve]:
    """Compute one curve per metric (see `reliability.curve.curve`) and, if `output` is given, write them to it."""
    refuse_overwriting([output] if output else [], [samples])
    records = list(reading.read(samples))
    queries = group_queries(records, aspect=options.aspect)
    distrusted = 0
    for sample in records:
        distrusted += sum(reference.weight <= 0 for reference in sample.references)
    curves = []
    for metric in metrics:
        with progress(f"scoring replies with {metric}", sum(len(query.replies) for query in queries)) as step:
            curves.append(replace(curve(queries, metric, options, step=step), distrusted=distrusted))
    if output:
        facts = {"sizes": list(options.sizes), "own": options.own, "draws": options.draws}
        facts |= {"resamples": options.n_bootstrap, "seed": options.seed}
        if options.without_copies:
            facts["without_copies"] = True
        write(output, curves, kind="curves", aspect=options.aspect, options=facts)
    return curves


def read_curves(path: str | Path) -> list[AgreementCurve]:
    """Return the curves in a file that `curve_file` wrote."""
    written = [line for _, line in lines(path)]
    if header(path).get("kind") != "curves":
        raise InputError("not a file of curves", hint="make one: interloq reliability curve -o", where=str(path))
    curves = []
    with reading_saved(path):
        for line in written[1:]:
            value = {"skipped": {}, **orjson.loads(line)}
            points = read_all_stored(AgreementPoint, value["points"])
            curves.append(read_stored(AgreementCurve, value, points=list(points)))
    return curves
