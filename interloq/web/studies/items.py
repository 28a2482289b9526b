# SPDX-License-Identifier: Apache-2.0
"""Items of a task from records; what annotators see is kept apart from what they must not see.

Speakers are renamed A, B, … in order of appearance, because names of systems are often names of speakers.

Items on which metrics disagree most have the highest priority: there, a person's judgment reveals the most about the
metrics. Each metric's scores become percentiles among the samples it scored (the best has the highest). A sample's
priority is the difference between its highest and its lowest percentile, from 0 to 100; an item's priority is the
highest of its samples' priorities.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from interloq.data.records.jsonl import to_json
from interloq.errors import InputError, count
from interloq.metrics.metric_names import about_sets, direction
from interloq.records import Dialogue, Key, Sample, SampleKeys, Score, Turn, format_key
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
    owner: str = ""  # id of the participant who alone may get it; empty: everybody


def rate_items(
    records: Iterable[Sample | Dialogue],
    *,
    together: bool = True,
    mark_bots: bool = True,
    by_interlocutor: bool = False,
) -> list[StudyItem]:
    """Return items to rate: all replies to a context on a page (or each on its own), or one dialogue per page.

    `mark_bots` shows which speaker of a dialogue is a bot. With `by_interlocutor`, an item is for the person to whom
    the replies are addressed.
    """
    groups: dict[tuple[str, str], list[Sample | Dialogue]] = {}
    for record in records:
        owner = find_interlocutor(record) if by_interlocutor else ""
        groups.setdefault((owner, _place_of(record, together=together)), []).append(record)
    return [_item(group, mark_bots=mark_bots, owner=owner) for (owner, _), group in groups.items()]


def find_interlocutor(record: Sample | Dialogue) -> str:
    """Return the person to whom a reply is addressed: the speaker of the turn before it."""
    if isinstance(record, Dialogue):
        raise InputError("interlocutors rate replies, not dialogues", hint="make samples: interloq play samples")
    speaker = record.context[-1].speaker if record.context else ""
    if not speaker:
        what = f"sample {record.id!r} does not name the speaker of the turn before the reply"
        raise InputError(what, hint='write each turn of the context as {"speaker": "ann", "text": "…"}')
    if speaker == record.system:
        raise InputError(f"the reply of sample {record.id!r} follows a turn of its own system, {speaker!r}")
    return speaker


def compare_items(records: Iterable[Sample | Dialogue]) -> list[StudyItem]:
    """Return items with every two systems' replies to a context, or every two systems' dialogues on an occasion.

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


