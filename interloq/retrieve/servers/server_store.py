# SPDX-License-Identifier: Apache-2.0
"""Common parts of the stores on servers: their manifest, and options in addresses."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self
from urllib.parse import parse_qsl

from interloq.errors import InputError, nearest
from interloq.registry import create, spec
from interloq.retrieve.retriever import Field, Retriever, Store, Words, check_built_with, fields, refuse_difference

SCHEMA = 1
BUILD = "make one: interloq index build PAIRS --retriever SPEC -o ADDRESS"
N_PROBES, NEIGHBOURS = 64, 15  # queries to measure recall@15
EXACT_UP_TO = 20_000


@dataclass(frozen=True, slots=True)
class ServerManifest:
    """Facts about an index, kept on the server, so that all clients make the same checks."""

    retriever: str
    built_with: str
    options: Mapping[str, Any]  # of the store, fixed when it was created
    dimensions: int  # of vectors; 0 if words are compared
    exact_up_to: int
    wanted_recall: float = 0.95
    pairs: int = 0
    sources: Mapping[str, int] = field(default_factory=dict)
    words: Mapping[str, float] = field(default_factory=dict)  # words per field: total or mean, as the store needs
    indexed: int = 0  # number of pairs when the server's index was built; 0 while search is exact
    effort: int = 0  # search effort, chosen by `choose_effort`
    recall: float | None = None  # measured; None while search is exact
    writer: str = ""  # the client that is adding now
    beat: int = 0  # increases while the writer is active
    schema: int = SCHEMA
    kind: str = "index"

    def create_retriever(self) -> Retriever:
        """Return the retriever that the index was built with."""
        retriever: Retriever = create(self.retriever, kind="retriever")
        return retriever

    def compared_fields(self) -> tuple[Field, ...]:
        """Return the texts of a pair that are compared."""
        return fields(self.create_retriever().target)


class ServerStore(Store):
    """Base of stores on servers: the manifest, read again when other clients may have changed it."""

    manifest: ServerManifest
    _defaults: ClassVar[Any]  # a dataclass: the options that are fixed when the store is created
    _given: Mapping[str, Any]  # the ones that are in the address

    def __init__(self, address: str, retriever: Retriever | None = None) -> None:
        self._connect(address)
        check(self._refresh(), retriever, self._given, self.where)

    @classmethod
    def create(
        cls, address: str, retriever: Retriever, *, exact_up_to: int = EXACT_UP_TO, recall: float = 0.95
    ) -> Self:
        """Create an empty index, or open an existing one that was created with the same settings."""
        store = cls.__new__(cls)
        store._connect(address)
        manifest = store._read()
        if manifest is None:
            manifest = new_manifest(retriever, cls._defaults, store._given, exact_up_to=exact_up_to, recall=recall)
            store._make(manifest)
        check(manifest, retriever, store._given, store.where)
        store._finish_making(manifest)
        return cls(address, retriever)

    def _connect(self, address: str) -> None:
        """Set `where`, `_given` and what the requests need."""
        raise NotImplementedError

    def _make(self, manifest: ServerManifest) -> None:
        """Create what an index with this manifest needs, and write the manifest."""
        raise NotImplementedError

    def _finish_making(self, manifest: ServerManifest) -> None:
        """Create what must come after the manifest and may be missing because an earlier attempt was interrupted."""

    def _read(self) -> ServerManifest | None:
        """Return the manifest on the server, or None if there is none."""
        raise NotImplementedError

    def _refresh(self) -> ServerManifest:
        manifest = self._read()
        if manifest is None:
            raise InputError("no index at this address", hint=BUILD, where=self.where)
        self.manifest = manifest
        return manifest

    def sources(self) -> dict[str, int]:
        return dict(self._refresh().sources)  # others may have added

    def __len__(self) -> int:
        return self.manifest.pairs


def new_manifest(
    retriever: Retriever, options: Any, given: Mapping[str, Any], *, exact_up_to: int, recall: float
) -> ServerManifest:
    """Return the manifest of an empty index; values that are `given` replace the fields of `options`, a dataclass."""
    values = dataclasses.asdict(dataclasses.replace(options, **given))
    sample = retriever.encode([""])
    dimensions = 0 if isinstance(sample, Words) else sample.shape[1]
    return ServerManifest(spec(retriever), retriever.built_with(), values, dimensions, exact_up_to, recall)


def read_manifest(values: Mapping[str, Any], where: str) -> ServerManifest:
    """Check the schema of a stored manifest."""
    if values.get("schema") != SCHEMA:
        raise InputError(
            f"the index has schema {values.get('schema')}; this version reads schema {SCHEMA}",
            hint="build it again with this version, or open it with the version that built it",
            where=where,
        )
    return ServerManifest(**values)


def check(manifest: ServerManifest, retriever: Retriever | None, given: Mapping[str, Any], where: str) -> None:
    """Refuse a retriever or options other than those the index was created with."""
    if retriever is not None:
        check_built_with(manifest, retriever, where)
    for name, value in given.items():
        refuse_difference(f"option {name}", manifest.options.get(name), value, where)


def check_source(manifest: ServerManifest, source: str, before: int) -> None:
    """Refuse a batch that does not follow the stored pairs of its source."""
    now = manifest.sources.get(source, 0)
    if now != before:
        raise InputError(
            f"the batch follows {before:,} pairs of its source, but {now:,} are stored",
            hint="check that no other client is adding",
        )


def read_options(query: str, *known: type, where: str) -> list[dict[str, Any]]:
    """Return the options of an address (`shards=3&int8=true`), grouped by the dataclass they belong to."""
    types: dict[str, type] = {}
    group: dict[str, dict[str, Any]] = {}
    groups: list[dict[str, Any]] = []
    for cls in known:
        groups.append({})
        for option in dataclasses.fields(cls):
            types[option.name], group[option.name] = type(option.default), groups[-1]
    for name, text in parse_qsl(query, keep_blank_values=True):
        if name not in types:
            raise InputError(f"unknown option {name!r}{nearest(name, types)}", where=where)
        group[name][name] = _parse_value(name, text, types[name], where)
    return groups


def _parse_value(name: str, text: str, wanted: type, where: str) -> Any:
    try:
        value = {"true": True, "false": False}[text.lower()] if wanted is bool else wanted(text)
    except (KeyError, ValueError):
        expected = {bool: "true or false", int: "a whole number", float: "a number"}[wanted]
        raise InputError(f"option {name} must be {expected}, got {text!r}", where=where) from None
    if wanted in (int, float) and not 0 <= value < 2**31:
        raise InputError(f"option {name} must be from 0 to below 2^31, got {text!r}", where=where)
    return value
