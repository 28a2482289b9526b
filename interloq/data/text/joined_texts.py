# SPDX-License-Identifier: Apache-2.0
"""Many texts as one array of characters, so that what most of them have in common is seen at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_FOLDED = np.array([ord(chr(code).lower()) if chr(code).isalnum() else 0 for code in range(128)] + [0], dtype=np.uint8)
_SPACE = ord(" ")


@dataclass(frozen=True, slots=True)
class JoinedTexts:
    """Texts and their characters, by their numbers in Unicode; text i is `characters[ends[i]:ends[i + 1]]`."""

    texts: Sequence[str]
    characters: NDArray[np.int32]
    ends: NDArray[np.int64]

    @classmethod
    def of(cls, texts: Sequence[str]) -> JoinedTexts:
        """Join texts."""
        characters = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), dtype=np.int32)
        return cls(texts, characters, np.cumsum([0, *map(len, texts)]))

    def heads(self, size: int) -> NDArray[np.uint8]:
        """Return the ASCII letters and digits that texts begin with, in lower case, then 0: `size` rows."""
        heads = np.zeros((size, len(self.texts)), dtype=np.uint8)
        goes_on = np.ones(len(self.texts), dtype=bool)
        for i in range(size):
            at = self.ends[:-1] + i
            goes_on &= at < self.ends[1:]
            characters = self.characters[np.where(goes_on, at, 0)] if len(self.characters) else 0
            heads[i] = _FOLDED[np.minimum(characters, len(_FOLDED) - 1)] * goes_on
            goes_on &= heads[i] != 0
        return heads

    def have_plain_spaces(self) -> NDArray[np.bool_]:
        """Return for each text whether it is ASCII, with nothing but single spaces, and none at either end."""
        is_space = self.characters <= _SPACE
        is_plain = (self.characters < len(_FOLDED) - 1) & (~is_space | (self.characters == _SPACE))
        is_plain[1:] &= ~(is_space[1:] & is_space[:-1])
        plain = np.ones(len(self.texts), dtype=bool)
        plain[np.searchsorted(self.ends, np.flatnonzero(~is_plain), side="right") - 1] = False
        some = np.flatnonzero(self.ends[1:] > self.ends[:-1])
        plain[some] &= ~(is_space[self.ends[some]] | is_space[self.ends[some + 1] - 1])
        return plain
