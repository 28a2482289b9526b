# SPDX-License-Identifier: Apache-2.0
"""The words of many texts at once, without a string for each: the bytes of a word are its key in a table.

Up to LONGEST bytes and their number fit in two integers. A word's slot in the table depends on them; if another word
has the slot, or the word is longer, a dictionary is asked instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

SLOTS = 17  # bits
LONGEST = 15  # bytes; the last byte of the second integer is the length
_MASKS = np.array([2 ** (8 * n) - 1 for n in range(9)], dtype=np.uint64)
_MIXERS = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F], dtype=np.uint64)  # large and odd


class WordPlaces:
    """Splits texts at white space, and returns for each word what `place` returns, which must not change."""

    def __init__(self, place: Callable[[str], int]) -> None:
        self._place = place
        self._keys = np.zeros((2, 2**SLOTS), dtype=np.uint64)
        self._places = np.zeros(2**SLOTS, dtype=np.int64)

    def find(self, texts: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the places of all words, and the number of words up to the end of each text.

        No text may have line breaks.
        """
        joined = "\n".join([*texts, ""])
        if not joined.isascii():
            joined = "\n".join([*(text if text.isascii() else " ".join(text.split()) for text in texts), ""])
        data = joined.encode("utf-8", "surrogatepass")
        characters = np.frombuffer(data, dtype=np.uint8)
        is_space = np.append(True, _in_range(characters, 9, 13) | _in_range(characters, 28, 32))  # as str.split
        edges = np.flatnonzero(is_space[1:] != is_space[:-1])
        starts, stops = edges[0::2], edges[1::2]
        keys = _read_keys(data, starts, stops - starts)
        mixed = keys[0] * _MIXERS[0] ^ keys[1] * _MIXERS[1]
        slots = ((mixed ^ mixed >> np.uint64(29)) * _MIXERS[0] >> np.uint64(64 - SLOTS)).astype(np.int64)
        places = self._places[slots]
        fits = stops - starts <= LONGEST
        others = np.flatnonzero((self._keys[0, slots] != keys[0]) | (self._keys[1, slots] != keys[1]) | ~fits)
        if len(others):
            spans = zip(starts[others].tolist(), stops[others].tolist(), strict=True)
            words = [data[start:stop].decode("utf-8", "surrogatepass") for start, stop in spans]
            places[others] = list(map(self._place, words))
            # a slot is kept by its first word: the most frequent words come early
            stored = others[fits[others] & (self._keys[1, slots[others]] == 0)]
            self._keys[:, slots[stored]] = keys[:, stored]
            self._places[slots[stored]] = places[stored]
        return places, np.searchsorted(starts, np.flatnonzero(characters == ord("\n")))


def _in_range(characters: NDArray[np.uint8], first: int, last: int) -> NDArray[np.bool_]:
    return np.asarray(characters - np.uint8(first) <= np.uint8(last - first))  # lower ones wrap around


def _read_keys(data: bytes, starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return the first LONGEST bytes of words, and their length, as two integers."""
    integers = np.frombuffer(data + bytes(24 - len(data) % 8), dtype="<u8")
    first, shift = starts >> 3, ((starts & 7) << 3).astype(np.uint64)
    parts = [integers[first + i] for i in range(3)]
    keys = np.empty((2, len(starts)), dtype=np.uint64)
    for i in range(2):
        # shifting in two steps, as a shift by 64 bits is undefined
        keys[i] = parts[i] >> shift | (parts[i + 1] << np.uint64(1)) << (np.uint64(63) - shift)
    keys[0] &= _MASKS[np.minimum(lengths, 8)]
    keys[1] &= _MASKS[np.clip(lengths - 8, 0, 7)]
    keys[1] |= lengths.astype(np.uint64) << np.uint64(56)
    return keys
