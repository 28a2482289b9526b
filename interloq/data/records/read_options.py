# SPDX-License-Identifier: Apache-2.0
"""How the input files of a function are read: what happens to bad lines, and how the user's file names its fields."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from interloq.data.records.jsonl import Rejected, read, read_all
from interloq.data.records.synonyms import read_columns
from interloq.options import option


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """Bad lines are passed to `on_reject`, or reported by one warning; with `strict`, the first one is an error.

    `columns` maps fields of the main input to their names in the file: `{"response": "reply", "system": "model"}`.
    """

    columns: Mapping[str, str] | None = option(
        None,
        "names of the fields in your samples, e.g. response=reply,system=model",
        flag="--map",
        metavar="FIELD=NAME,…",
        parse=read_columns,
    )
    strict: bool = option(False, "stop at the first bad line instead of setting it aside")
    on_reject: Callable[[Rejected], None] | None = None

    def read(self, path: str | Path, *, kind: str = "samples") -> Iterator[Any]:
        """Yield the records of the main input, whose fields `columns` may rename."""
        return read(path, kind=kind, strict=self.strict, on_reject=self.on_reject, columns=self.columns)

    def read_beside(self, paths: Iterable[str | Path], *, kind: str) -> Iterator[Any]:
        """Yield the records of further files, one after another; `columns` does not apply to them."""
        return read_all(paths, kind=kind, strict=self.strict, on_reject=self.on_reject)


READ_DEFAULTS = ReadOptions()
