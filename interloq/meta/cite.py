# SPDX-License-Identifier: Apache-2.0
"""BibTeX entries of the metrics in score files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from interloq.errors import InputError, InterloqError, SpecError
from interloq.meta.signatures import read_signatures
from interloq.metrics.papers import OURS, PAPERS, RELIABILITY, SACREBLEU, VARIANTS, entries
from interloq.registry import create, registered_name
from interloq.signature import Signature
from interloq.spec_text import ParsedSpec, read_spec, split_label


@dataclass(frozen=True, slots=True)
class Citations:
    """Keys of papers by metric; metrics without a paper are our own, `unknown` ones come from other packages."""

    keys: dict[str, tuple[str, ...]]
    unknown: tuple[str, ...]

    def bibtex(self) -> dict[str, str]:
        """Entries by key, Interloq's own last."""
        used = dict.fromkeys(key for keys in self.keys.values() for key in keys)
        return {key: entries()[key] for key in (*used, OURS)}

    def facts(self) -> dict[str, Any]:
        """Everything as plain values."""
        keys = {metric: list(keys) for metric, keys in self.keys.items()}
        return {"metrics": keys, "unknown": list(self.unknown), "entries": self.bibtex()}

    def text(self) -> str:
        """A BibTeX file, with the metrics as comments."""
        lines = [f"% {metric}: {', '.join(keys) or OURS}" for metric, keys in self.keys.items()]
        lines += [f"% {metric}: not a metric of Interloq, cite its authors" for metric in self.unknown]
        return "\n\n".join(["\n".join(lines), *self.bibtex().values()])


def cite_files(paths: Sequence[str | Path]) -> Citations:
    """Papers of every metric in these score files, also of metrics inside other metrics.

    Specs of metrics may be given instead of files.
    """
    found: dict[str, Signature] = {}
    for path in paths:
        found |= read_signatures(str(path)) if Path(path).exists() else {str(path): _sign_spec(str(path))}
    known = {metric: _keys(metric, signature) for metric, signature in found.items()}
    return Citations(
        {metric: keys for metric, keys in known.items() if keys is not None},
        tuple(metric for metric, keys in known.items() if keys is None),
    )


def _sign_spec(text: str) -> Signature:
    """Return a signature with the spec of a metric and, if all its fields have values, its tokenizer."""
    try:
        name = registered_name(read_spec(text).name, kind="metric")
    except SpecError:
        name = None
    if name is None:
        raise InputError(f"{text!r} is neither a score file nor a metric", hint="see: interloq score --list")
    try:
        tokenizer = getattr(create(text, kind="metric"), "tokenizer", None)
    except InterloqError:  # a required field is missing, such as an index: the papers are the same
        tokenizer = None
    return Signature.of(text, {"tokenizer": tokenizer.signature()} if tokenizer else {})


def _keys(metric: str, signature: Signature) -> tuple[str, ...] | None:
    """Keys of a metric's papers; None if it is not one of ours."""
    try:
        spec = read_spec(split_label(metric)[1] if signature.is_text else signature.name)
    except SpecError:
        return None
    name = registered_name(spec.name, kind="metric")
    if name not in PAPERS:
        return None
    keys = [key for part in _parts(spec) for key in _papers(part)]
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
    """Papers of a metric; none for other components."""
    name = registered_name(spec.name, kind="metric") or ""
    variants = (
        paper
        for (metric, field), (usual, paper) in VARIANTS.items()
        if metric == name and spec.fields.get(field, usual) != usual
    )
    return PAPERS.get(name, ()) + tuple(variants)
