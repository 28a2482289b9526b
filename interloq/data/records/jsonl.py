# SPDX-License-Identifier: Apache-2.0
"""The file format of records: one JSON object per line, and a header in the first line.

`read` streams and `load` lists. Files without a header, JSON arrays, CSV and TSV (`tables.py`) are also read, plain or
compressed. Bad lines are passed to the caller and the rest is read; with `strict`, a bad line is an error.
"""

from __future__ import annotations

import base64
import math
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import IO, Any

import orjson

from interloq.data.files.durable import is_device
from interloq.data.files.opening import MAX_LINE, as_line, lines, not_utf8, replacing
from interloq.data.files.write_errors import writing
from interloq.data.records.layouts import SAMPLES, Layout
from interloq.data.records.parsers import PARSERS
from interloq.data.records.tables import Reject, is_table, rows
from interloq.errors import InputError, ReadWarning, RejectedWarning, count
from interloq.records import Dialogue, Sample, Turn, format_key

SCHEMA = 1
REJECTED = ".rejected.jsonl"  # ending of files of bad lines
DIALOGUES_IN_IDS = ("partners", "holds")  # in headers of earlier files whose ids are <dialogue>#<turn>
SHOWN = 5  # bad lines that are reported one by one; the others are counted


@dataclass(frozen=True, slots=True)
class Rejected:
    """A line of a file that could not be used, and why."""

    path: str
    where: str
    what: str
    hint: str
    line: bytes

    def __str__(self) -> str:
        return str(InputError(self.what, hint=self.hint, where=self.where))

    def as_json(self) -> bytes:
        """Return the line of a file of bad lines: place, reason, hint, and the line itself (base64 if not text)."""
        facts = {"where": self.where, "what": self.what, "hint": self.hint}
        try:
            facts["line"] = self.line.decode("utf-8")
        except UnicodeDecodeError:
            facts["base64"] = base64.b64encode(self.line).decode()
        return orjson.dumps(facts) + b"\n"


def load(
    path: str | Path, *, kind: str = "samples", strict: bool = False, columns: Mapping[str, str] | None = None
) -> list[Any]:
    """Return all records of a file."""
    return list(read(path, kind=kind, strict=strict, columns=columns))


def read(
    path: str | Path,
    *,
    kind: str = "samples",
    strict: bool = False,
    on_reject: Callable[[Rejected], None] | None = None,
    columns: Mapping[str, str] | None = None,
) -> Iterator[Any]:
    """Yield the records of a file, one by one. Bad lines are passed to `on_reject`, or reported by one RejectedWarning.

    `columns` maps fields to their names in the file: `{"response": "reply", "system": "model"}`.
    """
    layout = Layout(kind, columns, table=is_table(path))
    rejects = _Rejects(path, on_reject, strict)
    seen = _Seen(kind)
    good = 0
    for number, line, record in layout.records(_objects(path, layout, rejects.add), rejects.add):
        try:
            seen.check(record, number)
        except InputError as error:
            rejects.add(number, line, error)
            continue
        good += 1
        yield record
    if not good:
        hint = rejects.first or "write one record per line"
        raise InputError(f"no usable record among {count(rejects.count, 'line')}", hint=hint, where=str(path))
    layout.names.check()
    rejects.warn(good)
    if notes := layout.notes():
        warnings.warn(f"{path}: {notes}", ReadWarning, stacklevel=2)


def read_all(
    paths: Iterable[str | Path],
    *,
    kind: str = "samples",
    strict: bool = False,
    on_reject: Callable[[Rejected], None] | None = None,
    columns: Mapping[str, str] | None = None,
) -> Iterator[Any]:
    """Yield the records of several files, one file after another."""
    for path in paths:
        yield from read(path, kind=kind, strict=strict, on_reject=on_reject, columns=columns)


def header(path: str | Path) -> dict[str, Any]:
    """Return the header of a file; empty if it has none."""
    for _, line in lines(path):
        if line.strip().startswith(b"{"):
            value = _decode(line)
            if isinstance(value, dict) and is_header(value):
                return value
        return {}
    return {}


def first_object(path: str | Path) -> dict[str, Any] | None:
    """Return the first object of a file, a header or a record; None if the file starts with something else."""
    next(lines(path), None)  # a file that cannot be read is an error
    try:
        for _, line in _records(path):
            return _object(line)
    except InputError:
        pass
    return None


