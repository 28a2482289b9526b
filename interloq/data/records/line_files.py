# SPDX-License-Identifier: Apache-2.0
"""Samples from plain text files that belong together line by line: replies, contexts and references.

Line i of each file belongs to line i of the others. A file of replies belongs to one system, named after the file or
given as `NAME=FILE`; several systems share contexts and references. Turns of a context, and several references of one
reply, are separated within a line; a reply may also have several files of references.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from interloq.data.files.compression import COMPRESSED
from interloq.data.files.overwriting import refuse_overwriting
from interloq.data.records.convert_file import RecordSummary
from interloq.data.records.jsonl import write
from interloq.data.text.texts import text_lines
from interloq.errors import InputError, count
from interloq.records import Sample

SEPARATOR = "\t"
SAME_LENGTH = "line i of each file belongs to line i of the others; keep empty lines"
Row = tuple[str, ...]


def lines_file(
    responses: Sequence[str | Path],
    output: str | Path,
    *,
    contexts: str | Path | None = None,
    references: Sequence[str | Path] = (),
    separator: str = SEPARATOR,
) -> dict[str, Any]:
    """Write the samples of text files as JSONL; returns their counts. Each of `responses` is `FILE` or `NAME=FILE`."""
    inputs: list[str | Path] = [_named(str(file))[1] for file in responses]
    if contexts:
        inputs.append(contexts)
    refuse_overwriting([output], [*inputs, *references])
    samples = line_samples(responses, contexts=contexts, references=references, separator=separator)
    summary = RecordSummary()
    write(output, summary.watch(samples), kind="samples")
    return {"kind": "samples", **summary.facts()}


def line_samples(
    responses: Sequence[str | Path],
    *,
    contexts: str | Path | None = None,
    references: Sequence[str | Path] = (),
    separator: str = SEPARATOR,
) -> Iterator[Sample]:
    """Yield the samples of text files, system by system; the number of the line is the id."""
    if not responses:
        raise InputError("there is no file of replies", hint="give one or more")
    if not separator:
        raise InputError("the separator is empty", hint="give one or more characters")
    replies_of_systems = [_named(str(file)) for file in responses]
    for system, files in Counter(system for system, _ in replies_of_systems).items():
        if files > 1:
            raise InputError(f"two files of replies belong to {system!r}", hint="name the systems: NAME=FILE")
    shared = [contexts, *references] if contexts else list(references)
    first_path = replies_of_systems[0][1]
    length = 0  # lines of the first file of replies
    for system, path in replies_of_systems:
        number = 0
        for number, (reply, *others) in enumerate(_rows([path, *shared]), start=1):
            turns: list[str] = []
            if contexts:
                turns = _split(others.pop(0), separator)
            golds: list[str] = []
            for line in others:
                golds += _split(line, separator)
            yield Sample(str(number), turns, reply.strip(), golds, system)
        length = length or number
        if number != length:
            raise InputError(f"{path} has {count(number, 'line')}, but {first_path} has {length:,}", hint=SAME_LENGTH)


def _named(given: str) -> tuple[str, str]:
    """Return system and path of `FILE` or `NAME=FILE`; the default name is that of the file, without endings."""
    name, equals, path = given.partition("=")
    if equals and not Path(given).exists():
        return name.strip(), path
    file = Path(given)
    if file.suffix.lower() in COMPRESSED:
        file = file.with_suffix("")
    return file.stem, given


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


def _split(line: str, separator: str) -> list[str]:
    return [part.strip() for part in line.split(separator) if part.strip()]
