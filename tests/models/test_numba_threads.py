"""Numba's threads are started without a change to others."""

from __future__ import annotations

import threading

import torch

from interloq.models.numba_threads import start_threads


def test_torch_keeps_its_number_of_threads() -> None:
    before, running = torch.get_num_threads(), threading.active_count()
    start_threads()
    assert torch.get_num_threads() == before
    assert threading.active_count() == running, "the thread that starts them ends"
    start_threads()
    assert start_threads.cache_info().hits >= 1
