# SPDX-License-Identifier: Apache-2.0
"""Signatures: everything a number depends on, such as the metric's fields, models, samples, seed and versions."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from interloq.errors import InputError, short_repr
from interloq.registry import complete, field_value, full_spec, parts_of
from interloq.version import __version__

VERSION = "version"  # the part that names Interloq's own version, always the last one
NETWORK: tuple[str, ...] = ("torch", "transformers", "tokenizers")  # packages that run pretrained networks
LIBRARIES = (*NETWORK, "sentencepiece")  # parts that name the version of a package


@dataclass(frozen=True, slots=True)
class Signature:
    """A name (a spec with all fields, or the verb) and parts in printing order: tokenizer, samples, seed, …

    `str` gives one line for people, which is never parsed. In files it is an object with name and parts. Files of
    earlier versions have only the line, which becomes a name without parts.
    """

    name: str
    parts: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return "|".join([self.name, *(f"{name}:{value}" for name, value in self.parts.items())])

    def __hash__(self) -> int:
        return hash(self.short)

    @property
    def short(self) -> str:
        """Twelve hexadecimal digits that identify it, for people."""
        return fingerprint(self.name, *sorted(f"{name}:{value}" for name, value in self.parts.items()))[:12]

    @property
    def is_text(self) -> bool:
        """Whether an earlier version wrote it as one line."""
        return not self.parts

    def with_parts(self, parts: Mapping[str, object]) -> Signature:
        """Return a copy with further parts before the version."""
        extended = {**self.without(VERSION).parts, **_as_text(parts)}
        if VERSION in self.parts:
            extended[VERSION] = self.parts[VERSION]
        return replace(self, parts=extended)

    def without(self, *names: str) -> Signature:
        """Return a copy without these parts."""
        return replace(self, parts={name: value for name, value in self.parts.items() if name not in names})

    def differences(self, other: Signature) -> Iterator[tuple[str, str | None, str | None]]:
        """Yield each part that differs, with both values; None if a signature lacks the part."""
        if self.name != other.name:
            yield "name", self.name, other.name
        for name in dict.fromkeys([*self.parts, *other.parts]):
            if self.parts.get(name) != other.parts.get(name):
                yield name, self.parts.get(name), other.parts.get(name)

    @classmethod
    def of(cls, name: str, parts: Mapping[str, object]) -> Signature:
        """Return a signature of these parts, followed by Interloq's version."""
        return cls(name, _as_text({**parts, VERSION: __version__}))

    @classmethod
    def from_json(cls, value: object, *, where: str = "") -> Signature:
        """Read the signature of a header: an object with name and parts, or the line that earlier versions wrote."""
        if isinstance(value, str):
            return cls(value)
        match value:
            case {"name": str(name), **rest} if isinstance(parts := rest.get("parts", {}), dict):
                return cls(name, _as_text(parts))
        what = f"a signature is an object with a name and parts, got {short_repr(value)}"
        raise InputError(what, hint="score the samples again with `interloq score`", where=where)


def signature(component: Any, **facts: object) -> Signature:
    """Return the signature of a component: its fields, what it is built with, these facts in order, and versions.

    Paths are not part of it: `built_with` and the tokenizer identify the content of files and folders.
    """
    complete(type(component))
    parts: dict[str, object] = {}
    tokenizer = field_value(component, "tokenizer")
    if tokenizer is not None:
        parts["tokenizer"] = tokenizer.signature()
    parts["built-with"] = component.built_with()
    return Signature.of(full_spec(component, places="blank"), {**parts, **facts, **_versions(component)})


def runs_network(component: Any) -> bool:
    """Return whether a component, or a component in its fields, runs a network in this process."""
    complete(type(component))
    return "torch" in component.libraries or any(map(runs_network, parts_of(component)))


def _versions(component: Any) -> dict[str, str]:
    """Return the installed versions of the `libraries` of a component and of the components in its fields."""
    versions = {name: _version(name) for name in component.libraries}
    for part in parts_of(component):
        versions |= _versions(part)
    return versions


@cache
def _version(package: str) -> str:
    """Return the installed version of a package, "" if there is none; cached because its metadata is slow to parse."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _as_text(parts: Mapping[str, object]) -> dict[str, str]:
    """Return the parts as text; empty parts are omitted."""
    return {name: text for name, value in parts.items() if (text := str(value))}


def fingerprint(*parts: str | bytes) -> str:
    """Hash these texts in this order, as sixteen hexadecimal digits."""
    digest = hashlib.blake2b(digest_size=8)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()


def file_fingerprint(path: Path) -> str:
    """Hash a file's content, as sixteen hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=8)).hexdigest()
