# SPDX-License-Identifier: Apache-2.0
"""The values of a JSON file of any size, one at a time: JSON lines, an array, or arrays within an object.

Memory is needed for one value, not for the file. If a line is damaged, it is reported and the next one is read; if an
array is damaged or truncated, what was read before is kept and the place is reported.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

from interloq.data.files.compression import damage
from interloq.data.files.opening import MAX_LINE, PIECE, open_bytes
from interloq.errors import InputError

Path_ = tuple[str, ...]
Reject = Callable[[str, bytes, InputError], None]  # where, the damaged line if there is one, and why
_DECODER = json.JSONDecoder(parse_constant=lambda _: None)  # NaN is missing
_SPACE = " \t\r\n"
_ERRORS = "surrogateescape"  # one bad byte costs a value, not the rest of the file
_BLOCK = 2**16  # what is lost before damage in a compressed file is less than this
_UNFINISHED = 12  # characters at the end of what was read that may be half of something: \ud83d\ude00


def json_values(
    path: str | Path, within: Collection[Path_], reject: Reject
) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """Yield each value with its place, and the fields read so far of the object that it is within.

    `within` names the arrays whose items are values: `("results", "results")`. An object without any of them is a value
    itself.
    """
    with open_bytes(path) as stream:
        text = _Text(stream, str(path))
        try:
            while text.next_character():
                text.pinned = text.at
                try:
                    yield from _Walk(text, {(), *within}).top()
                except _DamagedError as error:
                    line, where = b"", error.where
                    if text.pinned >= 0:  # a line, not an array
                        where = f"{path}:{text.line(text.pinned)}"
                        line = text.skip_line()
                    reject(where, line, InputError(error.what, hint="export it again, or repair this place"))
                    if text.next_character() != "{" or not line:
                        return
        except damage() as error:
            cut = text.damaged(f"the file is damaged or truncated: {error}")
            reject(cut.where, b"", InputError(cut.what, hint="copy it again"))


class _DamagedError(Exception):
    def __init__(self, what: str, where: str, byte: str) -> None:
        self.what, self.where = f"{what} ({byte})", where


class _Text:
    """The text of a stream around the place that is being read."""

    def __init__(self, stream: Any, path: str) -> None:
        self._stream, self.path = stream, path
        self._decoder = codecs.getincrementaldecoder("utf-8")(_ERRORS)
        self.text, self.at, self.pinned = "", 0, -1
        self._bytes = 0  # before `text`
        self._failure: Exception | None = None
        self.items = 0  # of all arrays so far
        self._line, self._line_at = 1, 0  # the line of a place in `text`, so that no line is counted twice

    def more(self) -> bool:
        """Read on, as much again as is waiting; forget what was read, from the pinned place on if there is one."""
        done = self.at if self.pinned < 0 else self.pinned
        data = self._read(max(PIECE, len(self.text) - done))  # first: it may fail
        dropped = self.text[:done]
        self._bytes += len(dropped.encode("utf-8", _ERRORS))
        self.line(done)
        self._line_at -= done
        if not self._bytes and not self.text:
            data = data.removeprefix(codecs.BOM_UTF8)
        self.text = self.text[done:] + self._decoder.decode(data, final=not data)
        self.at -= done
        self.pinned = min(self.pinned, 0)
        if len(self.text) - self.at > MAX_LINE or len(self.text) > 4 * MAX_LINE:
            raise self.damaged(f"a value is larger than {MAX_LINE >> 20} MiB")
        return bool(data)

    def _read(self, size: int) -> bytes:
        """Return this many bytes, or as many as there are before the end or a damaged place, which is an error then."""
        data = b""
        while len(data) < size and self._failure is None:
            try:
                piece = self._stream.read1(min(size - len(data), _BLOCK))
            except damage() as error:
                self._failure = error
                break
            if not piece:
                break
            data += piece
        if self._failure and not data:
            raise self._failure
        return data

    def next_character(self) -> str:
        """Return the next character that is not white space, without reading past it; empty at the end."""
        while True:
            while self.at < len(self.text) and self.text[self.at] in _SPACE:
                self.at += 1
            if self.at < len(self.text):
                return self.text[self.at]
            if not self.more():
                return ""

    def take(self, wanted: str) -> str:
        """Read the next character, one of those wanted."""
        character = self.next_character()
        if not character or character not in wanted:
            what = f"found {character!r}" if character else "the file ends"
            raise self.damaged(f"{what} where one of {' '.join(wanted)} was expected")
        self.at += 1
        return character

    def value(self) -> Any:
        """Read one value."""
        if not self.next_character():
            raise self.damaged("the file ends where a value was expected")
        while True:
            try:
                value, end = _DECODER.raw_decode(self.text, self.at)
            except json.JSONDecodeError as error:
                after = error.pos - self.at
                is_open = error.msg.startswith("Unterminated string")
                if (is_open or error.pos >= len(self.text) - _UNFINISHED) and self.more():
                    continue
                is_open = is_open or self.at + after >= len(self.text)
                ends = " (the file ends here)" if is_open else ""
                raise self.damaged(f"not valid JSON: {error.msg}{ends}", self.at + after) from error
            except RecursionError as error:
                raise self.damaged("a value is nested too deeply") from error
            if end == len(self.text) and self.more():  # a number may continue
                continue
            self.at = end
            return value

    def skip_line(self) -> bytes:
        """Skip the rest of the line that began at the pinned place, and return that line."""
        while (end := self.text.find("\n", self.pinned)) < 0 and self.more():
            pass
        end = end if end >= 0 else len(self.text)
        line, self.at, self.pinned = self.text[self.pinned : end], end, -1
        return line.encode("utf-8", _ERRORS)

    def line(self, place: int) -> int:
        """Return the line of a place."""
        if place < self._line_at:
            return self._line - self.text.count("\n", place, self._line_at)
        self._line += self.text.count("\n", self._line_at, place)
        self._line_at = place
        return self._line

    def damaged(self, what: str, place: int | None = None) -> _DamagedError:
        """Return the error for damage here, or at a place."""
        place = self.at if place is None else place
        byte = self._bytes + len(self.text[:place].encode("utf-8", _ERRORS))
        return _DamagedError(what, f"{self.path}:{self.line(place)}", f"byte {byte:,}")


class _Walk:
    """Reads one value of a file, or the items of the arrays within it."""

    def __init__(self, text: _Text, within: Collection[Path_]) -> None:
        self.text, self.within = text, within
        self.leads = {path[:n] for path in within for n in range(len(path))}  # to an array
        self.fields: dict[str, Any] = {}
        self.has_array = False

    def top(self) -> Iterator[tuple[str, Any, dict[str, Any]]]:
        where = f"{self.text.path}:{self.text.line(self.text.at)}"
        if self.text.next_character() not in ("{", "["):
            raise self.text.damaged("expected a JSON object or array")
        yield from self._walk(())
        if not self.has_array and self.fields:
            yield where, self.fields, {}

    def _walk(self, path: Path_) -> Iterator[tuple[str, Any, dict[str, Any]]]:
        first = self.text.next_character()
        if first == "[" and path in self.within:
            self.has_array = True
            self.text.pinned = -1  # an array may be larger than the memory
            self.text.take("[")
            if self.text.next_character() == "]":
                self.text.take("]")
                return
            while True:
                value = self.text.value()
                self.text.items += 1
                yield f"{self.text.path}: item {self.text.items}", value, self.fields
                if self.text.take(",]") == "]":
                    return
        if first == "{" and path in self.leads:
            self.text.take("{")
            if self.text.next_character() == "}":
                self.text.take("}")
                return
            while True:
                name = self.text.value()
                self.text.take(":")
                inner = (*path, name)
                is_array = inner in self.within and self.text.next_character() == "["
                if is_array or (inner in self.leads and self.text.next_character() == "{"):
                    yield from self._walk(inner)
                else:
                    self.fields[".".join(inner)] = self.text.value()
                if self.text.take(",}") == "}":
                    return
        self.fields[".".join(path)] = self.text.value()
