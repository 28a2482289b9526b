"""Work that a GPU has no room for is cut in two, and again, until there is room."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import torch

from interloq.errors import InputError

Result = TypeVar("Result")


def cut_to_fit(
    work: Callable[[slice], Result], n: int, *, lacking: Callable[[], InputError], smaller: Callable[[], None]
) -> list[Result]:
    """Results of `work` on n items, in order: on all at once, or on parts of them where memory runs out.

    `smaller` is called at every cut, so that later batches can be smaller from the start; `lacking` says that there is
    no room for one item.
    """
    found: list[Result] = []
    ahead = [slice(0, n)]
    while ahead:
        part = ahead.pop()
        try:
            found.append(work(part))
            continue
        except torch.OutOfMemoryError as error:
            if part.stop - part.start <= 1:
                raise lacking() from error
        torch.cuda.empty_cache()  # here, as an error that is being handled keeps tensors alive
        smaller()
        middle = (part.start + part.stop) // 2
        ahead += [slice(middle, part.stop), slice(part.start, middle)]
    return found
