# SPDX-License-Identifier: Apache-2.0
"""BibTeX entries of the metrics in score files, from `papers.bib`; a metric names its papers in its class."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from interloq.errors import InputError, InterloqError, SpecError
from interloq.registry import create, facts, field_value, read_catalogue, registered_name
from interloq.score.signatures import read_signatures
from interloq.signature import Signature
from interloq.spec_text import ParsedSpec, read_spec, split_label
from interloq.version import __version__

RELIABILITY = "gao-etal-2021-ream"  # --min-reliability
SACREBLEU = "post-2018-call"  # tokenizers of sacrebleu
OURS = "interloq"
YEAR = "2026"  # of the version


@dataclass(frozen=True, slots=True)
class Citations:
    """Keys of papers by metric; metrics without a paper are our own, and `unknown` ones come from other packages."""

    keys: dict[str, tuple[str, ...]]
    unknown: tuple[str, ...]

    def bibtex(self) -> dict[str, str]:
        """Return entries by key, Interloq's own last."""
        used = dict.fromkeys(chain.from_iterable(self.keys.values()))
        return {key: entries()[key] for key in (*used, OURS)}

    def facts(self) -> dict[str, Any]:
        """Return everything as plain values."""
        keys = {metric: list(keys) for metric, keys in self.keys.items()}
        return {"metrics": keys, "unknown": list(self.unknown), "entries": self.bibtex()}

    def text(self) -> str:
        """Return a BibTeX file, with the metrics as comments."""
        lines = []
        for metric, keys in self.keys.items():
            lines.append(f"% {metric}: {', '.join(keys) or OURS}")
        lines += [f"% {metric}: not a metric of Interloq, cite its authors" for metric in self.unknown]
        return "\n\n".join(["\n".join(lines), *self.bibtex().values()])


def cite_files(paths: Sequence[str | Path]) -> Citations:
    """Return the papers of every metric in these score files, including metrics inside other metrics.

    Specs of metrics may be given instead of files.
    """
    signatures: dict[str, Signature] = {}
    for path in paths:
        if Path(path).exists():
            signatures |= read_signatures(str(path))
        else:
            signatures[str(path)] = _sign_spec(str(path))
    keys_by_metric: dict[str, tuple[str, ...]] = {}
    unknown = []
    for metric, signature in signatures.items():
        keys = _keys(metric, signature)
        if keys is None:
            unknown.append(metric)
        else:
            keys_by_metric[metric] = keys
    return Citations(keys_by_metric, tuple(unknown))


def _sign_spec(text: str) -> Signature:
    """Return a signature with the spec of a metric and, if all its fields have values, its tokenizer."""
    try:
        name = registered_name(read_spec(text).name, kind="metric")
    except SpecError:
        name = None
    if name is None:
        raise InputError(f"{text!r} is neither a score file nor a metric", hint="see: interloq score --list")
    try:
        tokenizer = field_value(create(text, kind="metric"), "tokenizer")
    except InterloqError:  # a required field is missing, such as an index: the papers are the same
        tokenizer = None
    return Signature.of(text, {"tokenizer": tokenizer.signature()} if tokenizer else {})


def _keys(metric: str, signature: Signature) -> tuple[str, ...] | None:
    """Return the keys of a metric's papers; None if it is not one of ours."""
    try:
        spec = read_spec(split_label(metric)[1] if signature.is_text else signature.name)
    except SpecError:
        return None
    name = registered_name(spec.name, kind="metric")
    if name not in read_catalogue()["metric"]:
        return None
    keys: list[str] = []
    for part in _parts(spec):
        keys += _papers(part)
    if "reliability" in signature.parts:
        keys.append(RELIABILITY)
    if "sacrebleu" in signature.parts.get("tokenizer", ""):
        keys.append(SACREBLEU)
    return tuple(dict.fromkeys(keys))


def _parts(spec: ParsedSpec) -> Iterator[ParsedSpec]:
    yield spec
    for value in (*spec.parts, *spec.fields.values()):
        if isinstance(value, ParsedSpec):
            yield from _parts(value)


def _papers(spec: ParsedSpec) -> tuple[str, ...]:
    """Return the papers of a metric; none for other components."""
    name = registered_name(spec.name, kind="metric")
    if name is None:
        return ()
    known = facts(name, kind="metric")
    papers = list(known["papers"])
    for field, (usual, paper) in known["variant_papers"].items():
        if spec.fields.get(field, usual) != usual:
            papers.append(paper)
    return tuple(papers)


@cache
def entries() -> dict[str, str]:
    """Return BibTeX entries by key, with one for Interloq itself."""
    by_key = {}
    for entry in Path(__file__).with_name("papers.bib").read_text("utf-8").split("\n\n"):
        if key := re.match(r"\s*@\w+\{([^,]+),", entry):
            by_key[key[1]] = entry.strip()
    fields = {
        "title": "Interloq: evaluation of open-domain dialogue systems",
        "author": "{The Interloq authors}",
        "year": YEAR,
        "note": f"Python package interloq, version {__version__}",
    }
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items()]
    return {**by_key, OURS: "\n".join([f"@misc{{{OURS},", *lines, "}"])}
