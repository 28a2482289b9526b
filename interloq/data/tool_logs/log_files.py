# SPDX-License-Identifier: Apache-2.0
"""The values in exports of any size: JSON, JSON lines, CSV, and the zip files of Inspect.

A .csv file has a column per field; cells that are JSON are read as such. Values come with their place and with what was
read of the object around them.
"""

from __future__ import annotations

import csv
import io
import json
import struct
import zipfile
import zlib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import orjson
import zstandard

from interloq.data.files.compression import FREE, RATIO
from interloq.data.files.json_stream import Path_, Reject, json_values
from interloq.data.files.opening import MAX_LINE, lines, not_utf8, plain_suffix
from interloq.errors import InputError

Value = tuple[str, Any, dict[str, Any]]
_ZSTANDARD = 93  # Inspect compresses members by it; Python's zipfile cannot read them yet
_DAMAGED = (zipfile.BadZipFile, zlib.error, zstandard.ZstdError, EOFError, OSError, struct.error, ValueError)


def log_values(path: str | Path, within: Collection[Path_], reject: Reject) -> Iterator[Value]:
    """Yield each value of a file with its place and the fields around it."""
    if str(path) == "-":
        raise InputError("logs are read from files, not from a pipe", hint="name a file")
    if Path(path).suffix.lower() == ".eval":
        return _eval_values(Path(path), reject)
    if plain_suffix(path) in (".csv", ".tsv"):
        return _rows(path, reject)
    return json_values(path, within, reject)


def _rows(path: str | Path, reject: Reject) -> Iterator[Value]:
    csv.field_size_limit(MAX_LINE)

    def texts() -> Iterator[str]:
        for number, line in lines(path):
            try:
                yield line.decode("utf-8") + "\n"
            except UnicodeDecodeError as error:
                reject(f"{path}:{number}", line, not_utf8(error))
                yield "\n"

    rows = csv.reader(texts(), delimiter="\t" if plain_suffix(path) == ".tsv" else ",", strict=True)
    names: list[str] = []
    while True:
        where = f"{path}:{rows.line_num + 1}"
        try:
            cells = next(rows, None)
        except csv.Error as error:
            reject(where, b"", InputError(f"not a valid row: {error}", hint="close every quote"))
            continue
        if cells is None:
            return
        if not names:
            names = [cell.strip() for cell in cells]
        elif len(cells) == len(names):
            yield where, {name: _read_cell(cell) for name, cell in zip(names, cells, strict=True)}, {}
        elif cells:
            what = InputError(f"{len(cells)} cells for {len(names)} columns", hint="quote cells with a comma")
            reject(where, ",".join(cells).encode(), what)


def _read_cell(cell: str) -> Any:
    if cell[:1] in ("{", "["):
        try:
            return orjson.loads(cell)
        except orjson.JSONDecodeError:
            return cell
    return cell or None


def _eval_values(path: Path, reject: Reject) -> Iterator[Value]:
    """Yield the samples of an Inspect log; the whole may not expand more than a file of records does."""
    try:
        with zipfile.ZipFile(path) as archive:
            left = max(FREE, RATIO * path.stat().st_size)
            log: dict[str, Any] = {}
            members = archive.infolist()
            for name in ("_journal/start.json", "header.json"):  # of a run that was stopped, or of a whole one
                for member in members:
                    if member.filename == name:
                        log |= json.loads(_read_member(archive, member), parse_constant=lambda _: None)
            for member in members:
                if not (member.filename.startswith("samples/") and member.filename.endswith(".json")):
                    continue
                left -= member.file_size
                if left < 0:
                    what = f"the samples expand to more than {RATIO:,} times the size of the file"
                    raise InputError(what, hint="check where it comes from", where=str(path))
                where = f"{path}/{member.filename}"
                try:
                    yield where, json.loads(_read_member(archive, member), parse_constant=lambda _: None), log
                except _DAMAGED as error:
                    reject(where, b"", InputError(f"the sample is damaged: {error}", hint="copy the log again"))
    except _DAMAGED as error:
        hint = "copy it again, or let Inspect write .json: inspect log convert --to json"
        raise InputError(f"cannot read the log: {error}", hint=hint, where=str(path)) from error


def _read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """Return the content of a member; one that is larger than it claims, or than a record may be, is refused."""
    if member.file_size > MAX_LINE:
        raise ValueError(f"{member.filename} is larger than {MAX_LINE >> 20} MiB")
    if member.compress_type != _ZSTANDARD:
        with archive.open(member) as stream:
            return stream.read(MAX_LINE)
    file: Any = archive.fp
    file.seek(member.header_offset)
    header = file.read(30)
    name, extra = struct.unpack("<HH", header[26:30])
    file.seek(name + extra, io.SEEK_CUR)
    compressed = io.BytesIO(file.read(member.compress_size))
    with zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(compressed) as stream:
        content: bytes = stream.read(member.file_size + 1)
    if len(content) != member.file_size or zlib.crc32(content) != member.CRC:
        raise ValueError(f"{member.filename} is not what it should be")
    return content
