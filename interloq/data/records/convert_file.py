# SPDX-License-Identifier: Apache-2.0
"""Conversion of files of records in any supported layout to JSONL."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from interloq.data.files.opening import plain_suffix
from interloq.data.files.overwriting import refuse_overwriting
from interloq.data.progress import Progress, counted, silent
from interloq.data.records.jsonl import Rejected, header, read, write
from interloq.data.records.summary import RecordSummary
from interloq.data.text.texts import kind_of
from interloq.errors import InputError

KINDS = ("samples", "dialogues", "scores", "ratings", "preferences")


def convert_file(
    path: str | Path,
    output: str | Path,
    *,
    kind: str | None = None,
    strict: bool = False,
    on_reject: Callable[[Rejected], None] | None = None,
    columns: Mapping[str, str] | None = None,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Write the records of a file as JSONL, with its header; returns their kind and counts.

    `kind` is taken from the header or the first record unless given. `-` is a pipe. Bad lines and `columns` are handled
    as in `interloq.read`.
    """
    refuse_overwriting([output], [path])
    if plain_suffix(output) in (".csv", ".tsv"):
        raise InputError(f"cannot write {output}: records are written as JSONL", hint="name a .jsonl file")
    kept = {name: value for name, value in _header(path).items() if name not in ("kind", "schema")}
    kind, summary = kind or kind_held(path), RecordSummary()
    records = read(path, kind=kind, strict=strict, on_reject=on_reject, columns=columns)
    with progress("reading", None) as step:
        write(output, summary.watch(counted(records, step)), kind=kind, **kept)
    return {"kind": kind, **summary.facts()}


def kind_held(path: str | Path) -> str:
    """Return the kind of records in the file, from its header or first record."""
    kind = kind_of(path)
    if kind not in KINDS:
        return "samples"
    return kind


def _header(path: str | Path) -> dict[str, Any]:
    """Return the header; empty for a pipe, which cannot be read twice, and for a bad line, which is reported later."""
    if str(path) == "-":
        return {}
    try:
        return header(path)
    except InputError:
        return {}
