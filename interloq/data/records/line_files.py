# SPDX-License-Identifier: Apache-2.0
"""Samples from plain text files that belong together line by line: replies, contexts and references.

Line i of each file belongs to line i of the others. A file of replies belongs to one system, named after the file or
given as `NAME=FILE`; several systems share contexts and references. Turns of a context, and several references of one
reply, are separated within a line; a reply may also have several files of references.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from interloq.data.files.compression import COMPRESSED
from interloq.data.files.overwriting import refuse_overwriting
from interloq.data.records.convert_file import RecordSummary
from interloq.data.records.jsonl import write
from interloq.data.text.texts import text_lines
from interloq.errors import InputError, count
from interloq.options import option
from interloq.records import Sample

SAME_LENGTH = "line i of each file belongs to line i of the others; keep empty lines"
Row = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LineFiles:
    """Text files that belong to the replies line by line, and how their lines are split."""

    contexts: str | Path | None = option(None, "contexts, one per line", path=True, metavar="FILE")
    references: Sequence[str | Path] = option((), "references, one per line", path=True, metavar="FILE")
    separator: str = option(
        "\t", "separates turns of a context, and references, within a line", metavar="TEXT", shown="a tab"
    )

    def __post_init__(self) -> None:
        if not self.separator:
            raise InputError("the separator is empty", hint="give one or more characters")

    def paths(self) -> list[str | Path]:
        """Return the files, contexts first."""
        if self.contexts:
            return [self.contexts, *self.references]
        return list(self.references)

    def split(self, line: str) -> list[str]:
        """Return the texts of a line, without empty ones."""
        return [part.strip() for part in line.split(self.separator) if part.strip()]


NO_FILES = LineFiles()


def lines_file(responses: Sequence[str | Path], output: str | Path, files: LineFiles = NO_FILES) -> dict[str, Any]:
    """Write the samples of text files as JSONL, and return their counts. `responses` are `FILE` or `NAME=FILE`."""
    refuse_overwriting([output], [*(_split_name(str(file))[1] for file in responses), *files.paths()])
    summary = RecordSummary()
    write(output, summary.watch(line_samples(responses, files)), kind="samples")
    return {"kind": "samples", **summary.facts()}


def line_samples(responses: Sequence[str | Path], files: LineFiles = NO_FILES) -> Iterator[Sample]:
    """Yield the samples of text files, system by system; the number of the line is the id."""
    if not responses:
        raise InputError("there is no file of replies", hint="give one or more")
    replies_of_systems = [_split_name(str(file)) for file in responses]
    for system, n in Counter(system for system, _ in replies_of_systems).items():
        if n > 1:
            raise InputError(f"two files of replies belong to {system!r}", hint="name the systems: NAME=FILE")
    first_path = replies_of_systems[0][1]
    length = 0  # lines of the first file of replies
    for system, path in replies_of_systems:
        number = 0
        for number, (reply, *others) in enumerate(_rows([path, *files.paths()]), start=1):
            context: list[str] = []
            if files.contexts:
                context = files.split(others.pop(0))
            references: list[str] = []
            for line in others:
                references += files.split(line)
            yield Sample(str(number), context, reply.strip(), references, system)
        length = length or number
        if number != length:
            raise InputError(f"{path} has {count(number, 'line')}, but {first_path} has {length:,}", hint=SAME_LENGTH)


def _split_name(response: str) -> tuple[str, str]:
    """Return system and path of `FILE` or `NAME=FILE`; by default, a system is named after its file."""
    name, equals, path = response.partition("=")
    if equals and not Path(response).exists():
        return name.strip(), path
    file = Path(response)
    if file.suffix.lower() in COMPRESSED:
        file = file.with_suffix("")
    return file.stem, response


def _rows(paths: Sequence[str | Path]) -> Iterator[Row]:
    """Yield lines that belong together; files of different lengths are refused."""
    number = 0
    for row in zip_longest(*map(text_lines, paths)):
        if None in row:
            has_ended = [text is None for text in row]
            shorter, longer = paths[has_ended.index(True)], paths[has_ended.index(False)]
            what = f"{shorter} has {count(number, 'line')}, but {longer} has more"
            raise InputError(what, hint=SAME_LENGTH)
        yield row
        number += 1
    if not number:
        raise InputError("the file is empty", hint="write one reply per line", where=str(paths[0]))
