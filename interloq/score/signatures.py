# SPDX-License-Identifier: Apache-2.0
"""The signatures of a score file, explained part by part, and the differences between two files."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from interloq.data.records.jsonl import header
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
class SignatureDifference:
    """A part in which two files differ; None if a file does not have it."""

    metric: str
    part: str
    first: str | None
    second: str | None


def read_signatures(path: str) -> dict[str, Signature]:
    """Return the signature of each metric, from the header of a score file."""
    fields = header(path)
    results = fields.get("results")
    if not isinstance(results, list):
        results = [fields]
    signatures = {}
    for result in results:
        if isinstance(result, dict) and {"metric", "signature"} <= result.keys():
            signatures[str(result["metric"])] = Signature.from_json(result["signature"], where=path)
    if signatures:
        return signatures
    kind = fields.get("kind", SCORES)
    if kind == SCORES:
        raise InputError("the header has no signature", hint=AGAIN, where=path)
    hint = AGAIN
    if kind == "samples":
        hint = f"make a score file: interloq score {shlex.quote(path)} -o scores.jsonl"
    raise InputError(f"this is a file of {kind}, not of scores", hint=hint, where=path)


def read_known_signatures(path: str | Path) -> dict[str, Signature]:
    """Return the signature of each metric; empty for a pipe and for a file without signatures."""
    if str(path) == "-" or header(path).keys().isdisjoint({"signature", "results"}):
        return {}
    return read_signatures(str(path))


def differences(first: Mapping[str, Signature], second: Mapping[str, Signature]) -> Iterator[SignatureDifference]:
    """Yield differences by metric name; if both files have exactly one metric, their names do not matter."""
    if len(first) == len(second) == 1:
        second = dict(zip(first, second.values(), strict=True))
    for metric in dict.fromkeys([*first, *second]):
        signature, other = first.get(metric), second.get(metric)
        if signature and other and not signature.is_text and not other.is_text:
            for part in signature.differences(other):
                yield SignatureDifference(metric, *part)
        elif signature != other:
            shown = signature.short if signature else None
            yield SignatureDifference(metric, WHOLE, shown, other.short if other else None)


def explain_parts(signature: Signature) -> Iterator[Part]:
    """Yield each part with its meaning."""
    parts = {"line": signature.name} if signature.is_text else {"name": signature.name, **signature.parts}
    for name, value in parts.items():
        yield Part(name, value, MEANINGS.get(name, ""))
