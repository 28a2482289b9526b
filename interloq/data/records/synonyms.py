# SPDX-License-Identifier: Apache-2.0
"""Fields under other names: `reply` for `response`, `model` for `system`, `annotator` for `rater`.

A name that can only mean one field is accepted and reported; two candidates for a field are an error, except for the
dialogue of a sample, which has the first of its candidates. `columns` (on the command line `--map response=reply`)
resolves such conflicts. A name with dots finds a field within an object: `--map response=outputs.answer`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import chain
from typing import Any

from interloq.errors import InputError, nearest

_IDS = ("sample_id", "item_id", "example_id", "uid", "uuid")
_DIALOGUE_IDS = ("dialogue_id", "dialog_id", "conversation_id", "chat_id", "session_id")
IN_ORDER = ("dialogue",)  # fields that take the first of several candidates: a session may have several threads
FIELDS: dict[str, dict[str, tuple[str, ...]]] = {
    "samples": {
        "id": _IDS,
        "context": ("history", "dialogue_history", "contexts", "prompt", "question", "query", "messages"),
        "response": (
            "reply", "answer", "output", "hypothesis", "prediction", "generation", "generated", "generated_text",
            "completion", "model_output", "bot_response", "responses", "candidate",
        ),
        "references": ("reference", "gold", "target", "targets", "ground_truth", "ideal", "expected"),
        "system": ("model", "bot", "model_name", "system_name", "model_id"),
        "ratings": ("rating", "human_ratings", "judgments", "judgements"),
        "rater": ("annotator", "worker", "judge", "annotator_id", "rater_id", "worker_id"),
        "dialogue": (
            "dialogue_id", "dialog_id", "conversation_id", "chat_id", "thread_id", "thread", "session_id", "session",
        ),
    },
    "dialogues": {
        "id": _DIALOGUE_IDS,
        "turns": ("messages", "conversations", "conversation", "dialogue", "dialog", "utterances"),
        "systems": (),
        "ratings": ("rating", "human_ratings", "judgments", "judgements"),
    },
    "pairs": dict.fromkeys(("id", "utterance", "response", "to", "thread", "time"), ()),
    "ratings": {
        "item": _IDS,
        "rater": ("annotator", "worker", "judge", "annotator_id", "rater_id", "worker_id"),
        "aspect": ("dimension", "criterion", "quality"),
        "value": ("rating", "score"),
        "role": (),
        "system": ("model", "bot", "model_name", "system_name", "model_id"),
    },
}  # fmt: skip
FIELDS["prompts"] = FIELDS["samples"]  # samples that may have no reply yet


EACH_ITS_OWN = ("dialogue", "id")  # `--map dialogue=id`: no two samples belong to one dialogue
NOTHING = object()


class Names:
    """Renames the fields of records of one kind, and records which synonyms were used."""

    def __init__(self, kind: str, columns: Mapping[str, str] | None = None, *, keep: Collection[str] = ()) -> None:
        self.fields, self.columns = FIELDS.get(kind, {}), dict(columns or {})
        if unknown := [field for field in self.columns if field not in self.fields]:
            known = self.fields or ("none for this kind of file",)
            raise InputError(f"cannot map {unknown[0]!r} of {kind}{nearest(unknown[0], known)}")
        self._synonyms: dict[str, list[str]] = {}
        for field, names in self.fields.items():
            if field not in self.columns:
                self._synonyms[field] = [name for name in names if name not in keep]
        self._others = set(chain.from_iterable(self._synonyms.values()))
        self.ignored: list[str] = []  # columns of a table that are not fields
        self.used: dict[str, str] = {}  # field → the synonym it was read from
        self._absent = {name for field, name in self.columns.items() if (field, name) != EACH_ITS_OWN}

    def rename(self, value: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the record with its standard field names."""
        if self.columns:
            value = self._map(value)
        if self._others.isdisjoint(value):
            return value
        synonyms = {}
        for field in self._synonyms:
            if field not in value and (name := self._synonym(field, value)):
                synonyms[field] = name
        self.used |= synonyms
        record = {name: item for name, item in value.items() if name not in synonyms.values()}
        for field, name in synonyms.items():
            record[field] = value[name]
        return record

    def check(self) -> None:
        """Refuse a mapping to a name that no record had: a typing mistake would lose the field silently."""
        if self._absent:
            names = ", ".join(map(repr, sorted(self._absent)))
            raise InputError(f"no record has {names}, named by --map", hint="map fields to names that the file has")

    def _map(self, value: Mapping[str, Any]) -> Mapping[str, Any]:
        mapped = {}
        for field, name in self.columns.items():
            if (item := find_item(value, name)) is not NOTHING:
                mapped[field] = item
                self._absent.discard(name)
        # `--map dialogue=id` leaves the id in its place
        spoken_for = {*self.columns, *(name for name in self.columns.values() if name not in self.fields)}
        return {name: item for name, item in value.items() if name not in spoken_for} | mapped

    def _synonym(self, field: str, value: Mapping[str, Any]) -> str:
        names = [name for name in self._synonyms[field] if name in value]
        if field in IN_ORDER:
            return next((name for name in names if not isinstance(value[name], list | dict)), "")
        if len(names) > 1:
            shown = " and ".join(map(repr, names[:2]))
            raise InputError(f"{shown} could both be the {field}", hint=f"say which: --map {field}={names[0]}")
        if not names:
            return ""
        return names[0]


def find_item(value: Mapping[str, Any], name: str) -> Any:
    """Return the item of this name, or of a path through objects and lists (`choices.0.text`); else NOTHING."""
    if name in value:
        return value[name]
    item: Any = value
    for part in name.split("."):
        if isinstance(item, Mapping) and part in item:
            item = item[part]
        elif isinstance(item, list) and part.isdecimal() and int(part) < len(item):
            item = item[int(part)]
        else:
            return NOTHING
    return item


def read_columns(text: str) -> dict[str, str]:
    """Read `response=reply,system=model` as {"response": "reply", "system": "model"}."""
    columns: dict[str, str] = {}
    for part in text.split(","):
        field, equals, column = map(str.strip, part.partition("="))
        if not (field and equals and column):
            raise InputError(f"cannot read {part.strip()!r} in {text!r}", hint="write response=reply,system=model")
        if field in columns or column in columns.values():
            raise InputError(f"{part.strip()!r} in {text!r} maps a name twice", hint="map each name once")
        columns[field] = column
    return columns
