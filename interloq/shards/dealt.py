# SPDX-License-Identifier: Apache-2.0
"""Cut a stream into shards in which similar records stay together, and put their results back into its order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from interloq.data.batched import batched

R = TypeVar("R")
Result = TypeVar("Result")


class Dealt:
    """Each `chunk` of the stream is sorted by `key` and cut into shards of at most `size` records.

    Neither depends on who computes the shards. Without a key, records keep their order.
    """

    def __init__(self, chunk: int, size: int, key: Callable[[Any], Any] | None = None) -> None:
        self.chunk, self.size, self.key = max(chunk, size), size, key
        self.places: list[int] = []  # of the records in the stream, in the order in which they are computed

    def cut(self, records: Iterable[R]) -> Iterator[list[R]]:
        """Yield the records of each shard."""
        start = 0
        for chunk in batched(records, self.chunk):
            order = list(range(len(chunk)))
            if self.key:
                keys = list(map(self.key, chunk))
                order.sort(key=keys.__getitem__)
            for places in batched(order, self.size):
                self.places += [start + place for place in places]
                yield [chunk[place] for place in places]
            start += len(chunk)

    def restore(self, results: Iterable[Result]) -> Iterator[Result]:
        """Yield one result per record, given in the order of the shards, in the order of the stream."""
        start = 0
        for chunk in batched(results, self.chunk):
            places = self.places[start : start + len(chunk)]
            for i in sorted(range(len(chunk)), key=places.__getitem__):
                yield chunk[i]
            start += len(chunk)
