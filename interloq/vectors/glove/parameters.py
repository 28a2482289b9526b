# SPDX-License-Identifier: Apache-2.0
"""The parameters of GloVe, and how they are saved between epochs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class GloveParameters:
    """Words at [0] and contexts at [1]; squared gradients are stored without their initial 1."""

    vectors: Floats
    squares: Floats
    biases: Floats
    bias_squares: Floats

    @classmethod
    def start(cls, words: int, dimensions: int, *, seed: int) -> GloveParameters:
        """Random initial parameters."""
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
        """Vectors and biases, with their summed squared gradients."""
        return self.vectors, self.squares, self.biases, self.bias_squares
