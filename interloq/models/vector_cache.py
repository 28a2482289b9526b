# SPDX-License-Identifier: Apache-2.0
"""On-disk cache of text vectors, by model, layer and tokens; off by default.

The file contains float32 rows (see `data/files/cache.py`). Its path is the encoder's `cache` or the environment
variable INTERLOQ_VECTOR_CACHE.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from interloq.data.files.cache import BlobCache

Row = NDArray[np.float32]
VARIABLE = "INTERLOQ_VECTOR_CACHE"


@dataclass(frozen=True)
class VectorCache:
    """Vectors in an SQLite file, by model, layer and text."""

    path: Path

    @classmethod
    def find(cls, path: str | Path | None) -> VectorCache | None:
        """Return the cache at this path, or at the one set in the environment; None without either."""
        name = str(path or os.environ.get(VARIABLE, ""))
        if not name:
            return None
        return cls(Path(name))

    def rows(
        self, model: str, texts: Sequence[bytes], lengths: Sequence[int], make: Callable[[list[int]], Iterable[Row]]
    ) -> list[Row]:
        """Return one row of the given length per text, read from the cache, or computed and added to it.

        `make` gets the indices of the texts that are not in the cache.
        """
        keys = [blake2b(model.encode() + b"\0" + text, digest_size=16).digest() for text in texts]
        cache = BlobCache(self.path, "vector")
        known = cache.get(keys)
        rows, new = dict[int, Row](), list[int]()
        for i, (key, length) in enumerate(zip(keys, lengths, strict=True)):
            stored = known.get(key, b"")
            if len(stored) == 4 * length > 0:
                rows[i] = np.frombuffer(stored, dtype="<f4")
            else:
                new.append(i)
        if new:
            made = dict(zip(new, make(new), strict=True))
            cache.put([(keys[i], row.astype("<f4").tobytes()) for i, row in made.items()])
            rows |= made
        return [rows[i] for i in range(len(keys))]
