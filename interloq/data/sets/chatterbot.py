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

from interloq.data.archives import read_files, text
from interloq.errors import InputError
from interloq.records import Dialogue, Turn

FILES = ("*/*.yml", "*/*.yaml")
_FIRST = re.compile(r"(?:\s*-\s+)?-\s*(.*)")
_NEXT = re.compile(r"\s+-(?:\s+(.*))?")
_BLOCK = re.compile(r"[|>][-+]?")


def installed() -> Path | None:
    """The folder of the installed package."""
    found = find_spec("chatterbot_corpus")
    return Path(found.origin).parent / "data" if found and found.origin else None


def dialogues(path: str | Path) -> Iterator[tuple[str, Dialogue]]:
    """The conversations of all languages, in a folder with one subfolder per language."""
    for file in read_files(path, FILES):
        language = PurePosixPath(file.name).parent.name or Path(path).parent.name
        topic = PurePosixPath(file.name).stem
        for index, said in enumerate(conversations(text(file), file.where)):
            turns = [Turn(turn, "AB"[i % 2]) for i, turn in enumerate(said)]
            yield "all", Dialogue(f"chatterbot/{language}/{topic}/{index}", turns)


def conversations(data: str, where: str) -> list[list[str]]:
    """The conversations of a file; an indented line without a dash continues the text before it."""
    said: list[list[str]] = []
    inside, block = False, 0  # depth of a text that is written as a block
    for line in data.splitlines():
        depth = len(line) - len(line.lstrip())
        if line.startswith("conversations:"):
            inside = True
        elif not inside or not line.strip() or (line.lstrip().startswith("#") and depth < (block or depth + 1)):
            continue
        elif said and depth and (depth >= block > 0 or not _NEXT.fullmatch(line)):
            said[-1][-1] += f" {line.strip()}"
        elif found := _FIRST.fullmatch(line) or (_NEXT.fullmatch(line) if said else None):
            said_here = found[1] or ""
            is_block = _BLOCK.fullmatch(said_here) is not None
            block = found.start(1) if is_block else 0
            if found.re is _FIRST:
                said.append([])
            said[-1].append("" if is_block else said_here)
        else:
            inside = False
    if not said:
        raise InputError("no list of conversations in the file", hint="name the published files", where=where)
    return [[turn for turn in map(_unquoted, turns) if turn] for turns in said]


def _unquoted(value: str) -> str:
    value = " ".join(value.split())
    if len(value) > 1 and value[0] == value[-1] == "'":
        value = value[1:-1].replace("''", "'")
    elif len(value) > 1 and value[0] == value[-1] == '"':
        value = value[1:-1].replace('\\"', '"').replace("\\\\", "\\")
    return " ".join(value.split())
