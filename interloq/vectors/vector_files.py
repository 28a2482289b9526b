# SPDX-License-Identifier: Apache-2.0
"""Word vectors of other programs: GloVe text, word2vec text and binary, fastText `.vec`; also .gz .xz .zst.

Text has one word with its numbers per line, with or without a first line `words dimensions`. Binary has that line, then
each word, a space and its float32 numbers. Errors name the line (in a binary file, the number of the word).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from interloq.data.files.compression import damage
from interloq.data.files.opening import lines, open_bytes, plain_suffix
from interloq.errors import InputError, count

Block = tuple[list[str], NDArray[np.float32]]
ROWS, NUMBERS = 2048, 2**21  # words and numbers per block: each is an object while it is read
FASTTEXT = (793712314).to_bytes(4, "little")  # first bytes of fastText's own .bin
PIECE = 2**20
LONGEST_WORD = 2**16
MOST_DIMENSIONS = 2**14
FEW, EXPANDED = 2**26, 64  # bytes of vectors, and their ratio to the file's size, that no real file exceeds


def blocks(path: str | Path) -> Iterator[Block]:
    """Yield the words and vectors of a file, a few thousand at a time."""
    try:
        yield from _blocks(path)
    except damage() as error:
        raise InputError(f"{path} is damaged or truncated: {error}", hint="copy it again") from error


def _blocks(path: str | Path) -> Iterator[Block]:
    with open_bytes(path) as stream:
        if stream.read(4) == FASTTEXT:
            raise InputError(
                f"{path} is a fastText model, not a file of word vectors",
                hint="give its .vec file; `fasttext print-word-vectors` writes one",
            )
    header = _header(path)
    parts = _binary(path, header) if header and header.binary else _text(path, header)
    seen: dict[str, int] = {}
    most = max(FEW, EXPANDED * Path(path).stat().st_size)
    for words, vectors, first in parts:
        _check(words, vectors, first, seen, path)
        if len(seen) * vectors.shape[1] * vectors.itemsize > most:
            what = f"the vectors are more than {EXPANDED} times as large as the file"
            raise InputError(what, hint="check that it is the right file", where=str(path))
        yield words, vectors
    if header and len(seen) != header.words:
        what = f"the first line announces {count(header.words, 'word')}, but the file has {len(seen):,}"
        raise InputError(what, hint="copy the file again, or fix its first line", where=f"{path}:1")
    if not seen:
        raise InputError("the file has no vectors", hint="name another file", where=str(path))


@dataclass(frozen=True, slots=True)
class _Header:
    words: int
    dimensions: int
    binary: bool


def _header(path: str | Path) -> _Header | None:
    """Return the first line if it is two whole numbers. A zero byte soon after it means that the file is binary."""
    with open_bytes(path) as stream:
        fields = stream.readline(200).split()
        if len(fields) != 2 or not all(field.isdigit() for field in fields):
            if plain_suffix(path) == ".bin":
                what = "the file does not start with a line `words dimensions`"
                raise InputError(what, hint="give word2vec's binary format, or text", where=f"{path}:1")
            return None
        words, dimensions = int(fields[0]), int(fields[1])
        binary = plain_suffix(path) == ".bin" or b"\0" in stream.read(4096)
    if not words or not 0 < dimensions <= MOST_DIMENSIONS:
        what = f"the first line announces {count(words, 'word')} of {count(dimensions, 'number')}"
        raise InputError(what, hint=f"a vector has 1 to {MOST_DIMENSIONS:,} numbers", where=f"{path}:1")
    return _Header(words, dimensions, binary)


def _text(path: str | Path, header: _Header | None) -> Iterator[tuple[list[str], NDArray[np.float32], int]]:
    words: list[str] = []
    rows: list[list[float]] = []
    dimensions = header.dimensions if header else 0
    first = 2 if header else 1
    for number, line in lines(path):
        if number < first:
            continue
        line = line.rstrip(b" ")  # fastText ends lines with a space
        dimensions = dimensions or line.count(b" ")
        if dimensions > MOST_DIMENSIONS:
            what = f"{dimensions:,} numbers; at most {MOST_DIMENSIONS:,} are allowed"
            raise InputError(what, hint="write one word with its numbers on each line", where=f"{path}:{number}")
        word, row = _parse_line(line, dimensions, f"{path}:{number}")
        words.append(word)
        rows.append(row)
        if len(rows) == _rows(dimensions):
            yield words, _array(rows), number - len(rows) + 1
            words, rows = [], []
    if rows:
        yield words, _array(rows), number - len(rows) + 1


def _rows(dimensions: int) -> int:
    """Return words per block."""
    return max(1, min(ROWS, NUMBERS // dimensions))


def _array(rows: list[list[float]]) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):  # a number too large for float32 is refused as infinite
        return np.array(rows, dtype=np.float32)


def _parse_line(line: bytes, dimensions: int, where: str) -> tuple[str, list[float]]:
    """Return a line's word and numbers, which are read from the right: some published words contain a space."""
    word, *fields = line.rsplit(b" ", dimensions)
    n = line.count(b" ")
    # a space belongs to the word, unless the part before the numbers is a number too
    if n < dimensions or dimensions < 1 or (n > dimensions and _is_number(word.rsplit(b" ", 1)[-1])):
        what = f"{count(n, 'number')}, expected {dimensions}" if dimensions else "no numbers after the word"
        raise InputError(what, hint="write a word and its numbers with single spaces", where=where)
    try:
        row = [float(field) for field in fields]
    except ValueError as error:
        raise InputError(f"not a number: {str(error).split(': ')[-1]:.60}", hint="fix the line", where=where) from None
    return _decode_word(word, where), row


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _binary(path: str | Path, header: _Header) -> Iterator[tuple[list[str], NDArray[np.float32], int]]:
    with open_bytes(path) as stream:
        stream.readline(200)
        pieces = _Pieces(stream)
        step = _rows(header.dimensions)
        for first in range(0, header.words, step):
            size = min(step, header.words - first)
            words, rows = [], []
            for number in range(first + 1, first + size + 1):
                where = f"{path}:{number}"
                word = pieces.until_space(where).lstrip(b"\n")  # some programs end each vector with a line break
                words.append(_decode_word(word, where))
                rows.append(pieces.exactly(4 * header.dimensions, where))
            vectors = np.frombuffer(b"".join(rows), dtype="<f4").reshape(size, header.dimensions)
            yield words, vectors.astype(np.float32), first + 1
        if pieces.rest().strip():
            what = f"the first line announces {count(header.words, 'word')}, but the file has more"
            raise InputError(what, hint="copy the file again", where=f"{path}:1")


