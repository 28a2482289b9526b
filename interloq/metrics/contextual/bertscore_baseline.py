# SPDX-License-Identifier: Apache-2.0
"""BERTScore of unrelated texts, for rescaling: a JSON file with every layer of a model.

Texts are drawn from a corpus by a hash of seed and text, so neither order nor repetitions change the draw; each is
compared with the next one drawn. A model's vectors all point in similar directions, so this level is far above 0.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import orjson
from numpy.typing import NDArray

from interloq.data.files.opening import read_json, reading_saved, replacing
from interloq.data.progress import Progress, silent
from interloq.errors import InputError, count

if TYPE_CHECKING:
    from interloq.models.encoder import Encoder

Part = Literal["p", "r", "f"]
Floats = NDArray[np.float64]
PARTS: tuple[Part, ...] = ("p", "r", "f")
KIND, SCHEMA, NAME = "bertscore baseline", 1, "baseline.json"
PAIRS = 10_000
BLOCK = 64  # pairs whose vectors of all layers are in memory at a time


def make_baseline(
    texts: Iterable[str],
    encoder: Encoder,
    *,
    pairs: int = PAIRS,
    seed: int = 0,
    idf: bool = False,
    source: str = "",
    every_layer: bool = True,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Make a baseline: mean P, R and F of unrelated texts, for the encoder's layer or all layers up to it."""
    from interloq.metrics.contextual.token_matching import Idf

    drawn = draw(texts, 2 * pairs, seed)
    if len(drawn) < 2:
        raise InputError(f"the corpus has {count(len(drawn), 'different text')}", hint="a baseline needs two or more")
    replies, references = drawn[: len(drawn) // 2 * 2 : 2], drawn[1::2]
    weights = Idf.of(references, encoder) if idf else None
    layers = list(range(encoder.layer + 1)) if every_layer else [encoder.layer]
    by_layer = {}
    for layer, row in zip(layers, _means(encoder, replies, references, weights, layers, progress), strict=True):
        by_layer[str(layer)] = dict(zip(PARTS, row, strict=True))
    return {
        "schema": SCHEMA,
        "kind": KIND,
        "model": encoder.name,
        "longest": encoder.longest,
        "precision": encoder.number_type,
        "idf": idf,
        "pairs": len(replies),
        "seed": seed,
        "source": source,
        "layers": by_layer,
    }


def draw(texts: Iterable[str], n: int, seed: int) -> list[str]:
    """Draw at most n different texts in random order, independent of the order and repetitions of the corpus."""
    best: list[tuple[int, str]] = []
    held: set[str] = set()
    for text in texts:
        stripped = text.strip()
        if not stripped or stripped in held:
            continue
        key = -int.from_bytes(blake2b(f"{seed}\0{stripped}".encode("utf-8", "surrogatepass"), digest_size=8).digest())
        held.add(stripped)
        if len(best) < n:
            heapq.heappush(best, (key, stripped))
        else:
            held.discard(heapq.heappushpop(best, (key, stripped))[1])
    return [text for _, text in sorted(best, reverse=True)]


def _means(
    encoder: Encoder, replies: Sequence[str], references: Sequence[str], idf: Any, layers: list[int], progress: Progress
) -> list[list[float]]:
    total = np.zeros((len(layers), 3))
    order = sorted(range(len(replies)), key=lambda i: (len(replies[i]) + len(references[i]), i))
    with progress("pairs", len(order)) as step:
        for start in range(0, len(order), BLOCK):
            part = order[start : start + BLOCK]
            total += _block(encoder, [replies[i] for i in part], [references[i] for i in part], idf, layers)
            step(len(part))
    means: list[list[float]] = (total / len(replies)).tolist()
    return means


def _block(encoder: Encoder, replies: list[str], references: list[str], idf: Any, layers: list[int]) -> Floats:
    """Return sums of P, R and F over pairs, one row per layer."""
    from interloq.metrics.contextual.token_matching import f_measure, match, match_layers

    n = len(replies)
    pairs = np.stack([np.arange(n), np.arange(n, 2 * n)], axis=1)
    texts = [*replies, *references]
    if len(layers) == 1:
        matched = match(encoder, texts, pairs, idf=idf)[None]
    else:
        matched = match_layers(encoder, texts, pairs, idf=idf)
    precision, recall = matched[..., 0], matched[..., 1]
    return np.stack([precision.sum(1), recall.sum(1), f_measure(precision, recall).sum(1)], axis=1)


def save_baseline(path: str | Path, facts: dict[str, Any]) -> Path:
    """Save a baseline and return its path; a name without `.json` is a folder with `baseline.json`."""
    path = Path(path)
    if path.suffix != ".json":
        path /= NAME
    with replacing(path) as file:
        file.write(orjson.dumps(facts, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    return path


def load_baseline(path: str | Path) -> dict[str, Any]:
    """Read a baseline from its file or folder."""
    path = Path(path)
    if path.is_dir():
        path /= NAME
    hint = "make one with: interloq train baseline LOGS --model MODEL -o FILE"
    if not path.is_file():
        raise InputError(f"no baseline file {str(path)!r}", hint=hint)
    facts = read_json(path, hint=hint)
    if facts.get("kind") != KIND or facts.get("schema") != SCHEMA:
        raise InputError("the file is not a BERTScore baseline", hint=hint, where=str(path))
    return facts


def levels(facts: dict[str, Any], encoder: Encoder, *, idf: bool, where: str) -> dict[Part, float]:
    """Return the baseline for this encoder's layer; a baseline for another model, layer or weighting is refused."""
    hint = "make one with: interloq train baseline LOGS --model MODEL -o FILE"
    for what, seen, own in (
        ("model", facts.get("model"), encoder.name),
        ("longest text", facts.get("longest"), encoder.longest),
        ("idf", facts.get("idf"), idf),
    ):
        if seen != own:
            raise InputError(f"the baseline is for another {what}: {seen}, not {own}", hint=hint, where=where)
    with reading_saved(where, hint=hint):
        layer = facts["layers"].get(str(encoder.layer))
        if layer is None:
            has = ", ".join(facts["layers"])
            raise InputError(f"the baseline has layers {has}, not {encoder.layer}", hint=hint, where=where)
        values: dict[Part, float] = {part: float(layer[part]) for part in PARTS}
    if not all(value < 1 for value in values.values()):
        raise InputError(f"the baseline has values {values}, which must be below 1", hint=hint, where=where)
    return values
