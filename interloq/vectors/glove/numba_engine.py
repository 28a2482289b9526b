# SPDX-License-Identifier: Apache-2.0
"""GloVe's AdaGrad steps, compiled for the CPU with numba. Import this module only when it is used."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numba
import numpy as np
from numba import prange
from numpy.typing import NDArray

from interloq.models.numba_threads import start_threads
from interloq.vectors.glove.settings import Glove, GloveParameters
from interloq.vectors.glove.shuffle import BLOCKS, Chunk

Floats = NDArray[np.float32]
ONE = np.float32(1)


class NumbaEngine:
    """Trains parameters in place; results are identical for any number of threads."""

    device = "cpu"

    def __init__(self, settings: Glove, parameters: GloveParameters, *, threads: int) -> None:
        self._settings, self._parameters = settings, parameters
        start_threads()
        numba.set_num_threads(min(threads or numba.config.NUMBA_NUM_THREADS, numba.config.NUMBA_NUM_THREADS))

    def epoch(self, chunks: Iterator[Chunk], rng: np.random.Generator, step: Callable[[int], None]) -> float:
        """Train one pass over all entries; return the sum of their losses, each computed just before its step."""
        total = 0.0
        for chunk in chunks:
            logs, weights = self._settings.targets(chunk.values)
            for diagonal in rng.permutation(BLOCKS):
                ends = chunk.ends[diagonal * BLOCKS : (diagonal + 1) * BLOCKS + 1]
                total += self._train(chunk, logs, weights, ends)
                step(int(ends[-1] - ends[0]))
        return total

    def _train(self, chunk: Chunk, logs: Floats, weights: Floats, ends: NDArray[np.int64]) -> float:
        losses = np.zeros(BLOCKS)
        p, rate, bias_rate, clip = self._parameters, *self._settings.rates()
        own, context = (p.vectors[0], p.vectors[1]), (p.squares[0], p.squares[1])
        biases, bias_squares = (p.biases[0], p.biases[1]), (p.bias_squares[0], p.bias_squares[1])
        entries = (chunk.rows, chunk.columns, logs, weights)
        train_blocks(own, context, biases, bias_squares, entries, ends, rate, bias_rate, clip, losses)
        return float(losses.sum())

    def parameters(self) -> GloveParameters:
        """Return the current parameters."""
        return self._parameters


LOOSE = {"reassoc", "nsz", "arcp", "contract"}  # sums may be reordered for SIMD; NaN and infinity keep their meaning


@numba.njit(parallel=True, cache=True, error_model="numpy", fastmath=LOOSE)  # type: ignore[untyped-decorator]
def train_blocks(
    vectors: tuple[Floats, Floats],
    squares: tuple[Floats, Floats],
    biases: tuple[Floats, Floats],
    bias_squares: tuple[Floats, Floats],
    entries: tuple[NDArray[np.int32], NDArray[np.int32], Floats, Floats],
    ends: NDArray[np.int64],
    rate: np.float32,
    bias_rate: np.float32,
    clip: np.float32,
    losses: NDArray[np.float64],
) -> None:
    """Train the blocks in parallel, since no two of them share a word, and the entries of a block in order."""
    words, contexts = vectors
    word_squares, context_squares = squares
    rows, columns, logs, weights = entries
    for block in prange(len(ends) - 1):
        loss = 0.0
        for k in range(ends[block], ends[block + 1]):
            i, j = rows[k], columns[k]
            product = np.float32(0)
            for d in range(words.shape[1]):
                product += words[i, d] * contexts[j, d]
            difference = product + biases[0][i] + biases[1][j] - logs[k]
            pull = weights[k] * difference
            loss += 0.5 * np.float64(pull) * np.float64(difference)
            for d in range(words.shape[1]):
                word, context = words[i, d], contexts[j, d]
                word_step = min(max(pull * context, -clip), clip) * rate
                context_step = min(max(pull * word, -clip), clip) * rate
                words[i, d] = word - word_step / np.sqrt(ONE + word_squares[i, d])
                contexts[j, d] = context - context_step / np.sqrt(ONE + context_squares[j, d])
                word_squares[i, d] += word_step * word_step
                context_squares[j, d] += context_step * context_step
            pull *= bias_rate
            biases[0][i] -= pull / np.sqrt(ONE + bias_squares[0][i])
            biases[1][j] -= pull / np.sqrt(ONE + bias_squares[1][j])
            bias_squares[0][i] += pull * pull
            bias_squares[1][j] += pull * pull
        losses[block] = loss
