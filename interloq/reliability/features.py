# SPDX-License-Identifier: Apache-2.0
"""Vectors of queries with references: the [CLS] state of an encoder that reads both together.

Vectors are float16 rows, written as they are computed: an interrupted run resumes after the last complete batch.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from interloq.data.files.appended import Appended
from interloq.data.files.opening import reading_saved
from interloq.errors import InputError
from interloq.learn.start import Start
from interloq.models.cross_encoder import CrossEncoder
from interloq.models.pretrained import Subwords
from interloq.models.vector_cache import VectorCache
from interloq.reliability.labelled_sets import Pair
from interloq.scorers.relevance.model import RelevanceScorer

Vectors = NDArray[np.float32]
FEATURES = "features.f16"
BATCH = 2048  # pairs encoded at a time: the most work that a kill loses


def pair_reader(
    network: CrossEncoder, subwords: Subwords, reading: Mapping[str, int], *, device: str
) -> RelevanceScorer:
    """Return a reader of pairs as in the scorer `relevance`; refuse a network that cannot read rows of this length."""
    wanted, positions = reading["context"] + reading["reply"] + 3, network.positions
    if positions is not None and wanted > positions:
        raise InputError(
            f"the encoder reads {positions} tokens, but a query with a reference may have {wanted}",
            hint="lower context or reply",
        )
    return RelevanceScorer(network, subwords, {"config": dict(reading)}, device)


def frozen_reader(start: Start, reading: Mapping[str, int], *, device: str) -> RelevanceScorer:
    """Return a reader with an unchanged encoder."""
    subwords = Subwords(start.files, longest=reading["longest"])
    reader = pair_reader(start.network(1, seed=0), subwords, reading, device=device)
    reader.facts["encoder"] = start.fingerprint
    return reader


def encode_pairs(reader: RelevanceScorer, pairs: Sequence[Pair]) -> Vectors:
    """Return one row per pair; each distinct pair is read once, and not at all if the vector cache has its vector.

    A vector is found by the encoder and the tokens that it reads, whatever network is trained on it.
    """
    cache, weights = VectorCache.find(None), reader.facts.get("encoder")
    if cache is None or weights is None or not pairs:
        return _states(reader, pairs)
    distinct = list(dict.fromkeys(pairs))
    keys: dict[Pair, bytes] = {}
    first: dict[bytes, Pair] = {}  # of the pairs that are read as the same tokens
    for pair, (context, reference) in zip(distinct, reader.token_rows(*zip(*distinct, strict=True)), strict=True):
        keys[pair] = b"%d " % len(context) + context.tobytes() + reference.tobytes()
        first.setdefault(keys[pair], pair)
    new_pairs = list(first.values())
    rows = cache.rows(
        f"pairs-{weights}-{reader.subwords.signature()}",
        list(first),
        [reader.dimensions] * len(first),
        lambda new: _states(reader, [new_pairs[i] for i in new]),
    )
    by_key = dict(zip(first, rows, strict=True))
    return np.array([by_key[keys[pair]] for pair in pairs])


def _states(reader: RelevanceScorer, pairs: Sequence[Pair]) -> Vectors:
    contexts, references = [], []
    for turns, reference in pairs:
        contexts.append(turns)
        references.append(reference)
    return reader.states(contexts, references).astype(np.float32)


def write_features(
    reader: RelevanceScorer, pairs: Sequence[Pair], folder: Path, step: Callable[[int], None] = lambda _: None
) -> None:
    """Encode pairs to a file; batches of an earlier run are kept."""
    size, limit = reader.dimensions * np.dtype(np.float16).itemsize, np.finfo(np.float16).max
    with contextlib.closing(Appended(folder / FEATURES)) as file:
        whole = file.size() // size
        done = whole // BATCH * BATCH
        if whole >= len(pairs):
            done = len(pairs)
        file.cut(done * size)
        step(done)
        for start in range(done, len(pairs), BATCH):
            batch = pairs[start : start + BATCH]
            file.add(np.clip(encode_pairs(reader, batch), -limit, limit).astype(np.float16).tobytes())
            step(len(batch))


def read_features(folder: Path, pairs: int) -> NDArray[np.float16]:
    """Return the encoded pairs in a folder, as a memory map."""
    with reading_saved(folder):
        return np.asarray(np.memmap(folder / FEATURES, dtype=np.float16, mode="r")).reshape(pairs, -1)
