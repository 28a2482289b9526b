# SPDX-License-Identifier: Apache-2.0
"""Samples from plain text files that belong together line by line: replies, contexts and references.

Line i of each file belongs to line i of the others. A file of replies belongs to one system, named after the file or
given as `NAME=FILE`; several systems share contexts and references. Turns of a context, and several references of one
reply, are separated within a line; a reply may also have several files of references.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from interloq.data.compression import COMPRESSED
from interloq.data.jsonl import write
from interloq.data.overwriting import refuse_overwriting
from interloq.data.summary import Summary
from interloq.data.texts import text_lines
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
    given = [_named(str(each)) for each in responses]
    refuse_overwriting([output], [*(path for _, path in given), *([contexts] if contexts else []), *references])
    samples = line_samples(responses, contexts=contexts, references=references, separator=separator)
    summary = Summary()
    write(output, summary.watch(samples), kind="samples")
    return {"kind": "samples", **summary.facts()}


def line_samples(
    responses: Sequence[str | Path],
    *,
    contexts: str | Path | None = None,
    references: Sequence[str | Path] = (),
    separator: str = SEPARATOR,
) -> Iterator[Sample]:
    """The samples of text files, system by system; the number of the line is the id."""
    if not responses:
        raise InputError("there is no file of replies", hint="give one or more")
    if not separator:
        raise InputError("the separator is empty", hint="give one or more characters")
    named = [_named(str(each)) for each in responses]
    systems = [system for system, _ in named]
    if twice := next((system for system in systems if systems.count(system) > 1), ""):
        raise InputError(f"two files of replies belong to {twice!r}", hint="name the systems: NAME=FILE")
    shared = [*([contexts] if contexts else []), *references]
    length = 0  # lines of the first file of replies
    for system, path in named:
        number = 0
        for number, (reply, *others) in enumerate(_rows([path, *shared]), start=1):
            turns = _split(others[0], separator) if contexts else []
            golds = [text for line in others[bool(contexts) :] for text in _split(line, separator)]
            yield Sample(str(number), turns, reply.strip(), golds, system)
        length = length or number
        if number != length:
            raise InputError(f"{path} has {count(number, 'line')}, but {named[0][1]} has {length:,}", hint=SAME_LENGTH)


def _named(given: str) -> tuple[str, str]:
    """System and path of a file of replies; the name is that of the file, without endings, unless it is given."""
    name, equals, path = given.partition("=")
    if equals and not Path(given).exists():
        return name.strip(), path
    file = Path(given)
    return Path(file.stem).stem if file.suffix.lower() in COMPRESSED else file.stem, given


def _rows(paths: Sequence[str | Path]) -> Iterator[Row]:
    """Lines that belong together; files of different lengths are refused."""
    number = 0
    for row in zip_longest(*(text_lines(path) for path in paths)):
        texts = tuple(text for text in row if text is not None)
        if len(texts) < len(row):
            shorter, longer = (paths[[text is None for text in row].index(ends)] for ends in (True, False))
            what = f"{shorter} has {count(number, 'line')}, but {longer} has more"
            raise InputError(what, hint=SAME_LENGTH)
        yield texts
        number += 1
    if not number:
        raise InputError("the file is empty", hint="write one reply per line", where=str(paths[0]))


def _split(line: str, separator: str) -> list[str]:
    return [part.strip() for part in line.split(separator) if part.strip()]
