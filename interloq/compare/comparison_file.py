# SPDX-License-Identifier: Apache-2.0
"""Read comparisons and gates that `interloq compare -o` and `interloq gate -o` wrote."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from interloq.compare.comparison import Change, Comparison, HumanMean, Worse
from interloq.compare.gate.gate import EXIT_CODES, Gate, Verdict
from interloq.compare.repeats import Noise
from interloq.data.files.opening import read_json, reading_saved
from interloq.data.records.stored import read_all_stored, read_stored
from interloq.signature import Signature
from interloq.statistics.estimate import Estimate


def read_comparison(path: str | Path) -> Comparison | Gate:
    """Read a comparison, or a gate with the comparison it is based on."""
    hint = "make one: interloq compare -o FILE, or interloq gate -o FILE"
    value = read_json(path, hint=hint)
    with reading_saved(path, "not a comparison", hint=hint):
        if "comparison" in value:
            if value["outcome"] not in EXIT_CODES:
                raise ValueError(f"unknown outcome {value['outcome']!r}")
            verdicts = []
            for verdict in value["verdicts"]:
                slope = verdict.get("slope")
                if slope:
                    slope = read_stored(Estimate, slope)
                verdicts.append(read_stored(Verdict, verdict, slope=slope))
            return read_stored(
                Gate,
                value,
                verdicts=tuple(verdicts),
                comparison=_read_comparison(value["comparison"]),
                noise=read_all_stored(Noise, value["noise"]),
            )
        return _read_comparison(value)


def _read_comparison(value: Mapping[str, Any]) -> Comparison:
    changes = []
    for change in value["changes"]:
        old, new = read_stored(Estimate, change["old"]), read_stored(Estimate, change["new"])
        changes.append(read_stored(Change, change, old=old, new=new))
    return read_stored(
        Comparison,
        value,
        changes=tuple(changes),
        people=read_all_stored(HumanMean, value["people"]),
        worse=read_all_stored(Worse, value["worse"]),
        signature=Signature.from_json(value["signature"]),
    )
