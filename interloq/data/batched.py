# SPDX-License-Identifier: Apache-2.0
"""Items of a stream in lists of a given size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


def batched(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Lists of `size` items in order, the last of which may be shorter; no item is read before its list is wanted."""
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch
