# SPDX-License-Identifier: Apache-2.0
"""Records from plain JSON values; every field is checked."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields, replace
from types import UnionType
from typing import Any

from interloq.data.records.synonyms import FIELDS
from interloq.errors import InputError
from interloq.records import UNSPOKEN, Dialogue, Pair, Post, Preference, Rating, Reference, Sample, Score, Turn

SHOWN_NAMES = 8
LARGEST = 1e50  # of ratings, scores and weights: fourth powers, as in degrees of freedom, must fit into a float
EARLIER_FAILURE = "trouble"  # the name in earlier files
_SAMPLE_FIELDS = {"rater", *(field.name for field in fields(Sample))}
_TURN_FIELDS = {field.name for field in fields(Turn)}
_DIALOGUE_FIELDS = {EARLIER_FAILURE, *(field.name for field in fields(Dialogue))}


def _prompt(value: Mapping[str, Any], number: str) -> Sample:
    """Return a sample that may have no reply yet; without a context there is nothing to reply to."""
    if not _list(value, "context"):
        raise InputError(f"the record has no context to reply to{_has(value)}", hint='add "context": ["…"]')
    return _sample({**value, "response": value.get("response") or ""}, number)


def _sample(value: Mapping[str, Any], number: str) -> Sample:
    rater = _get(value, "rater", str, "")
    return Sample(
        id=_id(value, number),
        context=[_turn(turn, f"context[{i}]") for i, turn in enumerate(_list(value, "context"))],
        response=_get(value, "response", str, required=True),
        references=[_reference(r, f"references[{i}]") for i, r in enumerate(_list(value, "references"))],
        system=_get(value, "system", str, ""),
        ratings=[_rating(r, f"ratings[{i}]", i, rater) for i, r in enumerate(_list(value, "ratings"))],
        dialogue=_name(value, "dialogue", ""),
        fields=_further(value, _SAMPLE_FIELDS),
    )


def _dialogue(value: Mapping[str, Any], number: str) -> Dialogue:
    turns = [_dialogue_turn(turn, f"turns[{i}]") for i, turn in enumerate(_list(value, "turns"))]
    failure = _get(value, "failure" if "failure" in value else EARLIER_FAILURE, str, "")
    if not (failure or any(not turn.kind for turn in turns)):  # a dialogue that failed at its first turn has none
        has = "" if "turns" in value else _has(value)
        raise InputError(f"the dialogue has no turns{has}", hint='add "turns": ["…", "…"] or omit the record')
    return Dialogue(
        id=_id(value, number),
        turns=turns,
        systems=_get(value, "systems", dict, {}),
        ratings=[_rating(r, f"ratings[{i}]", i) for i, r in enumerate(_list(value, "ratings"))],
        given=0 if value.get("given") is None else value["given"],
        failure=failure,
        occasion=_get(value, "occasion", str, ""),
        ended_by=_get(value, "ended_by", str, ""),
        fields=_further(value, _DIALOGUE_FIELDS),
    )


def _further(value: Mapping[str, Any], known: Collection[str]) -> dict[str, Any]:
    """Return further texts and numbers of a record; lists and objects are not kept."""
    return {name: item for name, item in value.items() if name not in known and isinstance(item, str | int | float)}


def _score(value: Mapping[str, Any], _: str) -> Score:
    return Score(
        id=_get(value, "id", str, required=True),
        metric=_get(value, "metric", str, required=True),
        value=parse_number(value.get("value"), "value"),
        reason=_get(value, "reason", str, ""),
        system=_get(value, "system", str, ""),
        details=_get(value, "details", dict, {}),
        dialogue=_name(value, "dialogue", ""),
        sample=_get(value, "sample", str, ""),
    )


def _post(value: Mapping[str, Any], number: str) -> Post:
    texts = {name: _get(value, name, str, "") for name in ("user", "time", "reply_to", "lang", "thread")}
    return Post(id=_id(value, number), text=_get(value, "text", str, required=True), **texts)


def _pair(value: Mapping[str, Any], number: str) -> Pair:
    return Pair(
        id=_id(value, number),
        utterance=_get(value, "utterance", str, required=True),
        response=_get(value, "response", str, required=True),
        to=_get(value, "to", str, ""),
        thread=_get(value, "thread", str, ""),
        time=_get(value, "time", str, ""),
    )


def _preference(value: Mapping[str, Any], _: str) -> Preference:
    """Return a preference; a winner of null or "" is a tie, but a preference without a winner is an error."""
    if "winner" not in value:
        raise InputError("the preference has no winner", hint='name a system, or write "" for a tie')
    rater, reason = _get(value, "rater", str, ""), _get(value, "reason", str, "")
    return Preference(
        item=_get(value, "item", str, required=True),
        systems=tuple(_list(value, "systems")),  # checked by the record
        winner=_get(value, "winner", str, ""),
        aspect=_get(value, "aspect", str, "overall"),
        ids=tuple(_list(value, "ids")),
        rater=rater,
        reason=reason,
    )


PARSERS: dict[str, Callable[[Mapping[str, Any], str], Any]] = {
    "samples": _sample,
    "prompts": _prompt,
    "dialogues": _dialogue,
    "posts": _post,
    "pairs": _pair,
    "scores": _score,
    "ratings": lambda value, _: _rating(value, "rating", 0),
    "preferences": _preference,
}


def _id(value: Mapping[str, Any], number: str) -> str:
    """Return the id of a record, or its line number if it has none."""
    return _name(value, "id", number)


def _name(value: Mapping[str, Any], field: str, default: str) -> str:
    """Return a name, which may be written as a whole number."""
    name = value.get(field)
    if isinstance(name, int) and not isinstance(name, bool):
        return str(name)
    return str(_get(value, field, str, default))


def _turn(value: Any, name: str) -> Turn:
    if isinstance(value, str):
        return Turn(value)
    entry = _entry(value, name)
    return Turn(
        _get(entry, "text", str, required=True, of=name),
        _get(entry, "speaker", str, "", of=name),
        _get(entry, "time", str, "", of=name),
    )


def _dialogue_turn(value: Any, name: str) -> Turn:
    """Return a turn with what only turns of dialogues have: a kind, ratings and further fields."""
    turn = _turn(value, name)
    if isinstance(value, str) or value.keys() <= {"text", "speaker", "time"}:
        return turn
    kind = value.get("kind") if value.get("kind") in UNSPOKEN else ""
    ratings = [_rating(rating, f"{name}.ratings[{i}]", i) for i, rating in enumerate(_list(value, "ratings"))]
    known = _TURN_FIELDS if kind else _TURN_FIELDS - {"kind"}  # another meaning of the name
    return replace(turn, kind=kind, ratings=tuple(ratings), fields=_further(value, known) or None)


def _reference(value: Any, name: str) -> Reference:
    if isinstance(value, str):
        return Reference(value)
    entry = _entry(value, name)
    weight = parse_number(entry.get("weight", 1.0), f"{name}.weight")
    return Reference(
        _get(entry, "text", str, required=True, of=name),
        1.0 if weight is None else weight,
        _get(entry, "source", str, "gold", of=name),
    )


def is_not_applicable(text: str) -> bool:
    """Return whether a rating in words says that the person gave none: `N/A`, `-` or nothing."""
    return text.strip().casefold() in _NOT_APPLICABLE


def _rating(value: Any, name: str, index: int, rater: str = "") -> Rating:
    if isinstance(value, str) and is_not_applicable(value):
        value = None
    if value is None or isinstance(value, int | float):
        return Rating(parse_number(value, name), rater=rater or str(index + 1))
    if isinstance(value, str):
        hint = "write it without quotes, or null for 'not applicable'"
        raise InputError(f"{name} must be a number or an object, got text {value!r:.60}", hint=hint)
    entry = _entry(value, name)
    if "value" not in entry:
        raise InputError(f"{name} has no value", hint="write null for 'not applicable'")
    texts = {key: _get(entry, key, str, default, of=name) for key, default in _RATING_TEXTS.items()}
    texts["rater"] = texts["rater"] or rater
    number = entry["value"]
    if isinstance(number, str) and is_not_applicable(number):
        number = None
    return Rating(parse_number(number, f"{name}.value"), **texts)


_NOT_APPLICABLE = {"", "n/a", "na", "n.a.", "#n/a", "not applicable", "none", "null", "nan", "-", "–", "—"}
_RATING_TEXTS = {"rater": "", "aspect": "overall", "role": "", "item": "", "system": "", "comment": ""}


def _entry(value: Any, name: str) -> Mapping[str, Any]:
    if isinstance(value, dict):
        return value
    hint = "write text or an object"
    if isinstance(value, list):
        hint = "give each sample its own flat list"
    raise InputError(f"{name} must be text or an object, got {_kind(value)}", hint=hint)


def _list(value: Mapping[str, Any], name: str) -> list[Any]:
    """Return a list field; a single text or number becomes a list of one."""
    items = value.get(name)
    if items is None:
        return []
    if isinstance(items, str | int | float):
        return [items]
    if not isinstance(items, list):
        raise InputError(f"{name} must be a list, got {_kind(items)}", hint=f'write "{name}": [ … ]')
    return items


def _get(
    value: Mapping[str, Any],
    name: str,
    kind: type | UnionType,
    default: Any = None,
    *,
    required: bool = False,
    of: str = "",
) -> Any:
    item = value.get(name)
    full = f"{of}.{name}" if of else name
    if item is None:
        if not required:
            return default
        if name in value:
            raise InputError(f"{full} is missing: it is null", hint=f'write "{name}": "" if it is empty')
        raise InputError(f"{full} is missing{_has(value)}", hint=f'add "{name}"{_mapping(name, value, of)}')
    if not isinstance(item, kind):
        wanted = "text" if kind is str else "an object"
        raise InputError(f"{full} must be {wanted}, got {_kind(item)} {item!r:.60}", hint="fix its type")
    return item


def _has(value: Mapping[str, Any]) -> str:
    """Return the names of a record's fields, since one of them may be the missing field."""
    if not value:
        return ""
    names = list(map(repr, value))[:SHOWN_NAMES]
    if len(value) > SHOWN_NAMES:
        names.append("…")
    return f"; the record has {', '.join(names)}"


def _mapping(name: str, value: Mapping[str, Any], of: str) -> str:
    if of or not value:
        return ""
    names = {name}
    for fields_of_kind in FIELDS.values():
        names.update(fields_of_kind.get(name, ()))
    paths = []
    for key, item in value.items():
        if isinstance(item, dict):
            paths += [f"{key}.{inner}" for inner in item if inner in names]
    close = paths or difflib.get_close_matches(name, value, n=1, cutoff=0.5) or ["NAME"]
    return f" or map it: --map {name}={close[0]}"


def parse_number(value: Any, name: str) -> float | None:
    """Return a rating, score or weight in JSON as a number; null is None."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{name} must be a number, got {_kind(value)} {value!r:.60}", hint="write it without quotes")
    if not -LARGEST <= value <= LARGEST:  # a whole number may be too large for a float
        what = f"{name} must be finite and between -{LARGEST:g} and {LARGEST:g}, got {value!r:.60}"
        raise InputError(what, hint="write null for 'not applicable'")
    return float(value)


def _kind(value: Any) -> str:
    return {dict: "an object", list: "a list", str: "text", bool: "true/false", type(None): "null"}.get(
        type(value), "a number"
    )
