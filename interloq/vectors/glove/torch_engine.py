# SPDX-License-Identifier: Apache-2.0
"""GloVe's AdaGrad steps with torch, for a GPU: many entries at once instead of one by one.

All entries of a batch compute their steps from the same parameters, and the steps are added. This is like taking them
one by one, but with parameters that are a few steps old. Batches are small enough that no word is expected more than
SHARED times in one. The order of additions on a GPU varies, so the last digits of results differ between runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from interloq.errors import InputError
from interloq.vectors.glove.settings import Glove, GloveParameters
from interloq.vectors.glove.shuffle import Chunk, Chunks

SHARED = 32  # on 1.8 million entries, 8, 32 and 128 gave losses 0.7, 0.8 and 1.2 % above one by one
LARGEST = 2**16  # entries per batch
Batch = tuple[Any, Any, Any, Any]  # rows, columns, logarithms, weights


def check(device: str) -> None:
    """Refuse a device that torch does not find."""
    if device == "cuda" and not torch.cuda.is_available():
        raise InputError("torch finds no CUDA device", hint="run without --device cuda")


class TorchEngine:
    """Trains GloVe with torch."""

    def __init__(self, settings: Glove, parameters: GloveParameters, chunks: Chunks, *, device: str) -> None:
        self.device = device  # for the signature
        self._where = "cpu" if device == "torch" else device
        self._settings = settings
        self._tensors = [torch.from_numpy(array).to(self._where) for array in parameters.arrays()]
        self._batch = int(min(LARGEST, max(1, SHARED * chunks.entries // max(1, chunks.most))))
        self._kept: list[Batch] | None = None
        if device == "cuda" and 24 * chunks.entries < torch.cuda.mem_get_info()[0] // 2:
            self._kept = []  # the entries are copied to the GPU once if they fit into half of its free memory

    def epoch(self, chunks: Iterator[Chunk], rng: np.random.Generator, step: Callable[[int], None]) -> float:
        """Train one pass over all entries; return the sum of their losses, each computed just before its step."""
        generator = torch.Generator(device=self._where).manual_seed(int(rng.integers(2**62)))
        total = torch.zeros((), dtype=torch.float64, device=self._where)
        for rows, columns, logs, weights in self._send(chunks):
            order = torch.randperm(len(rows), generator=generator, device=self._where)
            for which in order.split(self._batch):
                total += self._train(rows[which], columns[which], logs[which], weights[which])
            step(len(rows))
        return float(total)

    def _send(self, chunks: Iterator[Chunk]) -> Iterator[Batch]:
        if self._kept:
            yield from self._kept
            return
        for chunk in chunks:
            arrays = (chunk.rows, chunk.columns, *self._settings.targets(chunk.values))
            rows, columns, logs, weights = (torch.from_numpy(array).to(self._where) for array in arrays)
            batch = rows.long(), columns.long(), logs, weights
            if self._kept is not None:
                self._kept.append(batch)
            yield batch

    def _train(self, rows: Any, columns: Any, logs: Any, weights: Any) -> Any:
        vectors, squares, biases, bias_squares = self._tensors
        rate, bias_rate, clip = (float(value) for value in self._settings.rates())
        words, contexts = vectors[0][rows], vectors[1][columns]
        difference = (words * contexts).sum(1) + biases[0][rows] + biases[1][columns] - logs
        pull = weights * difference
        loss = 0.5 * (pull.double() * difference.double()).sum()
        word_steps = (pull[:, None] * contexts).clamp_(-clip, clip).mul_(rate)
        context_steps = (pull[:, None] * words).clamp_(-clip, clip).mul_(rate)
        pull = pull * bias_rate
        for side, which, steps in ((0, rows, word_steps), (1, columns, context_steps)):
            _descend(vectors[side], squares[side], which, steps)
            _descend(biases[side], bias_squares[side], which, pull)
        return loss

    def parameters(self) -> GloveParameters:
        """Return the current parameters."""
        return GloveParameters(*(np.ascontiguousarray(tensor.cpu().numpy()) for tensor in self._tensors))


def _descend(values: Any, squares: Any, which: Any, steps: Any) -> None:
    values.index_add_(0, which, steps * torch.rsqrt(1 + squares[which]), alpha=-1)
    squares.index_add_(0, which, steps * steps)
