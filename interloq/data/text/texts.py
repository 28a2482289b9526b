# SPDX-License-Identifier: Apache-2.0
"""All texts of a file: records of any kind, or plain text with one text per line; and each distinct text once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from interloq.data.files.opening import lines, not_utf8
from interloq.data.records.jsonl import first_object
from interloq.data.records.read_options import READ_DEFAULTS, ReadOptions
from interloq.data.records.synonyms import FIELDS
from interloq.data.records.tables import is_table
from interloq.errors import InputError
from interloq.records import Dialogue, Pair, Post, Sample
from interloq.unicode_form import normalise

TEXT = "text"
KINDS = (TEXT, "pairs", "dialogues", "samples", "posts")
_KIND_BY_FIELD = {
    "utterance": "pairs",
    "response": "samples",  # also if it has the number of turns
    "turns": "dialogues",
    **dict.fromkeys(FIELDS["samples"]["response"], "samples"),
    **dict.fromkeys(FIELDS["dialogues"]["turns"], "dialogues"),
    "metric": "scores",
    "text": "posts",
    "winner": "preferences",
    "item": "ratings",
}


def file_texts(path: str | Path, *, kind: str | None = None, reading: ReadOptions = READ_DEFAULTS) -> Iterator[str]:
    """Return the texts of a file one by one, without empty ones; `kind` is detected unless given."""
    kind = kind or kind_of(path)
    if kind not in KINDS:
        raise InputError(f"{kind} have no texts", hint=f"give a file of {', '.join(KINDS)}", where=str(path))
    if kind == TEXT:
        return filter(str.strip, text_lines(path))
    return filter(str.strip, chain.from_iterable(map(texts_of, reading.read(path, kind=kind))))


def kind_of(path: str | Path) -> str:
    """Return the kind of a file, from its header or the fields of its first record; a pipe is read as plain text."""
    if is_table(path):
        return "samples"
    if str(path) == "-":
        return TEXT
    value = first_object(path)
    if value is None:
        return TEXT
    if value.get("kind"):
        return str(value["kind"])
    for field, kind in _KIND_BY_FIELD.items():
        if field in value:
            return kind
    return "samples"


def texts_of(record: Sample | Dialogue | Pair | Post) -> Iterator[str]:
    """Yield all texts of a record."""
    if isinstance(record, Sample):
        yield from (turn.text for turn in record.context)
        yield record.response
        yield from (reference.text for reference in record.references)
    elif isinstance(record, Dialogue):
        yield from (turn.text for turn in record.turns)
    elif isinstance(record, Pair):
        yield from (record.utterance, record.response)
    else:
        yield record.text


def text_lines(path: str | Path) -> Iterator[str]:
    """Yield the lines of a text file in UTF-8, in the Unicode form used everywhere."""
    for number, line in lines(path):
        try:
            yield normalise(line.decode("utf-8"))
        except UnicodeDecodeError as error:
            raise not_utf8(error, f"{path}:{number}") from error


class UnseenTexts:
    """Stores 64-bit hashes of texts in sorted arrays: 8 bytes per text."""

    def __init__(self) -> None:
        self._runs: list[NDArray[np.uint64]] = []

    def new(self, texts: Sequence[str]) -> list[str]:
        """Return the texts that were not seen before, each once."""
        digests = []
        for text in texts:  # Python's own hash differs from run to run
            digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
            digests.append(int.from_bytes(digest, "little"))
        hashes, first = np.unique(np.array(digests, dtype=np.uint64), return_index=True)
        known = np.zeros(len(hashes), dtype=bool)
        for run in self._runs:
            known |= run[np.searchsorted(run, hashes).clip(max=len(run) - 1)] == hashes
        if not known.all():
            self._runs.append(hashes[~known])
        while len(self._runs) > 1 and len(self._runs[-2]) < 2 * len(self._runs[-1]):  # keeps the runs few
            last = self._runs.pop()
            self._runs[-1] = np.sort(np.concatenate([self._runs[-1], last]))
        return [texts[i] for i in np.sort(first[~known])]
