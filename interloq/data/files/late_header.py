# SPDX-License-Identifier: Apache-2.0
"""Files with a header that is known only after the last record, since it contains counts.

The records are first written to another file, and copied after the header without being parsed again.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import IO, Any

from interloq.data.files.opening import replacing
from interloq.data.files.write_errors import writing
from interloq.data.records.jsonl import header_line, record_line


def write_then_head(
    path: str | Path, records: Iterable[Any], facts: Callable[[], Mapping[str, object]], *, kind: str
) -> None:
    """Write records atomically, after a header with `facts` that are known after the last record."""
    with writing(tempfile.gettempdir()), tempfile.TemporaryFile() as waiting:
        for record in records:
            waiting.write(record_line(record))
        waiting.seek(0)
        copy_records(path, waiting, kind=kind, **facts())


def copy_records(path: str | Path, lines: IO[bytes], *, kind: str, **facts: object) -> None:
    """Write a header and the lines of another file, atomically."""
    with replacing(path) as file:
        file.write(header_line(kind, facts))
        shutil.copyfileobj(lines, file)


def header_after(before: Mapping[str, Any], stage: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the header of a stage's output: the input's header, with these facts added after earlier runs' facts."""
    kept = {name: value for name, value in before.items() if name not in ("kind", "schema", stage)}
    return kept | {stage: [*before.get(stage, []), facts]}