def write(path: str | Path, records: Iterable[Any], *, kind: str, **facts: object) -> int:
    """Write records of one kind atomically; `facts` (signature, source, …) go into the header."""
    written = 0
    with replacing(path) as file:
        file.write(header_line(kind, facts))
        for record in records:
            file.write(record_line(record))
            written += 1
    return written


def header_line(kind: str, facts: Mapping[str, object]) -> bytes:
    """Return the first line of a file of records."""
    return orjson.dumps({"kind": kind, "schema": SCHEMA, **facts}) + b"\n"


def record_line(record: Any) -> bytes:
    """Return a record as a line of a file."""
    return orjson.dumps(to_json(record)) + b"\n"


def read_lines(lines: bytes, *, kind: str) -> Iterator[Any]:
    """Yield the records of lines that `record_line` wrote."""
    for line in lines.splitlines():
        yield PARSERS[kind](orjson.loads(line), "")


def to_json(record: Any) -> Any:
    """Return a record as plain JSON values: defaults are omitted, NaN becomes null."""
    if record is None or isinstance(record, str | int):
        return record
    kind: Any = type(record)
    if names := _field_defaults(kind):
        values = {}
        for name, default in names:
            value = getattr(record, name)
            if value != default and value not in ((), {}):
                values[name] = to_json(value)
        if isinstance(record, Dialogue) and values.pop("unspoken", ()):
            values["turns"] = [to_json(turn) for turn in record.all_turns()]
        if isinstance(record, Sample | Dialogue | Turn):
            values |= values.pop("fields", {})
        return values
    if isinstance(record, tuple):
        return [to_json(value) for value in record]
    if isinstance(record, float) and not math.isfinite(record):
        return None
    return record


@cache
def _field_defaults(kind: type[Any]) -> tuple[tuple[str, Any], ...]:
    """Return the fields of a dataclass and their defaults; empty for other types."""
    return tuple((field.name, field.default) for field in fields(kind)) if is_dataclass(kind) else ()


def _objects(path: str | Path, layout: Layout, reject: Reject) -> Iterator[tuple[int, bytes, Mapping[str, Any]]]:
    if layout.table:
        yield from rows(path, layout.kind, layout.names, reject)
        return
    for number, line in _records(path):
        try:
            value = _object(line)
        except InputError as error:
            reject(number, line, error)
            continue
        if is_header(value):
            _check_header(value, layout.kind, f"{path}:{number}")
            ours = any(name in value for name in DIALOGUES_IN_IDS)
            layout.dialogues_in_ids = ours and layout.kind in (*SAMPLES, "scores")
        else:
            yield number, line, value


def _records(path: str | Path) -> Iterator[tuple[int, bytes]]:
    """Yield numbered lines that are not blank, or the items of a JSON array, numbered from 1."""
    filled = ((number, line) for number, line in lines(path) if line.strip())
    for i, (number, line) in enumerate(filled):
        if i == 0 and line.lstrip().startswith(b"["):
            yield from _items(line, filled, path)
        else:
            yield number, line


def _items(first: bytes, rest: Iterable[tuple[int, bytes]], path: str | Path) -> Iterator[tuple[int, bytes]]:
    """Yield the items of an array as lines. The array is read at once, so it may not be larger than MAX_LINE."""
    parts, size = [first], len(first)
    for _, line in rest:
        size += len(line) + 1
        if size > MAX_LINE:
            break
        parts.append(line)
    if size > MAX_LINE:
        what = f"the file is one JSON array larger than {MAX_LINE >> 20} MiB"
        raise InputError(what, hint="write one record per line: jq -c '.[]'", where=str(path))
    try:
        values = _decode(b"\n".join(parts))
    except InputError as error:
        raise InputError(error.what, hint="close the array, or write one record per line", where=str(path)) from error
    for number, value in enumerate(values, start=1):
        yield number, as_line(value)


def _object(line: bytes) -> dict[str, Any]:
    if len(line) > MAX_LINE:
        raise InputError(f"the line is longer than {MAX_LINE >> 20} MiB", hint="write one record per line")
    value = _decode(line)
    if not isinstance(value, dict):
        raise InputError(
            f"expected a JSON object, got {type(value).__name__}",
            hint='write {"id": …, "context": […], "response": …} on one line',
        )
    return value


