# SPDX-License-Identifier: Apache-2.0
"""Device settings of the training loop: threads on a processor; packed rows, a stream and CUDA graphs on a GPU.

A small network's step is hundreds of short kernels, and starting them one by one takes the processor longer than the
GPU needs to run them. A graph of a batch's loss and gradients, recorded once per shape, starts all of them at once. It
computes what the same calls would have computed, with the same random numbers, so it makes no difference to the result
which batches are replayed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import torch
from threadpoolctl import threadpool_limits

from interloq.learn.settings import Training
from interloq.models.token_rows import Packed

MOST = 96  # maximum number of graphs; batches of other shapes are computed without one
SEEN = 1  # batches of a shape computed without a graph first, so that torch loads everything it needs


@contextmanager
def pack_rows(network: Any, training: Training, device: torch.device, report: Callable[[str], None]) -> Iterator[bool]:
    """Let a network on a GPU read rows without padding if it can (this needs bf16), and yield whether it does."""
    if device.type != "cuda" or not uses_mixed_precision(training, device) or not hasattr(network, "packing"):
        yield False
        return
    with network.packing.enable(device) as works:
        if not works:
            report(f"rows are padded: {network.packing.reason}")
        yield works


@contextmanager
def use_own_stream(device: torch.device) -> Iterator[None]:
    """Use a separate stream: CUDA graphs cannot record the default stream, or calls that first ran in another."""
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
    """Let torch compile the network's repeated layers, or else all of it; equal layers are compiled once."""
    lists = [part for part in network.modules() if isinstance(part, torch.nn.ModuleList)]
    for layer in max(lists, key=len, default=None) or [network]:
        layer.compile()


def uses_mixed_precision(training: Training, device: torch.device) -> bool:
    """Return whether matrix products are computed in bf16."""
    return training.amp == "bf16" or (training.amp == "auto" and device.type == "cuda")


@contextmanager
def fix_threads(threads: int, device: torch.device) -> Iterator[None]:
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


def map_tensors(batch: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """Return the batch with each of its tensors changed; batches are dataclasses of tensors and other values."""
    if isinstance(batch, torch.Tensor):
        return change(batch)
    if not is_dataclass(batch) or isinstance(batch, type):
        return batch
    return replace(batch, **{item.name: map_tensors(getattr(batch, item.name), change) for item in fields(batch)})


def tensors(batch: Any) -> list[torch.Tensor]:
    """Return all tensors of a batch, in order."""
    if isinstance(batch, torch.Tensor):
        return [batch]
    if not is_dataclass(batch) or isinstance(batch, type):
        return []
    tensors_of_batch: list[torch.Tensor] = []
    for item in fields(batch):
        tensors_of_batch += tensors(getattr(batch, item.name))
    return tensors_of_batch


@dataclass(frozen=True, slots=True)
class Recorded:
    """A graph, the tensors that it reads, and the loss that it writes."""

    graph: torch.cuda.CUDAGraph
    batch: Any
    examples: torch.Tensor
    loss: torch.Tensor


class Learner:
    """Adds the gradient of a batch's mean loss to the network's gradient, and returns the summed loss.

    Gradients must stay in place between steps (`zero_grad(set_to_none=False)`): graphs write to them.
    """

    def __init__(
        self, loss: Callable[[Any], torch.Tensor], device: torch.device, report: Callable[[str], None], *, graphs: bool
    ) -> None:
        self._loss, self._device, self._report, self.graphs = loss, device, report, graphs
        self._seen: Counter[Any] = Counter()
        self._recorded: dict[Any, Recorded] = {}
        self._pool = torch.cuda.graph_pool_handle() if graphs else None

    def learn(self, batch: Any, examples: int) -> torch.Tensor:
        """Return the summed loss of a batch; the mean is over `examples`, which may include those of other batches."""
        if not self.graphs or not isinstance(getattr(batch, "rows", None), Packed):  # padded rows have many shapes
            return self._backward(batch, examples)
        shape = _shape(batch)
        if shape not in self._recorded and not self._record(batch, shape):
            moved = map_tensors(batch, lambda tensor: tensor.to(self._device, non_blocking=True))
            return self._backward(moved, examples)
        return _replay_graph(self._recorded[shape], batch, examples)

    def _backward(self, batch: Any, examples: int | torch.Tensor) -> torch.Tensor:
        loss = self._loss(batch)
        (loss / examples).backward()
        return loss.detach()

    def _record(self, batch: Any, shape: Any) -> bool:
        """Record the graph of a shape that was seen often enough; after a failure no more are recorded."""
        self._seen[shape] += 1
        if self._seen[shape] <= SEEN or len(self._recorded) >= MOST:
            return False
        inputs = map_tensors(batch, lambda tensor: tensor.to(self._device, copy=True))
        examples = torch.ones((), device=self._device)
        torch.cuda.synchronize(self._device)
        if torch.cuda.mem_get_info(self._device)[0] < torch.cuda.memory_reserved(self._device):
            torch.cuda.empty_cache()  # room for the graph's own memory
        graph = torch.cuda.CUDAGraph()
        try:
            # other threads pin memory meanwhile, which is not part of the graph
            graph.capture_begin(pool=self._pool, capture_error_mode="thread_local")
            try:
                loss = self._backward(inputs, examples)
            finally:
                graph.capture_end()
        except RuntimeError as error:  # a kernel that cannot be recorded, or no memory for a batch and its graph
            self._report(f"continuing without CUDA graphs: {str(error).strip().splitlines()[0]}")
            self.graphs = False
            self._recorded.clear()  # frees their memory
            return False
        self._recorded[shape] = Recorded(graph, inputs, examples, loss)
        return True


def _replay_graph(recorded: Recorded, batch: Any, examples: int) -> torch.Tensor:
    for target, source in zip(tensors(recorded.batch), tensors(batch), strict=True):
        target.copy_(source, non_blocking=True)
    recorded.examples.fill_(examples)
    recorded.graph.replay()
    return recorded.loss


def _shape(batch: Any) -> Any:
    """Return the key of a batch's graph: shapes and types of its tensors, and all other values."""
    if isinstance(batch, torch.Tensor):
        return tuple(batch.shape), batch.dtype
    if not is_dataclass(batch):
        return batch
    return tuple(_shape(getattr(batch, item.name)) for item in fields(batch))
