# SPDX-License-Identifier: Apache-2.0
"""Cache of stages' results: the same samples through the same stage are read from disk the second time.

Files are in the cache folder (see data/files/cache.py). A file's name depends on the samples and the stage's
signature. Files are written completely or not at all, and may be deleted at any time.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from interloq.data.files.cache import cache_folder
from interloq.data.records.jsonl import header, read, write
from interloq.errors import InputError
from interloq.records import Sample
from interloq.signature import fingerprint

Stage = Callable[[Sequence[Sample]], list[Sample]]


def cached(samples: Sequence[Sample], stage: Stage, *, signature: str) -> list[Sample]:
    """Result of `stage` on the samples, which may only change their references."""
    folder = cache_folder()
    if folder is None:
        return stage(samples)
    name = fingerprint(signature, *map(_whole, samples))
    path = folder / f"{name}.jsonl.zst"
    result = _read(path, samples, signature)
    if result is None:
        result = stage(samples)
        # a full disk, or text that is not UTF-8, must not lose the result
        with contextlib.suppress(OSError, InputError, TypeError):
            write(path, result, kind="samples", signature=signature)
    return result


def _whole(sample: Sample) -> str:
    """Everything that a stage may read; ratings are not."""
    references = [f"{r.text}\1{r.weight!r}\1{r.source}" for r in sample.references]
    return "\0".join([*sample.key, *(turn.text for turn in sample.context), "\2", sample.response, "\2", *references])


def _read(path: Path, samples: Sequence[Sample], signature: str) -> list[Sample] | None:
    """The samples with cached references; None if there are none that can be used."""
    try:
        stored = list(read(path, strict=True)) if path.exists() else []
        fits = bool(stored) and header(path).get("signature") == signature
    except (InputError, OSError):
        return None
    if not fits or len(stored) != len(samples):
        return None
    result = []
    for sample, cached_sample in zip(samples, stored, strict=True):
        if sample.key != cached_sample.key:
            return None
        result.append(replace(sample, references=cached_sample.references))
    return result
