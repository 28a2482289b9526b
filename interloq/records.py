# SPDX-License-Identifier: Apache-2.0
"""The records that stages exchange: frozen, small, and the same in Python and on disk.

A stage adds to a record with `dataclasses.replace`; it never changes its input. Texts are in one Unicode form
(`unicode_form.py`), so that equal texts are equal everywhere.
Missing is `None` or NaN, never 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Any, TypeVar

from interloq.errors import InputError, nearest
from interloq.signature import Signature
from interloq.tabular import Row, Tabular, bounds
from interloq.unicode_form import normalise

Record = TypeVar("Record")
Key = tuple[str, str]  # what identifies a sample: its id and its system
Further = Mapping[str, str | int | float]  # further fields of a record by name
INTERLOCUTOR, OUTSIDER = "interlocutor", "outsider"  # roles of raters: in the dialogue, or reading it
ILLUSTRATIVE = "illustrative"  # the role of ratings made up for illustration
# kinds of turns that nobody said
SYSTEM_PROMPT, TOOL_CALL, TOOL_RESULT = "system", "tool_call", "tool_result"
REASONING, ATTACHMENT, NOTE = "reasoning", "attachment", "note"  # a note is for colleagues
UNSPOKEN = frozenset((SYSTEM_PROMPT, TOOL_CALL, TOOL_RESULT, REASONING, ATTACHMENT, NOTE))
NO_SYSTEM = "(none)"  # shown for samples without a system if other samples have one


def pickles_fast(record: type[Record]) -> type[Record]:
    """Let records go to other processes in half the time that dataclasses with slots need, as all fields by place."""
    names = [item.name for item in fields(record)]  # type: ignore[arg-type]
    read_all = attrgetter(*names)
    setters = [getattr(record, name).__set__ for name in names]

    def write_all(self: Record, values: tuple[object, ...]) -> None:
        for set_field, value in zip(setters, values, strict=False):
            set_field(self, value)

    setattr(record, "__getstate__", lambda self: read_all(self))  # noqa: B010 - mypy knows no such method
    setattr(record, "__setstate__", write_all)  # noqa: B010
    return record


@pickles_fast
@dataclass(frozen=True, slots=True)
class Turn:
    """One utterance of a dialogue, or something that nobody said if it has a `kind`, such as TOOL_RESULT.

    `ratings` are of this turn alone, and `fields` are further texts and numbers about it, such as its latency.
    """

    text: str
    speaker: str = ""
    time: str = ""
    kind: str = ""
    ratings: tuple[Rating, ...] = field(default=(), compare=False)
    fields: Further | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        _normalise(self, "text")
        if self.kind and self.kind not in UNSPOKEN:
            raise InputError(f"unknown kind of turn {self.kind!r}{nearest(self.kind, sorted(UNSPOKEN))}")
        if taken := self.fields and self.fields.keys() & {"text", "speaker", "time", "ratings", "fields"}:
            raise InputError(f"{min(taken)!r} is a field of its own", hint="give further fields other names")


@pickles_fast
@dataclass(frozen=True, slots=True)
class Reference:
    """A possible reply; its weight says how good it is, from -1 to 1."""

    text: str
    weight: float = 1.0
    source: str = "gold"  # gold, parrot, human or retrieved:<id>

    def __post_init__(self) -> None:
        _normalise(self, "text")
        if not abs(self.weight) <= 1 + 1e-9:  # beyond rounding; also refuses NaN
            hint = "scale ratings to this range, or let `interloq rate` write weights"
            raise InputError(f"the weight of a reference must be from -1 to 1, got {self.weight}", hint=hint)


@pickles_fast
@dataclass(frozen=True, slots=True)
class Rating:
    """One person's judgment; a `value` of None means that the person answered "not applicable"."""

    value: float | None
    rater: str = ""
    aspect: str = "overall"
    role: str = ""  # e.g. INTERLOCUTOR or OUTSIDER
    item: str = ""  # id of the rated item, if the rating is stored on its own
    system: str = ""  # the item's system, if several systems have an item with this id
    comment: str = ""

    def __post_init__(self) -> None:
        if self.value is not None and not math.isfinite(self.value):
            raise InputError(
                f"rating must be a finite number, got {self.value}",
                hint="omit the rating or write null for 'not applicable'",
            )


