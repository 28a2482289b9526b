# SPDX-License-Identifier: Apache-2.0
"""Device settings of the training loop: threads on a processor, packed rows and a stream on a GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from threadpoolctl import threadpool_limits

from interloq.learn.settings import Training


@contextmanager
def packed_rows(
    network: Any, training: Training, device: torch.device, report: Callable[[str], None]
) -> Iterator[bool]:
    """On a GPU, let a network read rows without padding if it can; needs bf16. Yields whether it does."""
    if device.type != "cuda" or not mixed_precision(training, device) or not hasattr(network, "packing"):
        yield False
        return
    with network.packing.enabled(device) as works:
        if not works:
            report(f"rows are padded: {network.packing.reason}")
        yield works


@contextmanager
def own_stream(device: torch.device) -> Iterator[None]:
    """A separate stream: CUDA graphs cannot be recorded in the default one, nor calls that first ran in another."""
    if device.type != "cuda":
        yield
        return
    outer, own = torch.cuda.current_stream(device), torch.cuda.Stream(device)
    own.wait_stream(outer)
    try:
        with torch.cuda.stream(own):
            yield
    finally:
        outer.wait_stream(own)


def compile_layers(network: torch.nn.Module) -> None:
    """Let torch compile the layers that the network repeats, or else all of it; equal layers are compiled once."""
    lists = [part for part in network.modules() if isinstance(part, torch.nn.ModuleList)]
    for layer in max(lists, key=len, default=None) or [network]:
        layer.compile()


def mixed_precision(training: Training, device: torch.device) -> bool:
    """Return whether matrix products are computed in bf16."""
    return training.amp == "bf16" or (training.amp == "auto" and device.type == "cuda")


@contextmanager
def fixed_threads(threads: int, device: torch.device) -> Iterator[None]:
    """Compute with this number of threads on a processor, however many cores it has.

    The number of threads determines the order in which torch adds numbers (matrix products of a few rows, sums of large
    tensors, gradients of layer norms) and in which numpy decomposes matrices. Training turns a different last digit
    into different weights.
    """
    before = torch.get_num_threads()
    if device.type == "cpu":
        torch.set_num_threads(threads)
    try:
        with threadpool_limits(threads, user_api="blas"):
            yield
    finally:
        torch.set_num_threads(before)
