# SPDX-License-Identifier: Apache-2.0
"""The settings and parameters of GloVe, in their own module so that the defaults need neither numba nor torch."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from interloq.data.text.tokenize import Tokenizer
from interloq.options import option
from interloq.registry import Component, component

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Glove(Component):
    """Everything that determines the vectors, unlike threads, memory and device."""

    dimensions: int = option(300, "dimensions of a vector", above=0)
    window: int = option(15, "words on either side that count as context", above=0)
    x_max: float = option(100.0, "pairs that co-occur at least this often have weight 1", above=0)
    alpha: float = option(0.75, "exponent A of the weight (x / x_max)^A below that", metavar="A", least=0)
    epochs: int = option(25, "passes over all pairs", above=0)
    learning_rate: float = option(0.05, "initial step size of AdaGrad", above=0)
    bias_rate: float | None = option(
        None, "the same for biases; later releases of the GloVe program use 1", shown="the learning rate", least=0
    )
    clip: float = option(100.0, "components of a gradient are clipped at ±X", above=0)
    min_count: int = option(5, "words that occur less often are excluded", above=0)
    max_vocabulary: int = option(400_000, "keep only the N most frequent words", above=0)
    keep_duplicates: bool = option(False, "count a text each time it occurs, not once")
    seed: int = option(0, "seed of initial values and order", least=0)
    tokenizer: Tokenizer = component("tokenizer", "13a(lowercase=True)")

    def targets(self, values: Floats) -> tuple[Floats, Floats]:
        """Return log X and f(X)."""
        weights = np.minimum(np.float32(1), (values / np.float32(self.x_max)) ** np.float32(self.alpha))
        return np.log(values), weights

    def rates(self) -> tuple[np.float32, np.float32, np.float32]:
        """Return the learning rate of vectors and of biases, and the clip."""
        bias_rate = self.learning_rate if self.bias_rate is None else self.bias_rate
        return np.float32(self.learning_rate), np.float32(bias_rate), np.float32(self.clip)


@dataclass(frozen=True, slots=True)
class GloveParameters:
    """Words at [0] and contexts at [1]; squared gradients are stored without their initial 1."""

    vectors: Floats
    squares: Floats
    biases: Floats
    bias_squares: Floats

    @classmethod
    def start(cls, words: int, dimensions: int, *, seed: int) -> GloveParameters:
        """Return random initial parameters."""
        rng = np.random.default_rng([seed, 0])
        vectors = rng.random((2, words, dimensions), dtype=np.float32)
        biases = rng.random((2, words), dtype=np.float32)
        for array in (vectors, biases):
            array -= np.float32(0.5)
            array /= np.float32(dimensions + 1)
        return cls(vectors, np.zeros_like(vectors), biases, np.zeros_like(biases))

    @classmethod
    def load(cls, folder: Path) -> GloveParameters:
        """Load the parameters of a folder."""
        return cls(*(np.load(folder / f"{name}.npy", allow_pickle=False) for name in cls.__slots__))

    def save(self, folder: Path) -> None:
        """Write the parameters to a folder."""
        folder.mkdir(exist_ok=True)
        for name, array in zip(self.__slots__, self.arrays(), strict=True):
            np.save(folder / f"{name}.npy", array, allow_pickle=False)

    def arrays(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Return vectors and biases, with their summed squared gradients."""
        return self.vectors, self.squares, self.biases, self.bias_squares
