"""Work without room is cut in two, and nothing of the first try is kept in memory for the second."""

from __future__ import annotations

import weakref

import pytest
import torch

from interloq import InputError
from interloq.models.memory import cut_to_fit


def no_memory() -> InputError:
    return InputError("no memory for one")


def test_parts_come_in_order_however_they_are_cut() -> None:
    cuts: list[None] = []

    def work(part: slice) -> list[int]:
        if part.stop - part.start > 3:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return list(range(part.start, part.stop))

    parts = cut_to_fit(work, 11, error=no_memory, smaller=lambda: cuts.append(None))
    assert [i for part in parts for i in part] == list(range(11))
    assert len(cuts) == len(parts) - 1 > 0
    assert cut_to_fit(work, 0, error=no_memory, smaller=lambda: None) == [[]]


def test_one_item_without_room_is_said() -> None:
    def work(_: slice) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    with pytest.raises(InputError, match="no memory for one"):
        cut_to_fit(work, 3, error=no_memory, smaller=lambda: None)


def test_tensors_of_a_try_that_failed_are_gone_before_the_next() -> None:
    """An error that is being handled keeps the frames it came through, and all that they hold."""
    alive: list[bool] = []
    held: list[weakref.ref[torch.Tensor]] = []

    def work(part: slice) -> None:
        alive.append(any(reference() is not None for reference in held))
        states = torch.ones(4)
        held.append(weakref.ref(states))
        if part.stop - part.start > 1:
            raise torch.OutOfMemoryError("CUDA out of memory")

    cut_to_fit(work, 4, error=no_memory, smaller=lambda: None)
    assert alive == [False] * 7
