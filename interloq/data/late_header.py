"""Files whose header says what is known only when the last record is: counts, above all.

Records wait as bytes in another file; they are copied behind the header without being read again.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import IO, Any

from interloq.data.files import replacing
from interloq.data.jsonl import header_line, record_line
from interloq.data.write_errors import writing


def write_then_head(
    path: str | Path, records: Iterable[Any], facts: Callable[[], Mapping[str, object]], *, kind: str
) -> None:
    """Write records atomically, behind a header with the `facts` that are known after the last of them."""
    with writing(tempfile.gettempdir()), tempfile.TemporaryFile() as waiting:
        for record in records:
            waiting.write(record_line(record))
        waiting.seek(0)
        copy_records(path, waiting, kind=kind, **facts())


def copy_records(path: str | Path, lines: IO[bytes], *, kind: str, **facts: object) -> None:
    """A header, and the lines of records that another file holds; atomically."""
    with replacing(path) as file:
        file.write(header_line(kind, facts))
        shutil.copyfileobj(lines, file)


def header_after(before: Mapping[str, Any], stage: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    """What the header of a stage's output says: all that the input's did, and the facts after those of earlier runs."""
    kept = {name: value for name, value in before.items() if name not in ("kind", "schema", stage)}
    return kept | {stage: [*before.get(stage, []), facts]}