def list_compared_ids(item: str, units: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
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
    """Return the system of a sample, or the systems that take part in a dialogue."""
    if isinstance(record, Sample):
        return record.system
    return "+".join(sorted(set(record.systems.values())))


def speakers(dialogue: Dialogue) -> dict[str, str]:
    """Return the system of each speaker, by the letter that annotators see; '' for people."""
    shown = zip(blind(dialogue.turns), dialogue.turns, strict=True)
    return {blind_turn["speaker"]: dialogue.systems.get(turn.speaker, "") for blind_turn, turn in shown}


def _item(records: Sequence[Sample | Dialogue], *, mark_bots: bool = True, owner: str = "") -> StudyItem:
    if len(records) > MOST_UNITS:
        what = f"{count(len(records), 'reply', 'replies')} to one context: a page shows at most {MOST_UNITS}"
        raise InputError(what, hint="rate each reply on its own page")
    first = records[0]
    context: list[dict[str, Any]] = []
    kind = "dialogues"
    if isinstance(first, Sample):
        context, kind = blind(first.context, own=owner), "samples"
    units: list[dict[str, Any]] = []
    hidden: list[dict[str, Any]] = []
    for record in records:
        hidden.append({"id": record.id, "system": system_of(record), "record": to_json(record)})
        if isinstance(record, Sample):
            units.append({"text": record.response})
        else:
            units.append({"turns": blind(record.turns, record.systems if mark_bots else None)})
            hidden[-1][SPEAKERS] = speakers(record)
    shown = {"context": context, "units": units}
    return StudyItem(_key(first), shown, {"kind": kind, "units": hidden}, owner=owner)


def _key(record: Sample | Dialogue) -> str:
    """Return a key that all versions of one answer share: nobody rates two versions on different pages."""
    if isinstance(record, Dialogue):
        return fingerprint("dialogue", record.id)
    return fingerprint("context", *_texts(record))


def _texts(sample: Sample) -> tuple[str, ...]:
    return tuple(turn.text for turn in sample.context)


def blind(turns: Sequence[Turn], systems: Mapping[str, str] | None = None, *, own: str = "") -> list[dict[str, Any]]:
    """Rename speakers A, B, …; without names, speakers alternate.

    With `systems`, `bot` marks their turns; `own` is the reader, whose turns are marked too.
    """
    names: dict[str, str] = {}
    blind_turns = []
    for i, turn in enumerate(turns):
        speaker = turn.speaker or f"\0{i % 2}"
        name = names.setdefault(speaker, chr(ord("A") + len(names) % 26))
        blind_turn: dict[str, Any] = {"speaker": name, "text": turn.text}
        if systems is not None:
            blind_turn["bot"] = turn.speaker in systems
        if own:
            blind_turn["own"] = turn.speaker == own
        blind_turns.append(blind_turn)
    return blind_turns


def with_scores(items: Sequence[StudyItem], scores: Iterable[Score]) -> list[StudyItem]:
    """Return the items with the scores of their samples and with priorities; items without scores come last.

    Scores of other samples are omitted. One metric alone gives no priorities.
    """
    if any(item.hidden["kind"] != "samples" for item in items):
        raise InputError("scores are of samples, not of dialogues", hint="omit the scores")
    known = SampleKeys({_unit_key(unit) for item in items for unit in item.hidden["units"]})
    by_metric: dict[str, dict[Key, float | None]] = {}
    is_scored = False
    for score in scores:
        if (key := known.find(score.id, score.system)) is not None:
            by_metric.setdefault(score.metric, {})[key] = score.value
            is_scored = is_scored or score.value is not None
    if not is_scored:
        raise InputError("no sample of the task has a score", hint="give scores of the samples in this file")
    spread = disagreement({metric: turn_upwards(metric, values) for metric, values in by_metric.items()})
    return [_with_scores(item, by_metric, spread) for item in items]


def _with_scores(
    item: StudyItem, scores: Mapping[str, Mapping[Key, float | None]], spread: Mapping[Key, float]
) -> StudyItem:
    units = []
    priority = 0.0
    for unit in item.hidden["units"]:
        key = _unit_key(unit)
        unit_scores = {metric: values[key] for metric, values in scores.items() if key in values}
        units.append({**unit, "scores": unit_scores})
        priority = max(priority, spread.get(key, 0.0))
    return replace(item, hidden={**item.hidden, "units": units}, priority=priority)


def _unit_key(unit: Mapping[str, Any]) -> Key:
    return unit["id"], unit["system"]


def disagreement(metrics: Mapping[str, Mapping[Key, float]]) -> dict[Key, float]:
    """Return the range of percentiles of each sample with at least two scores."""
    from scipy.stats import rankdata

    percentiles: dict[Key, list[float]] = {}
    for values in metrics.values():
        for key, rank in zip(values, rankdata(list(values.values())), strict=True):
            percentiles.setdefault(key, []).append(100 * (float(rank) - 0.5) / len(values))
    return {key: max(some) - min(some) for key, some in percentiles.items() if len(some) > 1}


def turn_upwards(metric: str, values: Mapping[Key, float | None]) -> dict[Key, float]:
    """Return scores for which larger is better; none for a metric of sets or without a known direction."""
    way = direction(metric)
    if way == "neither" or about_sets(metric):
        return {}
    sign = -1 if way == "lower" else 1
    return {key: sign * value for key, value in values.items() if value is not None}
