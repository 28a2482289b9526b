# SPDX-License-Identifier: Apache-2.0
"""Openings: the first utterances of dialogues, which are given to both speakers and never judged.

They come from dialogues (the first turns of each), from lines {"id": …, "turns": ["…", "…"]}, from text with one
opening per line and a tab between its utterances, or from the package: `embedded:en`, `embedded:ja`, `embedded:zh`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from interloq.data.embedded import embedded_openings_path
from interloq.data.files.opening import check_size, lines, plain_suffix
from interloq.data.records.jsonl import load
from interloq.errors import InputError, nearest
from interloq.signature import fingerprint

EMBEDDED = "embedded:"
LANGUAGES = ("en", "ja", "zh")
GIVEN = 2  # utterances per opening


@dataclass(frozen=True, slots=True)
class Opening:
    """Turns that a dialogue starts with."""

    id: str
    turns: tuple[str, ...]


def read_openings(source: str | Path, *, given: int = GIVEN) -> list[Opening]:
    """Return the openings of a file, each with `given` utterances; the rest of longer openings is dropped."""
    if given < 1:
        raise InputError(f"an opening needs at least one utterance, got {given}", hint="give 1, 2 or more")
    path = _path(str(source))
    check_size(path)
    openings = _from_text(path) if plain_suffix(path) == ".txt" else _from_dialogues(path)
    if not openings:
        raise InputError("no opening in the file", hint="write one opening per line", where=str(path))
    for line, opening in openings:
        where = f"{path}:{line}"
        if len(opening.turns) < given:
            raise InputError(
                f"the opening has {len(opening.turns)} of {given} utterances: {list(opening.turns)!r:.80}",
                hint="add the missing ones (in text: after a tab), or use a smaller --given",
                where=where,
            )
        if not all(turn.strip() for turn in opening.turns[:given]):
            hint = "add the text, or remove the line"
            raise InputError("an utterance of the opening is empty", hint=hint, where=where)
    id, number = Counter(opening.id for _, opening in openings).most_common(1)[0]
    if number > 1:
        raise InputError(f"{number} openings are called {id!r}", hint="give each an id", where=str(path))
    return [Opening(opening.id, opening.turns[:given]) for _, opening in openings]


def openings_fingerprint(openings: Sequence[Opening]) -> str:
    """Return the fingerprint of the openings, independent of their order."""
    return fingerprint(*sorted(fingerprint(opening.id, *opening.turns) for opening in openings))


def _path(source: str) -> str | Path:
    if not source.startswith(EMBEDDED):
        return source
    language = source.removeprefix(EMBEDDED)
    if language not in LANGUAGES:
        raise InputError(f"no openings in {language!r}{nearest(language, LANGUAGES)}", hint="name a file with your own")
    return embedded_openings_path(language)


def _from_text(path: str | Path) -> list[tuple[str, Opening]]:
    openings = []
    for number, line in lines(path):
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise InputError("not valid UTF-8", hint="save the file as UTF-8", where=f"{path}:{number}") from error
        if text.strip():
            openings.append((str(number), Opening(f"opening-{number}", tuple(text.split("\t")))))
    return openings


def _from_dialogues(path: str | Path) -> list[tuple[str, Opening]]:
    """Return the opening in a line; its default id is the line number."""
    openings = []
    for dialogue in load(path, kind="dialogues", strict=True):
        id = f"opening-{dialogue.id}" if dialogue.id.isdecimal() else dialogue.id
        openings.append((dialogue.id, Opening(id, tuple(turn.text for turn in dialogue.turns))))
    return openings
