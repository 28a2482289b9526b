# SPDX-License-Identifier: Apache-2.0
"""Types that mark arguments as inputs or outputs, so that an output that is also an input is refused early."""

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
    """The `type` of every argument that names a file or folder to write."""

    __slots__ = ()


class OutputFile(OutputPath):
    """The `type` of every argument that names a file to write, not a folder."""

    __slots__ = ()


def check_paths(args: argparse.Namespace) -> None:
    """Refuse an output that is also an input, and a folder as an output file, before any work is done.

    Specs may name inputs as well, as in `human(ratings='r.jsonl')`.
    """
    from interloq.data.files.overwriting import refuse_overwriting

    given = list(_texts(vars(args)))
    for text in given:
        if isinstance(text, OutputFile) and Path(text).is_dir():
            raise InputError(f"the output {text!r} is a folder", hint="name a file")
    inputs = [text for text in given if isinstance(text, InputPath)]
    inputs += [path for text in given for path in _quoted(text)]
    refuse_overwriting([text for text in given if isinstance(text, OutputPath)], inputs)


def _texts(values: dict[str, Any]) -> Iterator[str]:
    for value in values.values():
        yield from (text for text in (value if isinstance(value, list) else [value]) if isinstance(text, str))


def _quoted(text: str) -> Iterator[InputPath]:
    for _, inner in _QUOTED.findall(straight(text)):
        yield InputPath(inner)
        yield from _quoted(inner)
