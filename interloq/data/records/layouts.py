# SPDX-License-Identifier: Apache-2.0
"""Records from other layouts: fields under other names, chat exports, rows of a table.

Chat exports have OpenAI's `{"role", "content"}` or ShareGPT's `{"from", "value"}` messages. Instructions to the model,
tool calls, their results and pictures were not said by anyone: in dialogues they are turns of another kind, which
metrics do not read; in contexts of samples they are skipped and counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from interloq.data.records import tables
from interloq.data.records.messages import KIND_NAMES, assistant_systems, is_message, message_turns
from interloq.data.records.parsers import PARSERS
from interloq.data.records.synonyms import EACH_ITS_OWN, Names
from interloq.data.records.tables import Reject
from interloq.errors import InputError, count, nearest
from interloq.records import UNSPOKEN

Numbered = tuple[int, bytes, Any]  # the line's number, the line and its record
_RATING = '{"value": 4, "aspect": "overall", "rater": "ann"}'
SAMPLES = ("samples", "prompts")
_TURNS = {**dict.fromkeys(SAMPLES, "context"), "dialogues": "turns"}


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
        self._unspoken: Counter[str] = Counter()
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
                # fields that differ between the rows of raters belong to the ratings
                shared = {name: item for name, item in first[2].fields.items() if record.fields.get(name) == item}
                merged = replace(first[2], ratings=(*first[2].ratings, *record.ratings), fields=shared)
                held[record.key] = (*first[:2], merged)
            else:
                held[(record.key, number) if first else record.key] = number, line, record
        yield from held.values()

    def record(self, value: Mapping[str, Any], number: str) -> Any:
        """Return the record of one object; `number` is its id if it has none."""
        value = self.names.rename(value)
        if self.table:
            self._rated_by_row = self.kind in SAMPLES and "rater" in value
            value = tables.cells(value, self.kind)
        has_turns = self.kind in SAMPLES and isinstance(value.get("dialogue"), list | dict)
        if has_turns and "dialogue" not in self.names.columns:  # turns instead of a name
            value = {name: item for name, item in value.items() if name != "dialogue"}
        field = _TURNS.get(self.kind)
        turns = value.get(field) if field else None
        is_context = self.kind in SAMPLES
        if field and isinstance(turns, list) and any(is_message(t) or (is_context and _is_unspoken(t)) for t in turns):
            value = self._of_chat(value, field)
        ratings = value.get("ratings") if field else None
        if isinstance(ratings, list):
            value = {**value, "ratings": [self._ratings.rename(r) if isinstance(r, dict) else r for r in ratings]}
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
        counts = [count(n, what) for what, n in sorted(self._unspoken.items())]
        if self.names.ignored:
            shown = ", ".join(map(repr, self.names.ignored))
            used_for = "only used for slices" if self.kind in SAMPLES else "not used"
            notes.append(f"columns that are not fields of {self.kind}, and are {used_for}: {shown}")
        if counts:
            done = "skipped as not part of the dialogue" if self.kind in SAMPLES else "kept, but not read by metrics"
            notes.append(f"{done}: {', '.join(counts)}")
        if self._unread_ratings:
            of = count(self._unread_ratings, "record")
            notes.append(f"the ratings of {of} are an object and were not read: write a list such as [{_RATING}]")
        return "; ".join(notes)

    def _of_chat(self, value: Mapping[str, Any], field: str) -> Mapping[str, Any]:
        """Return the record with its messages as turns, and without those of another kind in a context."""
        turns: list[Any] = []
        for i, message in enumerate(value[field], start=1):
            parts = [message]
            if is_message(message):
                read_turns = message_turns(message, i)
                parts = [{"text": turn.text, "speaker": turn.speaker, "kind": turn.kind} for turn in read_turns]
            for part in parts:
                if not _is_unspoken(part):
                    turns.append(part)
                    continue
                self._unspoken[KIND_NAMES.get(part["kind"], "tool message")] += 1
                if field == "turns":
                    turns.append(part)
        record = {**value, field: turns}
        if field == "turns" and not value.get("systems"):
            for name in SYSTEM_FIELDS:
                record.pop(name, None)
            record["systems"] = _chat_systems(turns, value)
        return record


def _is_unspoken(turn: Any) -> bool:
    return isinstance(turn, dict) and turn.get("kind") in UNSPOKEN


SYSTEM_FIELDS = ("model", "system")  # beside the messages: the assistant's name, or its prompt


def _chat_systems(turns: list[Any], value: Mapping[str, Any]) -> dict[str, str]:
    """Return the assistant's system: the model named with the messages, or `system` unless it is a prompt."""
    model, system = value.get("model"), value.get("system")
    if model is None and isinstance(system, str) and len(system.split()) == 1:
        model = system
    if not isinstance(model, str):
        return {}
    speakers = {turn["speaker"] for turn in turns if isinstance(turn, dict) and isinstance(turn.get("speaker"), str)}
    return assistant_systems(speakers, model)
