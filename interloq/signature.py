"""What stands behind a number: every field of the metric, its models, references, samples, seed and versions."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from interloq.errors import InputError, shown
from interloq.registry import full_spec, parts_of
from interloq.version import __version__

VERSION = "version"  # the part that names Interloq's own version, always the last one
NETWORK: tuple[str, ...] = ("torch", "transformers", "tokenizers")  # what pretrained networks are run with
LIBRARIES = (*NETWORK, "sentencepiece")  # parts that name the version of a package


@dataclass(frozen=True, slots=True)
class Signature:
    """A name (a spec with all fields, or the verb) and parts in the order they are told: tokenizer, samples, seed, …

    `str` writes all of it on one line, for people; no program takes that line apart again. In files it is an object
    with name and parts. Files of earlier versions hold only the line: these have a name and no parts.
    """

    name: str
    parts: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return "|".join([self.name, *(f"{name}:{value}" for name, value in self.parts.items())])

    def __hash__(self) -> int:
        return hash(self.short)

    @property
    def short(self) -> str:
        """Twelve hexadecimal digits that stand for it where people read."""
        return fingerprint(self.name, *sorted(f"{name}:{value}" for name, value in self.parts.items()))[:12]

    @property
    def is_text(self) -> bool:
        """Whether an earlier version wrote it, as one line."""
        return not self.parts

    def with_parts(self, parts: Mapping[str, object]) -> Signature:
        """With further parts, told before the version."""
        version = {name: value for name, value in self.parts.items() if name == VERSION}
        return replace(self, parts={**self.without(VERSION).parts, **_told(parts), **version})

    def without(self, *names: str) -> Signature:
        """With all parts but these."""
        return replace(self, parts={name: value for name, value in self.parts.items() if name not in names})

    def differences(self, other: Signature) -> Iterator[tuple[str, str | None, str | None]]:
        """Each part that is not the same in both, with both values; None where one has no such part."""
        if self.name != other.name:
            yield "name", self.name, other.name
        for name in dict.fromkeys([*self.parts, *other.parts]):
            one, two = self.parts.get(name), other.parts.get(name)
            if one != two:
                yield name, one, two

    @classmethod
    def of(cls, name: str, parts: Mapping[str, object]) -> Signature:
        """The parts as they are told, and Interloq's version as the last one."""
        return cls(name, _told({**parts, VERSION: __version__}))

    @classmethod
    def from_json(cls, value: object, *, where: str = "") -> Signature:
        """From a header: an object with name and parts, or the line that earlier versions wrote."""
        if isinstance(value, str):
            return cls(value)
        match value:
            case {"name": str(name), **rest} if isinstance(parts := rest.get("parts", {}), dict):
                return cls(name, _told(parts))
        what = f"a signature is an object with a name and parts, got {shown(value)}"
        raise InputError(what, hint="score the samples again with `interloq score`", where=where)


def signature(component: Any, **facts: object) -> Signature:
    """All fields of a component, what it is built with, and these facts in the order given; versions come last.

    Where a file or folder lies is not part of it: `built_with` and the tokenizer name what is in there.
    """
    parts: dict[str, object] = {}
    tokenizer = getattr(component, "tokenizer", None)
    if tokenizer is not None:
        parts["tokenizer"] = tokenizer.signature()
    if hasattr(component, "built_with"):  # a metric that rests on another package names it and its version
        parts["built-with"] = component.built_with()
    return Signature.of(full_spec(component, places="blank"), {**parts, **facts, **_versions(component)})


def _versions(component: Any) -> dict[str, str]:
    """The installed version of each library that a component, or one in its fields, names."""
    found: dict[str, str] = {}
    for name in getattr(component, "libraries", ()):
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    for part in parts_of(component):
        found |= _versions(part)
    return found


def _told(parts: Mapping[str, object]) -> dict[str, str]:
    """Parts as text; one that is empty says nothing."""
    return {name: text for name, value in parts.items() if (text := str(value))}


def fingerprint(*parts: str | bytes) -> str:
    """Sixteen hexadecimal digits that name these texts, in this order."""
    digest = hashlib.blake2b(digest_size=8)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()


def file_fingerprint(path: Path) -> str:
    """A short hash of a file's contents."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=8)).hexdigest()
