# SPDX-License-Identifier: Apache-2.0
"""Ratings that are stored on their own, added to the samples or dialogues that they rate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from interloq.data.convert_file import kind_held
from interloq.data.jsonl import Rejected, header, read, read_all, write
from interloq.data.overwriting import refuse_overwriting
from interloq.errors import InputError
from interloq.records import Dialogue, Key, Rating, Sample, SampleKeys

SHOWN = 5  # unknown items that are named


def merge_file(
    path: str | Path,
    ratings: Sequence[str | Path],
    output: str | Path,
    *,
    strict: bool = False,
    on_reject: Callable[[Rejected], None] | None = None,
) -> dict[str, Any]:
    """Write samples or dialogues with the ratings of further files (JSONL, CSV or TSV); returns counts.

    A rating names its `item` and, if several systems have one with this id, its `system`. Ratings that a record has
    already are not added again; those of unknown items are counted.
    """
    refuse_overwriting([output], [path, *ratings])
    kind = kind_held(path)
    if kind not in ("samples", "dialogues"):
        raise InputError(f"{path} contains {kind}", hint="give samples or dialogues")
    records = {_key(one): one for one in read(path, kind=kind, strict=strict, on_reject=on_reject)}
    known, added, repeated, unknown = SampleKeys(records), 0, 0, dict[str, int]()
    for rating in read_all(ratings, kind="ratings", strict=strict, on_reject=on_reject):
        key = known.find(rating.item, "" if kind == "dialogues" else rating.system)
        if key is None:
            unknown[rating.item] = unknown.get(rating.item, 0) + 1
        elif (new := replace(rating, item="", system="")) in records[key].ratings:
            repeated += 1
        else:
            records[key] = _rated(records[key], new)
            added += 1
    kept = {name: value for name, value in header(path).items() if name not in ("kind", "schema")}
    written = write(output, records.values(), kind=kind, **kept)
    counts = {"added": added, "repeated": repeated, "unknown": sum(unknown.values())}
    return {"kind": kind, "records": written, **counts, "unknown_items": list(unknown)[:SHOWN]}


def _key(record: Sample | Dialogue) -> Key:
    return record.key if isinstance(record, Sample) else (record.id, "")


def _rated(record: Sample | Dialogue, rating: Rating) -> Sample | Dialogue:
    return replace(record, ratings=(*record.ratings, rating))
