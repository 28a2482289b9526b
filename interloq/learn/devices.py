# SPDX-License-Identifier: Apache-2.0
"""Device settings of the training loop: threads on a processor, packed rows and a stream on a GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from interloq.learn.settings import Training

SMALL = 1_000_000  # parameters of a network that one thread trains as fast as two


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
    """Whether matrix products are computed in bf16."""
    return training.amp == "bf16" or (training.amp == "auto" and device.type == "cuda")


@contextmanager
def threads_for(network: torch.nn.Module, device: torch.device) -> Iterator[None]:
    """One thread for a small network on a processor: more wait for each other longer than they work.

    Measured on two idle cores with 300,000 parameters: 18 s of processor time instead of 30, in the same time.
    """
    before = torch.get_num_threads()
    small = sum(parameter.numel() for parameter in network.parameters()) < SMALL
    if small and device.type == "cpu":
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
