# SPDX-License-Identifier: Apache-2.0
"""A cache on disk for the scores of networks: `compare` and then `gate` read the same replies.

What is kept are the rows of a shard, not of a sample: the last digits of a network's scores change with what is read
together, so only the same shard gives the same numbers, bit for bit. The key has everything that they depend on: the
metric's signature with models and versions, its fitted constants, the samples but their ratings, which of them are left
unscored, the processor, and the files of this package. Metrics of other packages are not cached, because their code may
change without a change of their signature, nor are pipelines, whose stages have a cache of their own.

The rows are in `rows.db` in the cache folder (see data/files/cache.py), with a checksum. INTERLOQ_ROW_CACHE=off or
INTERLOQ_CACHE=off turns the cache off.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

from interloq.data.files.cache import BlobCache, cache_folder
from interloq.data.records.jsonl import record_line
from interloq.errors import InputError
from interloq.metrics.metric import FittedMetric, Metric
from interloq.records import Sample
from interloq.registry import parts_of
from interloq.score.stages import find_pipelines
from interloq.signature import fingerprint, runs_network, signature

FILE, VARIABLE = "rows.db", "INTERLOQ_ROW_CACHE"
FEWEST = 32  # samples: fewer are not worth a write
MOST = 2**28  # bytes
DIGEST = 16  # bytes


def identify_rows(metric: Metric) -> str:
    """Return what rows of a metric depend on besides the samples; "" if they are not cached."""
    if _find_cache() is None or not runs_network(metric) or find_pipelines([metric]) or not _is_own(metric):
        return ""
    constants = metric.fitted() if isinstance(metric, FittedMetric) else ""
    return fingerprint(str(signature(metric)), constants, _identify_processor(), _identify_code())


def shard_key(identity: str, samples: Sequence[Sample], filtered: Sequence[str]) -> bytes:
    """Return the key of the rows of a shard, from the identity of its metric; empty if they are not cached."""
    if not identity or len(samples) < FEWEST:
        return b""
    digest = blake2b(identity.encode(), digest_size=DIGEST)
    for sample, why in zip(samples, filtered, strict=True):
        digest.update(record_line(replace(sample, ratings=())))
        digest.update(why.encode() + b"\n")
    return digest.digest()


def load_rows(key: bytes) -> bytes | None:
    """Return what was stored under a key; None if nothing was, or if it is damaged."""
    rows = _find_cache()
    if rows is None or not key:
        return None
    with contextlib.suppress(InputError):  # a file that cannot be used
        stored = rows.get([key]).get(key, b"")
        if len(stored) > DIGEST and _check_sum(stored[DIGEST:]) == stored[:DIGEST]:
            return stored[DIGEST:]
    return None


def store_rows(key: bytes, result: bytes) -> None:
    """Store the rows of a shard, unless the cache is off or cannot be used."""
    rows = _find_cache()
    if rows is not None and key:
        with contextlib.suppress(InputError):
            rows.put([(key, _check_sum(result) + result)], most=MOST)


def _find_cache() -> BlobCache | None:
    if os.environ.get(VARIABLE) == "off":
        return None
    try:
        folder = cache_folder()
    except RuntimeError:  # the user has no home
        return None
    return BlobCache(folder / FILE, "row") if folder else None


def _check_sum(result: bytes) -> bytes:
    return blake2b(result, digest_size=DIGEST).digest()


def _is_own(component: Any) -> bool:
    """Return whether a component and those in its fields belong to this package."""
    own = type(component).__module__.startswith("interloq.")
    return own and all(map(_is_own, parts_of(component)))


@cache
def _identify_processor() -> str:
    """Identify what computes: other processors round differently."""
    import torch

    if torch.cuda.is_available():
        return str(torch.cuda.get_device_name())
    return f"{torch.backends.cpu.get_cpu_capability()}, {torch.get_num_threads()} threads"


@cache
def _identify_code() -> str:
    """Identify the files of this package: the same version may have other code in a development install."""
    folder = Path(__file__).parent.parent
    files = []
    for path in sorted(folder.rglob("*.py")):
        seen = path.stat()
        files.append(f"{path.relative_to(folder)} {seen.st_size} {seen.st_mtime_ns}")
    return fingerprint(*files)
