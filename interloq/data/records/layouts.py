# SPDX-License-Identifier: Apache-2.0
"""Records from other layouts: fields under other names, chat exports, rows of a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from interloq.data.records import chat_exports as chat
from interloq.data.records import tables
from interloq.data.records.parsers import PARSERS
from interloq.data.records.synonyms import EACH_ITS_OWN, Names
from interloq.data.records.tables import Reject
from interloq.errors import InputError, count, nearest

Numbered = tuple[int, bytes, Any]  # the line's number, the line and its record
_RATING = '{"value": 4, "aspect": "overall", "rater": "ann"}'
_TURNS = {"samples": "context", "dialogues": "turns"}


class Layout:
    """Creates records of one kind, and collects notes about the layout for the user."""

    def __init__(self, kind: str, columns: Mapping[str, str] | None = None, *, table: bool = False) -> None:
        if kind not in PARSERS:
            raise InputError(f"unknown kind of record {kind!r}{nearest(kind, PARSERS)}")
        if table:  # column names are compared in lower case
            columns = {field: name.lower() for field, name in (columns or {}).items()}
        self.kind, self.table = kind, table
        self.names = Names(kind, columns, keep=tables.COLUMNS.get(kind, ()) if table else ())
        self._parse = PARSERS[kind]
        self._ratings = Names("ratings")
        self._skipped: Counter[str] = Counter()
        self._unread_ratings = 0
        self._rated_by_row = False
        self.dialogues_in_ids = False  # whether we wrote the file and its ids are `<dialogue>#<turn>`

    def records(self, objects: Iterable[tuple[int, bytes, Mapping[str, Any]]], reject: Reject) -> Iterator[Numbered]:
        """Yield the records of numbered lines; table rows of the same sample by different raters are merged."""
        held: dict[Any, Numbered] = {}
        for number, line, value in objects:
            try:
                record = self.record(value, str(number))
            except InputError as error:
                reject(number, line, error)
                continue
            if not self._rated_by_row:
                yield number, line, record
                continue
            first = held.get(record.key)
            if first and replace(first[2], ratings=(), fields={}) == replace(record, ratings=(), fields={}):
                held[record.key] = (*first[:2], _merge_rows(first[2], record))
            else:
                held[(record.key, number) if first else record.key] = number, line, record
        yield from held.values()

    def record(self, value: Mapping[str, Any], number: str) -> Any:
        """Return the record of one object; `number` is its id if it has none."""
        value = self.names.renamed(value)
        if self.table:
            self._rated_by_row = self.kind == "samples" and "rater" in value
            value = tables.cells(value, self.kind)
        if self.kind == "samples" and self.names.are_turns("dialogue", value):
            value = {name: item for name, item in value.items() if name != "dialogue"}
        field = _TURNS.get(self.kind)
        if field and chat.is_chat(value.get(field)):
            value = self._of_chat(value, field)
        ratings = value.get("ratings") if field else None
        if isinstance(ratings, list):
            value = {**value, "ratings": [self._ratings.renamed(r) if isinstance(r, dict) else r for r in ratings]}
        elif isinstance(ratings, dict):  # aspects or raters as keys: the texts can still be used
            self._unread_ratings += 1
            value = {**value, "ratings": []}
        record = self._parse(value, number)
        if EACH_ITS_OWN in self.names.columns.items():
            return replace(record, dialogue=record.id)
        if self.dialogues_in_ids and not record.dialogue:
            dialogue, _, turn = record.id.rpartition("#")
            if turn.isdecimal():
                return replace(record, dialogue=dialogue)
        return record

    def notes(self) -> str:
        """Return notes about renamed fields and skipped messages or ratings, in one line; empty if there are none."""
        used = [*self.names.used.items(), *self._ratings.used.items()]
        notes = [f"{name!r} is read as {field!r}" for field, name in used]
        counts = [count(n, what) for what, n in sorted(self._skipped.items()) if n]
        if self.names.ignored:
            shown = ", ".join(map(repr, self.names.ignored))
            used_for = "only used for slices" if self.kind == "samples" else "not used"
            notes.append(f"columns that are not fields of {self.kind}, and are {used_for}: {shown}")
        if counts:
            notes.append(f"skipped as not part of the dialogue: {', '.join(counts)}")
        if self._unread_ratings:
            of = count(self._unread_ratings, "record")
            notes.append(f"the ratings of {of} are an object and were not read: write a list such as [{_RATING}]")
        return "; ".join(notes)

    def _of_chat(self, value: Mapping[str, Any], field: str) -> Mapping[str, Any]:
        turns = chat.turns(value[field], self._skipped)
        record = {**value, field: turns}
        if field == "turns" and not value.get("systems"):
            for name in chat.SYSTEM_FIELDS:
                record.pop(name, None)
            record["systems"] = chat.systems(turns, value)
        return record


def _merge_rows(first: Any, second: Any) -> Any:
    """Return one sample from the rows of two raters; further fields that differ belong to the ratings, so omit them."""
    shared = {name: item for name, item in first.fields.items() if second.fields.get(name) == item}
    return replace(first, ratings=(*first.ratings, *second.ratings), fields=shared)
