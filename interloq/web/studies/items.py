# SPDX-License-Identifier: Apache-2.0
"""Items of a task from records; what annotators see is kept apart from what they must not see.

Speakers are renamed A, B, … in order of appearance, because names of systems are often names of speakers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from interloq.data.records.jsonl import to_json
from interloq.errors import InputError, count
from interloq.records import Dialogue, Sample, Turn, format_key
from interloq.signature import fingerprint

MOST_UNITS = 20  # replies on one page
MOST_PAIRS = 100_000  # of a task
SPEAKERS = "speakers"  # of a dialogue, in its hidden unit: letter → system, '' for people


@dataclass(frozen=True)
class StudyItem:
    """One page: `shown` is sent to annotators, `hidden` is not; `hidden["units"]` are the rated records."""

    answer_key: str
    shown: Mapping[str, Any]
    hidden: Mapping[str, Any]
    correct: Mapping[str, Sequence[float | str]] | None = None  # by aspect; an attention check
    priority: float = 0.0


def rate_items(
    records: Iterable[Sample | Dialogue], *, together: bool = True, mark_bots: bool = True
) -> list[StudyItem]:
    """Items to rate: all replies to one context on a page (or each on its own), or one dialogue per page.

    `mark_bots` shows which speaker of a dialogue is a bot.
    """
    groups: dict[str, list[Sample | Dialogue]] = {}
    for record in records:
        groups.setdefault(_place_of(record, together=together), []).append(record)
    return [_item(group, mark_bots=mark_bots) for group in groups.values()]


def compare_items(records: Iterable[Sample | Dialogue]) -> list[StudyItem]:
    """Items with every two systems' replies to one context, or every two systems' dialogues on one occasion.

    Replies with the same id belong together or, if no id occurs twice, replies to the same context.
    """
    records = list(records)
    has_shared_ids = len(set(map(_occasion, records))) < len(records)
    group_of = _occasion if has_shared_ids else _key
    groups: dict[str, list[Sample | Dialogue]] = {}
    for record in records:
        groups.setdefault(group_of(record), []).append(record)
    pairs = sum(len(group) * (len(group) - 1) // 2 for group in groups.values())
    if pairs > MOST_PAIRS:
        hint = "give fewer systems, or fewer replies to one context"
        raise InputError(f"{pairs:,} pairs to compare; a task has at most {MOST_PAIRS:,}", hint=hint)
    items = []
    for group in groups.values():
        for first, second in combinations(group, 2):
            if system_of(first) != system_of(second):
                items.append(_pair((first, second), _occasion(group[0])))
    if not items:
        hint = "give two systems' replies with the same id, or two dialogues with the same occasion"
        raise InputError("nothing to compare", hint=hint)
    return items


def _pair(pair: tuple[Sample | Dialogue, Sample | Dialogue], place: str) -> StudyItem:
    first, second = pair
    if not (system_of(first) and system_of(second)):
        raise InputError(f"a version of {first.id!r} has no system", hint="name the systems that are compared")
    if isinstance(first, Sample) and isinstance(second, Sample) and _texts(first) != _texts(second):
        raise InputError(f"the replies with the id {first.id!r} answer different contexts", hint="use different ids")
    item = _item(pair)
    key = item.answer_key if isinstance(first, Sample) else fingerprint("occasion", place)
    return replace(item, answer_key=key, hidden={**item.hidden, "item": place})


def compared_ids(item: str, units: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the ids of the compared records for a preference; none if both are the id of the item."""
    ids = tuple(str(unit["id"]) for unit in units)
    if set(ids) == {item}:
        return ()
    return ids


def _place_of(record: Sample | Dialogue, *, together: bool) -> str:
    if isinstance(record, Dialogue):
        return f"dialogue {record.id}"
    if together:
        return fingerprint(*_texts(record))
    return format_key(record.key)


def _occasion(record: Sample | Dialogue) -> str:
    if isinstance(record, Dialogue):
        return record.occasion or record.id
    return record.id


def system_of(record: Sample | Dialogue) -> str:
    """The system of a sample, or the systems that take part in a dialogue."""
    if isinstance(record, Sample):
        return record.system
    return "+".join(sorted(set(record.systems.values())))


def speakers(dialogue: Dialogue) -> dict[str, str]:
    """System of each speaker, by the letter that annotators see; '' for people."""
    shown = zip(blind(dialogue.turns), dialogue.turns, strict=True)
    return {one["speaker"]: dialogue.systems.get(turn.speaker, "") for one, turn in shown}


def _item(records: Sequence[Sample | Dialogue], *, mark_bots: bool = True) -> StudyItem:
    if len(records) > MOST_UNITS:
        what = f"{count(len(records), 'reply', 'replies')} to one context: a page shows at most {MOST_UNITS}"
        raise InputError(what, hint="rate each reply on its own page")
    first = records[0]
    context: list[dict[str, Any]] = []
    kind = "dialogues"
    if isinstance(first, Sample):
        context, kind = blind(first.context), "samples"
    units: list[dict[str, Any]] = []
    for record in records:
        if isinstance(record, Sample):
            units.append({"text": record.response})
        else:
            units.append({"turns": blind(record.turns, record.systems if mark_bots else None)})
    hidden = list(map(_hidden, records))
    return StudyItem(_key(first), {"context": context, "units": units}, {"kind": kind, "units": hidden})


def _hidden(record: Sample | Dialogue) -> dict[str, Any]:
    unit = {"id": record.id, "system": system_of(record), "record": to_json(record)}
    if isinstance(record, Dialogue):
        unit[SPEAKERS] = speakers(record)
    return unit


def _key(record: Sample | Dialogue) -> str:
    """The same for all versions of one answer: nobody rates two of them on different pages."""
    if isinstance(record, Dialogue):
        return fingerprint("dialogue", record.id)
    return fingerprint("context", *_texts(record))


def _texts(sample: Sample) -> tuple[str, ...]:
    return tuple(turn.text for turn in sample.context)


def blind(turns: Sequence[Turn], systems: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """Turns with speakers renamed A, B, …; without names they alternate. With `systems`, `bot` marks their turns."""
    names: dict[str, str] = {}
    blind_turns = []
    for i, turn in enumerate(turns):
        speaker = turn.speaker or f"\0{i % 2}"
        name = names.setdefault(speaker, chr(ord("A") + len(names) % 26))
        blind_turn: dict[str, Any] = {"speaker": name, "text": turn.text}
        if systems is not None:
            blind_turn["bot"] = turn.speaker in systems
        blind_turns.append(blind_turn)
    return blind_turns