def _decode(line: bytes) -> Any:
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError as error:
        try:
            line.decode("utf-8")
        except UnicodeDecodeError as bad:
            raise not_utf8(bad) from error
        hint = "write each record as one JSON object on one line"
        if b"NaN" in line or b"Infinity" in line or "infinity" in error.msg:
            hint = "JSON has no NaN or infinity: write null for 'not applicable'"
        raise InputError(f"not valid JSON ({error.msg} at column {error.colno})", hint=hint) from error


def is_header(value: Mapping[str, Any]) -> bool:
    """Return whether an object is a header and not a record."""
    return "kind" in value and "schema" in value


def _check_header(value: Mapping[str, Any], kind: str, where: str) -> None:
    if value["kind"] != kind and not (kind == "prompts" and value["kind"] == "samples"):
        raise InputError(f"the file contains {value['kind']}, expected {kind}", hint="name another file", where=where)
    if value["schema"] != SCHEMA:
        raise InputError(
            f"schema {value['schema']}; this version reads schema {SCHEMA}",
            hint="read it with the version that wrote it",
            where=where,
        )


class _Rejects:
    """Counts bad lines, and passes them to `on_reject` or reports them in one warning."""

    def __init__(self, path: str | Path, on_reject: Callable[[Rejected], None] | None, strict: bool) -> None:
        self.path, self.on_reject, self.strict = path, on_reject, strict
        self.count, self.first = 0, ""

    def add(self, number: int, line: bytes, error: InputError) -> None:
        rejected = Rejected(str(self.path), f"{self.path}:{number}", error.what, error.hint, line)
        if self.strict:
            raise InputError(error.what, hint=error.hint, where=rejected.where) from error
        self.count += 1
        self.first = self.first or f"first: {rejected}"
        if self.on_reject:
            self.on_reject(rejected)

    def warn(self, good: int) -> None:
        if self.count and not self.on_reject:
            warnings.warn(
                f"{self.path}: {self.count:,} of {count(self.count + good, 'line')} not used; {self.first}",
                RejectedWarning,
                stacklevel=3,
            )


def rejected_path(output: str | Path) -> Path | None:
    """Return the file for bad lines of all inputs of an output: `scores.jsonl` → `scores.jsonl.rejected.jsonl`.

    It is beside the output; None for a pipe, a device or the address of a server.
    """
    path = Path(output)
    if str(output) == "-" or "://" in str(output) or path.name in ("", "..") or is_device(path):
        return None
    return path.with_name(f"{path.name}{REJECTED}")


class _Seen:
    """Refuses a second sample with the same id and system, or a second dialogue with the same id."""

    def __init__(self, kind: str) -> None:
        self.lines: dict[int, int] | None = {} if kind in (*SAMPLES, "dialogues") else None

    def check(self, record: Any, number: int) -> None:
        if self.lines is None:
            return
        key = record.key if isinstance(record, Sample) else (record.id, "")
        first = self.lines.setdefault(hash(key), number)  # a 64-bit hash, to save memory
        if first != number:
            raise InputError(
                f"duplicate id {format_key(key)}, first seen in line {first}",
                hint="give every sample its own id, or name its system",
            )


def write_then_head(
    path: str | Path,
    records: Iterable[Any],
    facts: Callable[[], Mapping[str, object]],
    *,
    kind: str,
    as_line: Callable[[Any], bytes] = record_line,
) -> None:
    """Write records atomically, after a header with `facts` that are known only after the last record."""
    with writing(tempfile.gettempdir()), tempfile.TemporaryFile() as waiting:
        for record in records:
            waiting.write(as_line(record))
        waiting.seek(0)
        copy_records(path, waiting, kind=kind, **facts())


def copy_records(path: str | Path, source: IO[bytes], /, *, kind: str, **facts: object) -> None:
    """Write a header and the lines of another file, which are not parsed again, atomically."""
    with replacing(path) as file:
        file.write(header_line(kind, facts))
        shutil.copyfileobj(source, file)


def header_after(before: Mapping[str, Any], stage: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the header of a stage's output: the input's header, with these facts added after earlier runs' facts."""
    kept = {name: value for name, value in before.items() if name not in ("kind", "schema", stage)}
    return kept | {stage: [*before.get(stage, []), facts]}
