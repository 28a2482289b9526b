# SPDX-License-Identifier: Apache-2.0
"""Refuse an output that is also an input; files are compared, not names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from interloq.data.records.jsonl import rejected_path
from interloq.errors import InputError


def refuse_overwriting(outputs: Sequence[str | Path], inputs: Sequence[str | Path]) -> None:
    """Raise an error if an output is an input or another output, or if its file of bad lines is an input."""
    for place, output in enumerate(map(str, outputs)):
        if any(_same(output, str(other)) for other in outputs[:place]):
            raise InputError(f"two outputs are the same file {output!r}", hint="give each its own name")
        for path in map(str, inputs):
            if what := _collision(output, path):
                raise InputError(what, hint="choose another output")


def _collision(output: str, path: str) -> str:
    if _same(output, path):
        return f"the output {output!r} is also an input"
    if _same(f"{output}.part", path):
        return f"the input {path!r} would be replaced while writing"
    bad_lines = rejected_path(output)
    if bad_lines and _same(str(bad_lines), path):
        return f"the input {path!r} would be replaced by the bad lines of the output {output!r}"
    return ""


def _same(first: str, second: str) -> bool:
    """Return whether two names refer to the same file or folder, possibly through links."""
    try:
        return Path(first).samefile(second)
    except (OSError, ValueError):  # one of them does not exist, or is not a path
        return first != "-" and _resolve(first) == _resolve(second)


def _resolve(path: str) -> str:
    try:
        return str(Path(path).resolve())
    except (OSError, ValueError, RuntimeError):
        return path
