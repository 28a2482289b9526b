# SPDX-License-Identifier: Apache-2.0
"""Files of an index folder: its manifest, and the pairs of each segment.

Every value is checked: the folder may be damaged or untrusted. Pairs are concatenated JSON in one memory-mapped file,
with the end of each pair in another.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from interloq.data.files.arrays import map_array
from interloq.data.files.durable import write_atomically
from interloq.data.files.folders import inside
from interloq.errors import InputError
from interloq.records import Pair

SCHEMA = 2
READABLE = (1, 2)  # schema 1 has faiss lists instead of scanned codes
MANIFEST = "index.json"
PAIRS, ENDS = "pairs.bin", "ends.npy"
LARGEST = 2**26  # bytes of a manifest
MOST = 2**40  # pairs
REBUILD = "copy the index again, or rebuild it in a new folder: interloq index build PAIRS -o FOLDER --retriever SPEC"
SEGMENT = re.compile(r"\d{6,12}")


@dataclass(frozen=True, slots=True)
class FolderManifest:
    """Facts about an index that are known without opening a segment."""

    retriever: str
    built_with: str
    segments: tuple[Mapping[str, Any], ...] = ()  # name and number of pairs
    sources: Mapping[str, int] = field(default_factory=dict)
    expected: int = 0
    exact_up_to: int = 200_000
    wanted_recall: float = 0.95
    n_probe: int = 64
    recall: float | None = None  # measured; None while search is exact
    schema: int = SCHEMA
    kind: str = "index"


def make_damage_error(path: Path, what: str) -> InputError:
    """Return the error for an index that is damaged."""
    return InputError(f"the index is damaged: {what}", hint=REBUILD, where=str(path))


def read_manifest(folder: Path) -> FolderManifest:
    """Return the manifest of an index folder."""
    path = inside(folder, MANIFEST)
    try:
        if path.stat().st_size > LARGEST:
            raise make_damage_error(path, f"more than {LARGEST:,} bytes")
        values = orjson.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(
            f"no index in {folder}", hint="make one: interloq index build PAIRS --retriever SPEC -o FOLDER"
        ) from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}", hint="check the path") from error
    except orjson.JSONDecodeError as error:
        raise make_damage_error(path, str(error)) from error
    if not isinstance(values, dict) or "schema" not in values:
        raise make_damage_error(path, "it has no schema")
    if values["schema"] not in READABLE:
        raise InputError(
            f"the index has schema {values['schema']}; this version reads schema {SCHEMA}",
            hint="build it again with this version, or open it with the version that built it",
            where=str(folder),
        )
    return _check_manifest(values, path)


def write_manifest(folder: Path, manifest: FolderManifest) -> None:
    """Write the manifest of an index folder."""
    write_atomically(
        folder / MANIFEST, orjson.dumps({**asdict(manifest), "schema": SCHEMA}, option=orjson.OPT_INDENT_2)
    )


def _check_manifest(values: dict[str, Any], path: Path) -> FolderManifest:
    known = {item.name for item in fields(FolderManifest)}
    for name in sorted(known ^ values.keys()):
        raise make_damage_error(path, f"{name} is {'missing' if name in known else 'unknown'}")
    for name, check in _CHECKS.items():
        if not check(values[name]):
            raise make_damage_error(path, f"{name} cannot be {_short(values[name])}")
    names = [segment["name"] for segment in values["segments"]]
    if len(set(names)) < len(names):
        raise make_damage_error(path, "a segment is listed twice")
    return FolderManifest(**{**values, "segments": tuple(values["segments"])})


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:79] + "…"


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= MOST


def _is_share(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value <= 1


def _is_segment(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() == {"name", "pairs"}
        and isinstance(value["name"], str)
        and SEGMENT.fullmatch(value["name"]) is not None
        and _is_count(value["pairs"])
    )


_CHECKS: dict[str, Callable[[Any], bool]] = {
    "kind": lambda value: value == "index",
    "retriever": lambda value: isinstance(value, str),
    "built_with": lambda value: isinstance(value, str),
    "segments": lambda value: isinstance(value, list) and all(map(_is_segment, value)),
    "sources": lambda value: isinstance(value, dict) and all(map(_is_count, value.values())),
    "expected": _is_count,
    "exact_up_to": _is_count,
    "wanted_recall": _is_share,
    "n_probe": lambda value: _is_count(value) and value >= 1,
    "recall": lambda value: value is None or _is_share(value),
}


def write_log(folder: Path, pairs: Iterable[Pair]) -> None:
    """Write pairs so that each can be read by its number."""
    ends = [0]
    with (folder / PAIRS).open("wb") as file:
        for pair in pairs:
            values = (pair.id, pair.utterance, pair.response, pair.to, pair.thread, pair.time)
            ends.append(ends[-1] + file.write(orjson.dumps(values)))
    np.save(folder / ENDS, np.array(ends, dtype=np.int64))


class FolderLog:
    """Pairs by position, read on access."""

    def __init__(self, folder: Path, pairs: int) -> None:
        self._path = folder / PAIRS
        self._ends = map_array(folder / ENDS, np.int64, rows=pairs + 1, hint=REBUILD)
        try:
            size = self._path.stat().st_size
            self._bytes = np.memmap(self._path, dtype=np.uint8, mode="r") if size else np.zeros(0, dtype=np.uint8)
        except OSError as error:
            raise make_damage_error(self._path, str(error.strerror)) from error
        if (self._ends[0], self._ends[-1]) != (0, size):
            raise make_damage_error(self._path, f"{size:,} bytes, not {self._ends[-1]:,}")

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __getitem__(self, i: int) -> Pair:
        if not 0 <= i < len(self):
            raise make_damage_error(self._path, f"no pair {i:,} among {len(self):,}")
        start, end = self._ends[i : i + 2].tolist()
        if not 0 <= start <= end <= len(self._bytes):
            raise make_damage_error(self._path, f"pair {i:,} cannot be at {start:,} to {end:,}")
        try:
            values = orjson.loads(self._bytes[start:end].tobytes())
        except orjson.JSONDecodeError as error:
            raise make_damage_error(self._path, f"pair {i:,}: {error}") from error
        if not isinstance(values, list) or [type(value) for value in values] != [str] * 6:
            raise make_damage_error(self._path, f"pair {i:,} is not six texts")
        return Pair(*values)
