"""Refuses an output that is also an input, for every verb, before anything is read."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from interloq.errors import InputError
from interloq.spec_text import straight

_QUOTED = re.compile(r"""(["'])(.*?)\1""", re.DOTALL)


class InputPath(str):
    """The `type` of every argument that names a file or folder to read."""

    __slots__ = ()


class OutputPath(str):
    """The `type` of every argument that names what a verb writes."""

    __slots__ = ()


def refuse_overwriting(args: argparse.Namespace) -> None:
    """A spec may name inputs too, as in `human(ratings='r.jsonl')`."""
    from interloq.data.jsonl import rejected_path

    given = list(_texts(vars(args)))
    outputs = [text for text in given if isinstance(text, OutputPath)]
    inputs = [text for text in given if isinstance(text, InputPath)]
    inputs += [path for text in given for path in _quoted(text)]
    for place, output in enumerate(outputs):
        if any(_same(output, other) for other in outputs[:place]):
            raise InputError(f"two outputs are the same file {str(output)!r}", hint="give each a name of its own")
        for path in inputs:
            if _same(output, path):
                raise InputError(f"the output {str(output)!r} is also an input", hint="choose another output")
            if _same(f"{output}.part", path):
                raise InputError(
                    f"the input {str(path)!r} would be replaced while writing", hint="choose another output"
                )
            if Path(path).is_file() and _same(output, str(rejected_path(path))):
                what = f"the output {str(output)!r} is where bad lines of {str(path)!r} are set aside"
                raise InputError(what, hint="choose another output")


def _texts(values: dict[str, Any]) -> Iterator[str]:
    for value in values.values():
        yield from (text for text in (value if isinstance(value, list) else [value]) if isinstance(text, str))


def _quoted(text: str) -> Iterator[InputPath]:
    for _, inner in _QUOTED.findall(straight(text)):
        yield InputPath(inner)
        yield from _quoted(inner)


def _same(first: str, second: str) -> bool:
    """The same file or folder, whatever the names: links count."""
    try:
        return Path(first).samefile(second)
    except (OSError, ValueError):  # one of them is not there, or is not a path at all
        return first != "-" and _resolved(first) == _resolved(second)


def _resolved(path: str) -> str:
    try:
        return str(Path(path).resolve())
    except (OSError, ValueError, RuntimeError):
        return path