@dataclass(frozen=True, slots=True)
class Preference:
    """Which of two systems' answers to an item a person preferred; a `winner` of "" means a tie."""

    item: str
    systems: tuple[str, str]
    winner: str  # required, so that ties are written to files
    rater: str = ""
    aspect: str = "overall"
    reason: str = ""
    ids: tuple[str, ...] = ()  # of the two answers, if they are not the item's

    def __post_init__(self) -> None:
        names, ids = tuple(self.systems), tuple(self.ids)
        if len(names) != 2 or names[0] == names[1] or not all(isinstance(name, str) and name for name in names):
            raise InputError(f"a preference is between two different systems, got {_format_value(self.systems)}")
        if self.winner and self.winner not in names:
            hint = f'name {names[0]!r} or {names[1]!r}, or "" for a tie'
            raise InputError(f"the winner is not one of the two systems: {_format_value(self.winner)}", hint=hint)
        if len(ids) not in (0, 2) or not all(isinstance(id, str) and id for id in ids):
            raise InputError(f"ids must be those of the two answers, got {_format_value(self.ids)}")
        object.__setattr__(self, "systems", names)
        object.__setattr__(self, "ids", ids)

    def key(self, system: str) -> Key:
        """Return the key of the answer of one of the two systems."""
        return (self.ids or (self.item, self.item))[self.systems.index(system)], system


@pickles_fast
@dataclass(frozen=True, slots=True)
class Sample:
    """One reply to be judged. Context and references may be given as plain strings.

    Replies with the same `dialogue` belong to one conversation and are not independent. If it is empty, contexts that
    continue each other may reveal it (`interloq.data.records.dialogue_names`); it is never read from the id. `fields`
    are further texts and numbers of the record, such as its topic, which are kept and can be sliced by.
    """

    id: str
    context: tuple[Turn, ...]
    response: str
    references: tuple[Reference, ...] = ()
    system: str = ""
    ratings: tuple[Rating, ...] = ()
    dialogue: str = ""
    fields: Further = field(default_factory=dict, hash=False)

    def __init__(
        self,
        id: str,
        context: str | Iterable[str | Turn] = (),
        response: str = "",
        references: str | Iterable[str | Reference] = (),
        system: str = "",
        ratings: Iterable[float | Rating] = (),
        dialogue: str = "",
        fields: Further | None = None,
    ) -> None:
        for name, value in (("id", id), ("response", response), ("system", system), ("dialogue", dialogue)):
            if not isinstance(value, str):
                raise InputError(f"{name} must be text, got {_format_value(value)}")
        object.__setattr__(self, "id", id)
        object.__setattr__(self, "context", tuple(_each(context, Turn, "context")))
        if kinds := [turn.kind for turn in self.context if turn.kind]:
            hint = "a context is what was said: omit the turn, or keep it in a dialogue"
            raise InputError(f"the context has a turn of the kind {kinds[0]!r}", hint=hint)
        object.__setattr__(self, "response", normalise(response))
        object.__setattr__(self, "references", tuple(_each(references, Reference, "references")))
        object.__setattr__(self, "system", system)
        object.__setattr__(self, "ratings", tuple(_ratings(ratings)))
        object.__setattr__(self, "dialogue", dialogue)
        object.__setattr__(self, "fields", _further(fields, Sample))

    @property
    def key(self) -> Key:
        """Id and system, which identify the sample."""
        return self.id, self.system


@dataclass(frozen=True, slots=True)
class Dialogue:
    """A whole conversation; `systems` maps a speaker to its system.

    The first `given` turns were given to the speakers, not written by them. `failure` says what went wrong, if anything
    did: `a: timed out at turn 5`. `ended_by` says who ended the dialogue and why, if a speaker did: `a: said goodbye`.
    Dialogues of different systems with the same `occasion` (a topic, a person) are compared with each other. `fields`
    are as in a sample.

    `turns` are only what was said, so no metric or judge takes a tool's output for a person's words. Turns of another
    kind are in `unspoken`, each with the number of utterances before it. In files, all turns are in one list.
    """

    id: str
    turns: tuple[Turn, ...]
    systems: Mapping[str, str] = field(default_factory=dict)
    ratings: tuple[Rating, ...] = ()
    given: int = 0
    failure: str = ""
    occasion: str = ""
    ended_by: str = ""
    fields: Further = field(default_factory=dict)
    unspoken: tuple[tuple[int, Turn], ...] = ()

    def __init__(
        self,
        id: str,
        turns: Iterable[str | Turn] = (),
        systems: Mapping[str, str] | None = None,
        ratings: Iterable[float | Rating] = (),
        given: int = 0,
        failure: str = "",
        occasion: str = "",
        ended_by: str = "",
        fields: Further | None = None,
        unspoken: Iterable[tuple[int, Turn]] = (),
    ) -> None:
        spoken: list[Turn] = []
        others = list(unspoken)
        for turn in _each(turns, Turn, "turns"):
            if turn.kind:
                others.append((len(spoken), turn))
            else:
                spoken.append(turn)
        object.__setattr__(self, "id", id)
        object.__setattr__(self, "turns", tuple(spoken))
        object.__setattr__(self, "unspoken", tuple(others))
        object.__setattr__(self, "systems", _systems(systems or {}))
        object.__setattr__(self, "ratings", tuple(_ratings(ratings)))
        if isinstance(given, bool) or not isinstance(given, int) or not 0 <= given <= len(self.turns):
            raise InputError(f"given must be a number of turns from 0 to {len(self.turns)}, got {_format_value(given)}")
        object.__setattr__(self, "given", given)
        object.__setattr__(self, "failure", failure)
        object.__setattr__(self, "occasion", occasion)
        object.__setattr__(self, "ended_by", ended_by)
        object.__setattr__(self, "fields", _further(fields, Dialogue))

    def all_turns(self) -> list[Turn]:
        """Return what was said and what was not, in order."""
        turns = []
        rest = sorted(self.unspoken, key=lambda placed: placed[0])
        for i, turn in enumerate(self.turns):
            while rest and rest[0][0] <= i:
                turns.append(rest.pop(0)[1])
            turns.append(turn)
        return turns + [turn for _, turn in rest]


@dataclass(frozen=True, slots=True)
class Post:
    """One message of a log; times are ISO 8601 in UTC, so they sort as text."""

    id: str
    user: str
    text: str
    time: str = ""
    reply_to: str = ""  # the id of the post it answers
    lang: str = ""
    thread: str = ""


@dataclass(frozen=True, slots=True)
class Pair:
    """An utterance and a response to it from a log; pairs that share `to` answer the same post."""

    id: str
    utterance: str
    response: str
    to: str = ""  # the id of the utterance's post
    thread: str = ""
    time: str = ""

    def __post_init__(self) -> None:
        _normalise(self, "utterance", "response")


@dataclass(frozen=True, slots=True)
class Score:
    """One sample's score by a metric (its spec); `value` is None if unscored, and `reason` says why.

    `details` are further facts about the score as JSON values, such as the interval of a prediction. `dialogue` is the
    sample's, since replies in one dialogue are not independent. `sample` is a fingerprint of what was scored, so that
    scores are not joined with other samples (`interloq.data.records.sample_fingerprint`).
    """

    id: str
    metric: str
    value: float | None
    reason: str = ""
    system: str = ""
    details: Mapping[str, Any] = field(default_factory=dict, hash=False)
    dialogue: str = ""
    sample: str = field(default="", compare=False)

    @property
    def key(self) -> Key:
        """Id and system, which identify the sample."""
        return self.id, self.system


@dataclass(frozen=True, slots=True)
class Note:
    """Something about the data that readers of a score need to know."""

    name: str  # of the check
    text: str
    count: int  # affected replies
    of: int  # all replies
    by_system: tuple[tuple[str, int], ...] = ()  # affected replies
    metric: str = ""  # the affected metric; empty for all


@dataclass(frozen=True, slots=True, repr=False)
class Result(Tabular):
    """A metric's value for a set of samples.

    `n` counts the scored samples and `unscored` the others; `reasons` says why, by sample.
    `ci` is the 95 % bootstrap interval, or None without resamples.
    `details` are further numbers of some metrics, such as precision and recall.
    `notes` warn about properties of the data that make the value misleading.
    """

    metric: str
    value: float
    ci: tuple[float, float] | None
    n: int
    unscored: int
    signature: Signature
    by_sample: Mapping[Key, float]  # (id, system) → score; NaN if unscored
    reasons: Mapping[Key, str] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
    details: Mapping[str, float] = field(default_factory=dict)
    dialogues: Mapping[Key, str] = field(default_factory=dict)  # of samples that belong to a known one
    prints: Sequence[str] = field(default=(), compare=False)  # fingerprint of each sample, in their order

    def scores(self, metric: str = "") -> Iterator[Score]:
        """Yield one record per sample, with the metric's spec or another name."""
        for i, (key, value) in enumerate(self.by_sample.items()):
            known = None if math.isnan(value) else value
            reason, dialogue = self.reasons.get(key, ""), self.dialogues.get(key, "")
            sample = self.prints[i] if self.prints else ""
            yield Score(key[0], metric or self.metric, known, reason, key[1], dialogue=dialogue, sample=sample)

    def _title(self) -> str:
        """Return the metric's spec."""
        return self.metric

    def _table_rows(self) -> list[Row]:
        """Return one row: the value, its interval, the numbers of samples, and the details."""
        counts = {"n": self.n, "unscored": self.unscored}
        return [{"value": self.value, **bounds(self.ci), **counts, **self.details}]

    def _frame_rows(self) -> list[Row]:
        """Return one row per sample: `id`, `system`, `value` (NaN if unscored) and the `reason`."""
        return [
            {"id": key[0], "system": key[1], "value": value, "reason": self.reasons.get(key, "")}
            for key, value in self.by_sample.items()
        ]

    def _remarks(self) -> list[str]:
        """Return the notes."""
        return [note.text for note in self.notes]


