# SPDX-License-Identifier: Apache-2.0
"""Split work that does not fit in GPU memory into halves until it fits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

import torch

from interloq.errors import InputError

Result = TypeVar("Result")


class Reader(Protocol):
    """A network on a device that reads batches of at most `tokens` tokens."""

    device: torch.device
    tokens: int


def read_in_parts(reader: Reader, work: Callable[[slice], Result], n: int, item: Callable[[], str]) -> list[Result]:
    """Do what `cut_to_fit` does, for a network.

    After a split, later batches are smaller. `item` is the name of an item in the error.
    """

    def halve() -> None:
        reader.tokens = max(1, reader.tokens // 2)

    def no_memory() -> InputError:
        return InputError(
            f"not enough memory for {item()} on {reader.device}",
            hint="use a smaller model, or a machine with more memory",
        )

    return cut_to_fit(work, n, error=no_memory, smaller=halve)


def cut_to_fit(
    work: Callable[[slice], Result], n: int, *, error: Callable[[], InputError], smaller: Callable[[], None]
) -> list[Result]:
    """Return the results of `work` on n items, in order: on all at once, or on parts of them if memory runs out.

    `smaller` is called at every split, so that later batches can be smaller from the start; `error` makes the error
    that is raised if a single item does not fit.
    """
    results: list[Result] = []
    ahead = [slice(0, n)]
    while ahead:
        part = ahead.pop()
        try:
            results.append(work(part))
            continue
        except torch.OutOfMemoryError as out_of_memory:
            if part.stop - part.start <= 1:
                raise error() from out_of_memory
        torch.cuda.empty_cache()  # not in the handler: an exception being handled keeps tensors alive
        smaller()
        middle = (part.start + part.stop) // 2
        ahead += [slice(middle, part.stop), slice(part.start, middle)]
    return results