class _Pieces:
    """Words and numbers of a binary stream, read in pieces."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream, self._held, self._place = stream, b"", 0

    def until_space(self, where: str) -> bytes:
        while (end := self._held.find(b" ", self._place)) < 0:
            if len(self._held) - self._place > LONGEST_WORD or not self._more():
                raise _cut_off(where)
        word = self._held[self._place : end]
        self._place = end + 1
        return word

    def exactly(self, size: int, where: str) -> bytes:
        while len(self._held) - self._place < size:
            if not self._more():
                raise _cut_off(where)
        self._place += size
        return self._held[self._place - size : self._place]

    def rest(self) -> bytes:
        self._more()
        return self._held[self._place :]

    def _more(self) -> bool:
        piece = self._stream.read(PIECE)
        self._held, self._place = self._held[self._place :] + piece, 0
        return bool(piece)


def _cut_off(where: str) -> InputError:
    return InputError(
        "the file ends inside a vector, or is not a binary vector file", hint="copy it again", where=where
    )


def _check(words: list[str], vectors: NDArray[np.float32], first: int, seen: dict[str, int], path: str | Path) -> None:
    """Check that words are distinct and not empty and vectors finite; `first` is the line of the first word."""
    for number, word in enumerate(words, start=first):
        if not word:
            raise InputError("the word is empty", hint="remove the line", where=f"{path}:{number}")
        if (other := seen.setdefault(word, number)) != number:
            what = f"the word {word!r:.60} is also in line {other}"
            raise InputError(what, hint="remove one of the lines", where=f"{path}:{number}")
    with np.errstate(over="ignore", invalid="ignore"):
        bad = np.flatnonzero(~np.isfinite(np.einsum("ij,ij->i", vectors, vectors)))
    if len(bad):
        row = vectors[bad[0]]
        value = next((float(x) for x in row if not math.isfinite(x)), float(np.abs(row).max()))
        what = f"the vector of {words[bad[0]]!r:.60} contains {value:g}"
        raise InputError(what, hint="remove the line", where=f"{path}:{first + int(bad[0])}")


def _decode_word(word: bytes, where: str) -> str:
    try:
        return word.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{word!r:.60} is not valid UTF-8", hint="save the file as UTF-8", where=where) from error
