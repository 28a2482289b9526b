# SPDX-License-Identifier: Apache-2.0
"""Batches of a stream."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


def batched(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield lists of `size` items; the last may be shorter, and no item is read before its list is needed."""
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch
