# SPDX-License-Identifier: Apache-2.0
"""Follow-ups: what people say after a good or bad reply, by dimension.

Three files come with Interloq: `en`, `ja` and `zh`. Your own is a JSON file of the same format (docs/metrics/fed.md).
`source` says where the texts come from, for the file or for one dimension. `full` lists the follow-ups of the metric
`full`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from interloq.data.files.opening import read_json
from interloq.errors import InputError, nearest, short_repr

LANGUAGES = ("en", "ja", "zh")
LEVELS = ("turn", "dialogue")
SIDES = ("positive", "negative")
FORM = 'write {"turn": {"DIMENSION": {"positive": ["…"], "negative": ["…"]}}}'


@dataclass(frozen=True, slots=True)
class Dimension:
    """Follow-ups of one quality; `level` says whether a reply or a whole dialogue is judged."""

    name: str
    level: str
    positive: tuple[str, ...]
    negative: tuple[str, ...]
    source: str = ""


@dataclass(frozen=True, slots=True)
class FollowUps:
    """All dimensions of a file."""

    where: str
    dimensions: Mapping[str, Dimension]
    full: tuple[str, ...] = ()

    def dimension(self, name: str) -> Dimension:
        """Return a dimension by its name; case does not matter, and `_` and `-` are read as spaces."""
        dimension = self.dimensions.get(_plain(name))
        if dimension is None:
            raise InputError(f"no dimension {name!r}{nearest(_plain(name), self.dimensions)}", where=self.where)
        return dimension

    def texts(self) -> list[str]:
        """Return every follow-up once, in the order of the file."""
        texts: list[str] = []
        for dimension in self.dimensions.values():
            texts += (*dimension.positive, *dimension.negative)
        return list(dict.fromkeys(texts))


def read_follow_ups(name: str | Path) -> FollowUps:
    """Return follow-ups of a language, or of a JSON file."""
    name = str(name)
    path = Path(__file__).with_name(f"{name}.json") if name in LANGUAGES else Path(name)
    if not path.is_file():
        known = ", ".join(LANGUAGES)
        raise InputError(f"no follow-ups {name!r}", hint=f"name a JSON file, or one of these: {known}")
    return _check_content(read_json(path, hint=FORM), name)


def _check_content(content: Mapping[str, Any], where: str) -> FollowUps:
    known = (*LEVELS, "full", "source", "language")
    for key in content:
        if key not in known:
            raise InputError(f"unknown part {key!r}{nearest(key, known)}", where=where)
    dimensions: dict[str, Dimension] = {}
    for level in LEVELS:
        part = content.get(level, {})
        if not isinstance(part, dict):
            raise InputError(f"{level!r} must contain dimensions, got {short_repr(part)}", hint=FORM, where=where)
        for name, value in part.items():
            if _plain(name) in dimensions:
                raise InputError(f"dimension {name!r} is listed twice", hint="give each its own name", where=where)
            dimensions[_plain(name)] = _dimension(name, level, value, where)
    full = _texts(content.get("full", []), "full", where)
    if not dimensions and not full:
        raise InputError("no dimension in the file", hint=FORM, where=where)
    return FollowUps(where, dimensions, full)


def _dimension(name: str, level: str, value: Any, where: str) -> Dimension:
    if not isinstance(value, dict):
        raise InputError(f"dimension {name!r} must be an object, got {short_repr(value)}", hint=FORM, where=where)
    for key in value:
        if key not in (*SIDES, "source"):
            raise InputError(f"{name!r} has an unknown part {key!r}{nearest(key, [*SIDES, 'source'])}", where=where)
    positive, negative = (_texts(value.get(side, []), f"{name}.{side}", where) for side in SIDES)
    if not positive and not negative:
        raise InputError(f"dimension {name!r} has no follow-ups", hint="write at least one", where=where)
    both = set(positive) & set(negative)
    if both:
        raise InputError(f"{name!r} has {min(both)!r} on both sides", hint="remove it from one side", where=where)
    return Dimension(_plain(name), level, positive, negative, str(value.get("source", "")))


def _texts(values: Any, name: str, where: str) -> tuple[str, ...]:
    if not isinstance(values, list):
        raise InputError(f"{name} must be a list of texts, got {short_repr(values)}", hint=FORM, where=where)
    for i, text in enumerate(values):
        if not isinstance(text, str) or not text.strip():
            raise InputError(
                f"{name}[{i}] must be a text, got {short_repr(text)}", hint="write the follow-up as text", where=where
            )
    if len(set(values)) < len(values):
        twice = next(text for text in values if values.count(text) > 1)
        raise InputError(f"{name} has {twice!r} twice", hint="remove one", where=where)
    return tuple(values)


def _plain(name: str) -> str:
    return " ".join(name.lower().replace("_", " ").replace("-", " ").split())