class BySample(Mapping[Key, float]):
    """A read-only mapping (id, system) → float over one array: eight bytes per value, not a hundred."""

    __slots__ = ("_ids", "_index", "_systems", "_values")

    def __init__(self, ids: Sequence[str], systems: Sequence[str], values: Any) -> None:
        self._ids, self._systems, self._values = ids, systems, values
        self._index: dict[Key, int] | None = None

    def __getitem__(self, key: Key) -> float:
        if self._index is None:
            self._index = {known: i for i, known in enumerate(self)}
        return float(self._values[self._index[key]])

    def __iter__(self) -> Iterator[Key]:
        return zip(self._ids, self._systems, strict=True)

    def __len__(self) -> int:
        return len(self._ids)

    def __repr__(self) -> str:
        return f"BySample({len(self)} values)"


class SampleKeys:
    """Keys of samples. An id without a system finds the only sample with this id; an ambiguous id is refused."""

    def __init__(self, keys: Iterable[Key]) -> None:
        self._systems: dict[str, list[str]] = {}
        for id, system in keys:
            self._systems.setdefault(id, []).append(system)

    def find(self, id: str, system: str = "") -> Key | None:
        """Return the sample with this id and system or, without a system, the only sample with this id."""
        if system in self._systems.get(id, []):
            return id, system
        return None if system else self.only(id)

    def only(self, id: str) -> Key | None:
        """Return the only sample with this id; None if there is none."""
        systems = self._systems.get(id, [])
        if len(systems) > 1:
            named = ", ".join(repr(system or NO_SYSTEM) for system in sorted(systems))
            raise InputError(f"{id!r} is a sample of {len(systems)} systems: {named}", hint="name one of the systems")
        return (id, systems[0]) if systems else None


def format_key(key: Key) -> str:
    """Return the key for messages: `'c1' of 'bot'`."""
    return f"{key[0]!r} of {key[1]!r}" if key[1] else repr(key[0])


def _each(values: Any, kind: type[Any], name: str) -> Iterator[Any]:
    """Return records from records or plain strings; a single string is one record, not a list of letters."""
    if isinstance(values, str | kind):
        values = (values,)
    elif not isinstance(values, Iterable) or isinstance(values, bytes | Mapping):
        raise InputError(f"{name} must be a list of texts, got {_format_value(values)}")
    for i, value in enumerate(values):
        if isinstance(value, str):
            yield kind(value)
        elif isinstance(value, kind):
            yield value
        else:
            raise InputError(
                f"{name}[{i}] must be text or a {kind.__name__}, got {_format_value(value)}",
                hint=f"give each sample its own flat list of {name}",
            )


def _ratings(values: Iterable[float | Rating]) -> Iterator[Rating]:
    """Return ratings from records or plain numbers; each number gets its own rater: two numbers are two people."""
    for i, value in enumerate(values):
        yield value if isinstance(value, Rating) else Rating(float(value), rater=str(i + 1))


def _systems(systems: Mapping[str, str | None]) -> dict[str, str]:
    """Return the system of each speaker, without speakers whose system is None."""
    for speaker, system in systems.items():
        if system is not None and not isinstance(system, str):
            raise InputError(f"systems[{speaker!r}] must be text, got {_format_value(system)}", hint="name one system")
    return {speaker: system for speaker, system in systems.items() if system is not None}


def _further(fields: Further | None, kind: type[Any]) -> Further:
    """Check further fields of a record; a name that is also a field of the record would be read as that field."""
    if taken := (fields or {}).keys() & kind.__dataclass_fields__.keys():
        raise InputError(f"{min(taken)!r} is a field of its own", hint="give further fields other names")
    return dict(fields) if fields else {}


def _normalise(record: Any, *names: str) -> None:
    """Convert the texts of a record that is being made to the one Unicode form."""
    for name in names:
        text = getattr(record, name)
        if isinstance(text, str) and not text.isascii():
            object.__setattr__(record, name, normalise(text))


def _format_value(value: object) -> str:
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 60 else text[:57] + '...'}"
