# SPDX-License-Identifier: Apache-2.0
"""The manifest of an index in a folder. Every value is checked: the folder may be damaged or untrusted."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import orjson

from interloq.data.files.durable import write_atomically
from interloq.data.files.folders import inside
from interloq.errors import InputError

SCHEMA = 1
MANIFEST = "index.json"
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


def damaged(path: Path, what: str) -> InputError:
    """The error for an index that is damaged."""
    return InputError(f"the index is damaged: {what}", hint=REBUILD, where=str(path))


def read_manifest(folder: Path) -> FolderManifest:
    """The manifest of an index folder."""
    path = inside(folder, MANIFEST)
    try:
        if path.stat().st_size > LARGEST:
            raise damaged(path, f"more than {LARGEST:,} bytes")
        values = orjson.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(
            f"no index in {folder}", hint="make one: interloq index build PAIRS --retriever SPEC -o FOLDER"
        ) from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}", hint="check the path") from error
    except orjson.JSONDecodeError as error:
        raise damaged(path, str(error)) from error
    if not isinstance(values, dict) or "schema" not in values:
        raise damaged(path, "it has no schema")
    if values["schema"] != SCHEMA:
        raise InputError(
            f"the index has schema {values['schema']}; this version reads schema {SCHEMA}",
            hint="build it again with this version, or open it with the version that built it",
            where=str(folder),
        )
    return _checked(values, path)


def write_manifest(folder: Path, manifest: FolderManifest) -> None:
    """Write the manifest of an index folder."""
    write_atomically(folder / MANIFEST, orjson.dumps(asdict(manifest), option=orjson.OPT_INDENT_2))


def _checked(values: dict[str, Any], path: Path) -> FolderManifest:
    known = {item.name for item in fields(FolderManifest)}
    for name in sorted(known ^ values.keys()):
        raise damaged(path, f"{name} is {'missing' if name in known else 'unknown'}")
    for name, check in _CHECKS.items():
        if not check(values[name]):
            raise damaged(path, f"{name} cannot be {_short(values[name])}")
    names = [segment["name"] for segment in values["segments"]]
    if len(set(names)) < len(names):
        raise damaged(path, "a segment is listed twice")
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
