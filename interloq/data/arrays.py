"""Arrays in files, opened without being read, and refused where they are not what they should be."""

from __future__ import annotations

import tokenize
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from interloq.errors import InputError

# numpy reads the header of an array as Python, so that all that Python's parser raises may come out of it
_PARSER = (SyntaxError, RecursionError, tokenize.TokenError, UserWarning)
_DATA = (OSError, ValueError, TypeError, EOFError, OverflowError, MemoryError, KeyError, zipfile.BadZipFile)
DAMAGE = (*_DATA, *_PARSER)


def mapped(path: Path, dtype: DTypeLike, *, dimensions: int = 1, rows: int | None = None, hint: str) -> NDArray[Any]:
    """The array in a file, mapped into memory; `rows` is how long it must be."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)  # of a header that Python 2 would have written
            array = np.load(path, mmap_mode="r", allow_pickle=False)
    except DAMAGE as error:
        raise InputError(f"missing or damaged: {error}", hint=hint, where=str(path)) from error
    seen, wanted = (getattr(array, "dtype", None), getattr(array, "ndim", None)), (np.dtype(dtype), dimensions)
    if seen != wanted:
        raise InputError(f"damaged: an array of {seen}, not of {wanted}", hint=hint, where=str(path))
    if rows is not None and len(array) != rows:
        raise InputError(f"damaged: {len(array):,} rows, not {rows:,}", hint=hint, where=str(path))
    return np.asarray(array)  # a plain view: taking single numbers from a memmap object is slow


def small_arrays(path: Path, *names: str, limit: int, hint: str) -> list[NDArray[Any]]:
    """These arrays of an .npz file, read whole; one of more than `limit` bytes is damaged."""
    try:
        with zipfile.ZipFile(path) as packed:
            size = sum(member.file_size for member in packed.infolist())
        if size > limit:
            raise ValueError(f"{size:,} bytes, {limit:,} at most")
        with np.load(path, allow_pickle=False) as arrays:
            return [arrays[name] for name in names]
    except DAMAGE as error:
        raise InputError(f"missing or damaged: {error}", hint=hint, where=str(path)) from error
