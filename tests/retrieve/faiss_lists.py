"""Indexes as earlier versions made them: faiss inverted lists instead of scanned codes."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import patch

import faiss
import numpy as np
import orjson

from interloq.records import Pair
from interloq.retrieve.folder.folder_files import MANIFEST
from interloq.retrieve.folder.folder_store import Embedded
from interloq.retrieve.index import create_index
from interloq.retrieve.recall import as_probes
from interloq.retrieve.retriever import Floats


def write_trained(path: Path, vectors: Floats, n_lists: int) -> None:
    """Train centroids and code ranges on vectors, and write them."""
    dimensions = vectors.shape[1]
    index = faiss.IndexIVFScalarQuantizer(
        faiss.IndexFlatIP(dimensions), dimensions, n_lists, faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT
    )
    index.cp.niter, index.cp.max_points_per_centroid, index.cp.min_points_per_centroid = 10, 64, 1
    index.train(vectors)
    faiss.write_index(index, str(path))


def build_old_index(folder: Path, pairs: list[Pair], *, exact_up_to: int, segment: int) -> None:
    """Build an index of schema 1."""

    def train(store: Embedded, key: Any, values: Floats) -> Path:
        np.save(store.folder / f"{key}.probes.npy", as_probes(np.asarray(values[:256])))
        write_trained(store.folder / f"{key}.trained.faiss", np.ascontiguousarray(values), max(1, len(values) // 8))
        return store.folder / f"{key}.trained.faiss"

    with patch.object(Embedded, "_train", train):
        create_index(folder, "dense(encoder='fake32')", exact_up_to=exact_up_to).add(pairs, source="a", segment=segment)
    manifest = orjson.loads((folder / MANIFEST).read_bytes())
    (folder / MANIFEST).write_bytes(orjson.dumps({**manifest, "schema": 1}))
