# SPDX-License-Identifier: Apache-2.0
"""Ratings that are stored on their own, added to the samples or dialogues that they rate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from interloq.data.files.overwriting import refuse_overwriting
from interloq.data.records.convert_file import detect_kind
from interloq.data.records.jsonl import header, record_line, write
from interloq.data.records.read_options import READ_DEFAULTS, ReadOptions
from interloq.errors import InputError
from interloq.records import Dialogue, Key, Rating, Sample, SampleKeys
from interloq.signature import fingerprint

SHOWN = 5  # unknown items that are named
MERGED = "merged_ratings"  # fact in the header: fingerprints of the files whose ratings were added


def merge_file(
    path: str | Path, ratings: Sequence[str | Path], output: str | Path, *, reading: ReadOptions = READ_DEFAULTS
) -> dict[str, Any]:
    """Write samples or dialogues with the ratings of further files (JSONL, CSV or TSV), and return counts.

    A rating names its `item` and, if several systems have one with this id, its `system`; a rating of a dialogue keeps
    its system. Ratings of unknown items or systems are counted and not added. A named rater's rating that a record
    already has is not added again. Ratings without a rater are all kept, since equal ones may come from different
    people, unless their file was merged before (its fingerprint is in the header).
    """
    refuse_overwriting([output], [path, *ratings])
    kind = detect_kind(path)
    if kind not in ("samples", "dialogues"):
        raise InputError(f"{path} contains {kind}", hint="give samples or dialogues")
    facts = {name: value for name, value in header(path).items() if name not in ("kind", "schema")}
    merged = facts.get(MERGED)
    merge = _Merge(
        {_key(record): record for record in reading.read(path, kind=kind)},
        list(merged) if isinstance(merged, list) else [],
    )
    for file in ratings:
        merge.add(list(reading.read_beside([file], kind="ratings")))
    facts[MERGED] = merge.files
    written = write(output, merge.records.values(), kind=kind, **facts)
    counts = {"added": merge.added, "repeated": merge.repeated, "unknown": merge.unknown.total()}
    unknown_items = [{"item": item, "system": system} for item, system in list(merge.unknown)[:SHOWN]]
    return {"kind": kind, "records": written, **counts, "unknown_items": unknown_items}


@dataclass
class _Merge:
    """Records that collect ratings, and counts of what became of each rating."""

    records: dict[Key, Sample | Dialogue]
    files: list[str]  # fingerprints of the merged files of ratings
    added: int = 0
    repeated: int = 0
    unknown: Counter[Key] = field(default_factory=Counter)  # item and system, as named by ratings that were not added

    def __post_init__(self) -> None:
        self._keys = SampleKeys(self.records)

    def add(self, ratings: Sequence[Rating]) -> None:
        """Add the ratings of one file."""
        file = fingerprint(*(record_line(rating) for rating in ratings))
        merged_before = file in self.files
        if not merged_before:
            self.files.append(file)
        for rating in ratings:
            key = self._rated_key(rating)
            if key is None:
                self.unknown[rating.item, rating.system] += 1
                continue
            record = self.records[key]
            system = rating.system if isinstance(record, Dialogue) else ""  # a sample has only one system
            rating = replace(rating, item="", system=system)
            if rating in record.ratings and (rating.rater or merged_before):
                self.repeated += 1
            else:
                self.records[key] = replace(record, ratings=(*record.ratings, rating))
                self.added += 1

    def _rated_key(self, rating: Rating) -> Key | None:
        """Return the key of the record that a rating is about; None if the item or its system is unknown."""
        record = self.records.get((rating.item, ""))
        if isinstance(record, Dialogue):
            if rating.system and rating.system not in record.systems.values():
                return None
            return _key(record)
        return self._keys.find(rating.item, rating.system)


def _key(record: Sample | Dialogue) -> Key:
    return record.key if isinstance(record, Sample) else (record.id, "")
