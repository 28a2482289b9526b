# SPDX-License-Identifier: Apache-2.0
"""The ChatterBot corpus: short conversations in YAML, one folder per language (package chatterbot-corpus).

The files have one simple structure (`- - first`, `  - next`), so a small parser is enough. It also handles a missing
first dash (`- question` over `  - answer`, in six of the published files), which YAML would read as one long question.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path, PurePosixPath

from interloq.data.files.archives import read_files, text
from interloq.data.sets.items import alternate
from interloq.errors import InputError
from interloq.records import Dialogue

FILES = ("*/*.yml", "*/*.yaml")
_FIRST = re.compile(r"(?:\s*-\s+)?-\s*(.*)")
_NEXT = re.compile(r"\s+-(?:\s+(.*))?")
_BLOCK = re.compile(r"[|>][-+]?")


def find_installed() -> Path | None:
    """Return the folder of the installed package."""
    package = find_spec("chatterbot_corpus")
    if package is None or not package.origin:
        return None
    return Path(package.origin).parent / "data"


def dialogues(path: str | Path) -> Iterator[tuple[str, Dialogue]]:
    """Yield the conversations of all languages, in a folder with one subfolder per language."""
    for file in read_files(path, FILES):
        language = PurePosixPath(file.name).parent.name or Path(path).parent.name
        topic = PurePosixPath(file.name).stem
        for index, texts in enumerate(conversations(text(file), file.where)):
            yield "all", Dialogue(f"chatterbot/{language}/{topic}/{index}", alternate(texts))


def conversations(data: str, where: str) -> list[list[str]]:
    """Return the conversations of a file; an indented line without a dash continues the text before it."""
    talks: list[list[str]] = []
    inside, block = False, 0  # depth of a text that is written as a block
    for line in data.splitlines():
        depth = len(line) - len(line.lstrip())
        if line.startswith("conversations:"):
            inside = True
        elif not inside or not line.strip() or (line.lstrip().startswith("#") and depth < (block or depth + 1)):
            continue
        elif talks and depth and (depth >= block > 0 or not _NEXT.fullmatch(line)):
            talks[-1][-1] += f" {line.strip()}"
        elif turn := _FIRST.fullmatch(line) or (_NEXT.fullmatch(line) if talks else None):
            text_here, block = turn[1] or "", 0
            if _BLOCK.fullmatch(text_here):
                text_here, block = "", turn.start(1)
            if turn.re is _FIRST:
                talks.append([])
            talks[-1].append(text_here)
        else:
            inside = False
    if not talks:
        raise InputError("no list of conversations in the file", hint="name the published files", where=where)
    return [list(filter(None, map(_unquote, turns))) for turns in talks]


def _unquote(value: str) -> str:
    value = " ".join(value.split())
    if len(value) > 1 and value[0] == value[-1] == "'":
        value = value[1:-1].replace("''", "'")
    elif len(value) > 1 and value[0] == value[-1] == '"':
        value = value[1:-1].replace('\\"', '"').replace("\\\\", "\\")
    return " ".join(value.split())
