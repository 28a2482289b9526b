# SPDX-License-Identifier: Apache-2.0
"""The signatures of a score file, explained part by part, and the differences between two files."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from interloq.data.jsonl import header
from interloq.errors import InputError
from interloq.signature import LIBRARIES, VERSION, Signature

WHOLE = "whole signature"  # if a file does not have the metric, or an earlier version wrote its signature as text
SCORES = "scores"  # the kind of a score file
AGAIN = "score the samples again with `interloq score`"
MEANINGS = {
    "line": "written by an earlier version; score again to see its parts",
    "name": "the metric with all its fields; files and folders are left blank",
    "tokenizer": "how texts are split into words",
    "built-with": "fingerprints of the metric's models, vectors, indexes and packages",
    "references": "references per sample",
    "samples": "fingerprint of ids, replies, references, weights and systems",
    "fitted": "constants fitted to these samples",
    "resamples": "resamples for the intervals",
    "seed": "seed of the resamples",
    "dialogues": "dialogues that the samples belong to, and that are resampled",
    "own-replies": "whether references identical to the reply were kept or dropped",
    "without": "excluded systems",
    "reliability": "the network that predicts how reliable references are",
    "min-reliability": "samples with less reliable references are unscored",
    "partners": "the partner set of the dialogues",
    **dict.fromkeys(LIBRARIES, "version of the library"),
    VERSION: "version of Interloq",
}


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a signature and its meaning."""

    name: str
    value: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Difference:
    """A part in which two files differ; None if a file does not have it."""

    metric: str
    part: str
    first: str | None
    second: str | None


def read_signatures(path: str) -> dict[str, Signature]:
    """Metric → signature, from the header of a score file."""
    found = header(path)
    results = found["results"] if isinstance(found.get("results"), list) else [found]
    signatures = {
        str(result["metric"]): Signature.from_json(result["signature"], where=path)
        for result in results
        if isinstance(result, dict) and {"metric", "signature"} <= result.keys()
    }
    if signatures:
        return signatures
    if found.get("kind", SCORES) == SCORES:
        raise InputError("the header has no signature", hint=AGAIN, where=path)
    hint = (
        f"make a score file: interloq score {shlex.quote(path)} -o scores.jsonl"
        if found["kind"] == "samples"
        else AGAIN
    )
    raise InputError(f"this is a file of {found['kind']}, not of scores", hint=hint, where=path)


def known_signatures(path: str | Path) -> dict[str, Signature]:
    """Metric → signature; empty for a pipe and for a file without signatures."""
    signed = str(path) != "-" and {"signature", "results"} & header(path).keys()
    return read_signatures(str(path)) if signed else {}


def differences(first: Mapping[str, Signature], second: Mapping[str, Signature]) -> Iterator[Difference]:
    """Differences by metric name; if both files have exactly one metric, these are compared whatever their names."""
    if len(first) == len(second) == 1:
        second = dict(zip(first, second.values(), strict=True))
    for metric in dict.fromkeys([*first, *second]):
        one, other = first.get(metric), second.get(metric)
        if one and other and not one.is_text and not other.is_text:
            yield from (Difference(metric, *difference) for difference in one.differences(other))
        elif one != other:
            yield Difference(metric, WHOLE, one.short if one else None, other.short if other else None)


def explained(signature: Signature) -> Iterator[Part]:
    """Each part with its meaning."""
    parts = {"line": signature.name} if signature.is_text else {"name": signature.name, **signature.parts}
    return (Part(name, value, MEANINGS.get(name, "")) for name, value in parts.items())
