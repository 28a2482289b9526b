# SPDX-License-Identifier: Apache-2.0
"""Memory-mapped arrays in files, checked when opened."""

from __future__ import annotations

import tokenize
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from interloq.errors import InputError

# numpy parses the header of an array as Python, so it may raise any error of Python's parser
_PARSER = (SyntaxError, RecursionError, tokenize.TokenError, UserWarning)
_DATA = (OSError, ValueError, TypeError, EOFError, OverflowError, MemoryError, KeyError, zipfile.BadZipFile)
DAMAGE = (*_DATA, *_PARSER)


def map_array(path: Path, dtype: DTypeLike, *, dimensions: int = 1, rows: int | None = None, hint: str) -> NDArray[Any]:
    """Return the array in a file, memory-mapped; `rows` is its expected length."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)  # about headers in Python 2 style
            array = np.load(path, mmap_mode="r", allow_pickle=False)
    except DAMAGE as error:
        raise InputError(f"missing or damaged: {error}", hint=hint, where=str(path)) from error
    seen, wanted = (getattr(array, "dtype", None), getattr(array, "ndim", None)), (np.dtype(dtype), dimensions)
    if seen != wanted:
        raise InputError(f"damaged: an array of {seen}, expected {wanted}", hint=hint, where=str(path))
    if rows is not None and len(array) != rows:
        raise InputError(f"damaged: {len(array):,} rows, expected {rows:,}", hint=hint, where=str(path))
    return np.asarray(array)  # a plain view, because single items of a memmap are slow to read


def small_arrays(path: Path, *names: str, limit: int, hint: str) -> list[NDArray[Any]]:
    """Return these arrays of an .npz file; an array of more than `limit` bytes counts as damaged."""
    try:
        with zipfile.ZipFile(path) as packed:
            size = sum(member.file_size for member in packed.infolist())
        if size > limit:
            raise ValueError(f"{size:,} bytes; at most {limit:,} expected")
        with np.load(path, allow_pickle=False) as arrays:
            return [arrays[name] for name in names]
    except DAMAGE as error:
        raise InputError(f"missing or damaged: {error}", hint=hint, where=str(path)) from error
