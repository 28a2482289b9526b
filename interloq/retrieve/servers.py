"""What the homes on servers share: the manifest they keep there, options in addresses."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from interloq.errors import InputError, nearest
from interloq.registry import spec
from interloq.retrieve.retriever import Retriever, Words

SCHEMA = 1
N_PROBES, NEIGHBOURS = 64, 15  # stored vectors that are looked for to measure recall@15
Options = TypeVar("Options")


@dataclass(frozen=True, slots=True)
class Manifest:
    """All that is known of an index on a server; it lives there, so every client meets the same refusals."""

    retriever: str
    built_with: str
    options: Mapping[str, Any]  # of the home, fixed when it was made
    dimensions: int  # of vectors; 0 where words are compared
    exact_up_to: int
    wanted_recall: float = 0.95
    pairs: int = 0
    sources: Mapping[str, int] = field(default_factory=dict)
    words: Mapping[str, float] = field(default_factory=dict)  # a field's length in words, as the home needs it
    indexed: int = 0  # pairs that were in when search stopped being exact; 0 while it is exact
    effort: int = 0  # what a search of the index spends: chosen by `choose_effort`
    recall: float | None = None  # measured; None while search is exact
    writer: str = ""  # who is adding now
    beat: int = 0  # changes while the writer lives
    schema: int = SCHEMA
    kind: str = "index"


def new_manifest(
    retriever: Retriever, options: Any, given: Mapping[str, Any], *, exact_up_to: int, recall: float
) -> Manifest:
    """The manifest of an empty index; `options` is a dataclass whose fields may be `given`."""
    values = dataclasses.asdict(dataclasses.replace(options, **given))
    sample = retriever.encode([""])
    dimensions = 0 if isinstance(sample, Words) else sample.shape[1]
    return Manifest(spec(retriever), retriever.built_with(), values, dimensions, exact_up_to, recall)


def read_manifest(values: Mapping[str, Any], where: str) -> Manifest:
    """The manifest of an index on a server."""
    if values.get("schema") != SCHEMA:
        raise InputError(
            f"the index has schema {values.get('schema')}, this version reads {SCHEMA}",
            hint="build it again with this version, or open it with the version that built it",
            where=where,
        )
    return Manifest(**values)


def check(manifest: Manifest, retriever: Retriever | None, given: Mapping[str, Any], where: str) -> None:
    """Refuse a retriever or options that the index was not made with."""
    wanted: list[tuple[str, Any, Any]] = (
        [] if retriever is None else [("retriever", manifest.retriever, spec(retriever))]
    )
    if retriever is not None and manifest.retriever == spec(retriever):
        wanted.append(("model or tokenizer", manifest.built_with, retriever.built_with()))
    wanted += [(f"option {name}", manifest.options.get(name), value) for name, value in given.items()]
    for name, own, value in wanted:
        if own != value:
            raise InputError(
                f"the index was built with another {name}: {own!r}, not {value!r}",
                hint="open it with the one it was built with, or build a new index",
                where=where,
            )


def check_source(manifest: Manifest, source: str, before: int) -> None:
    """Refuse a batch that does not continue where its source stands."""
    now = manifest.sources.get(source, 0)
    if now != before:
        raise InputError(f"the batch follows {before} pairs of its source, {now} are in", hint="begin again")


def read_options(query: str, *known: type, where: str) -> list[dict[str, Any]]:
    """The options of an address (`shards=3&int8=true`), sorted by the dataclass that has them."""
    types = {option.name: type(option.default) for cls in known for option in dataclasses.fields(cls)}
    given = {}
    for name, text in parse_qsl(query, keep_blank_values=True):
        if name not in types:
            raise InputError(f"unknown option {name!r}{nearest(name, types)}", where=where)
        given[name] = _value(name, text, types[name], where)
    named = [{option.name for option in dataclasses.fields(cls)} for cls in known]
    return [{name: value for name, value in given.items() if name in names} for names in named]


def _value(name: str, text: str, wanted: type, where: str) -> Any:
    try:
        value = {"true": True, "false": False}[text.lower()] if wanted is bool else wanted(text)
    except (KeyError, ValueError):
        said = {bool: "true or false", int: "a whole number", float: "a number"}[wanted]
        raise InputError(f"option {name} must be {said}, got {text!r}", where=where) from None
    if wanted in (int, float) and not 0 <= value < 2**31:
        raise InputError(f"option {name} must not be negative or huge, got {text!r}", where=where)
    return value
