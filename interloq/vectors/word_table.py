# SPDX-License-Identifier: Apache-2.0
"""Words by number and numbers by word, memory-mapped: 400,000 words open in milliseconds.

The words are concatenated in one file. To find a word, its 64-bit hash is looked up in a sorted array of hashes.
`WordNumbering` turns texts into numbers of words with any such table.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from interloq.data.files.arrays import map_array
from interloq.data.text.token_texts import Texts
from interloq.data.text.tokenize import Tokenizer
from interloq.errors import InputError

LETTERS, ENDS, HASHES, ORDER = "words.utf8", "word_ends.npy", "word_hashes.npy", "word_order.npy"
REMEMBERED = 1_000_000  # words in the cache, which is then cleared to limit memory


class WordTable(Sequence[str]):
    """A read-only list of distinct words that also finds the position of a word."""

    def __init__(
        self, letters: NDArray[np.uint8], ends: NDArray[np.int64], hashes: NDArray[np.uint64], order: NDArray[np.int32]
    ) -> None:
        # plain views, because single items of a memory-mapped array are slow to read
        self.letters, self.ends, self.hashes, self.order = (np.asarray(a) for a in (letters, ends, hashes, order))
        self._view = self.letters.data

    @classmethod
    def of(cls, words: Iterable[str]) -> WordTable:
        """Create the table of these words."""
        encoded = [_encode_word(word) for word in words]
        ends = np.concatenate([[0], np.cumsum([len(word) for word in encoded], dtype=np.int64)])
        hashes = np.array([_hash(word) for word in encoded], dtype=np.uint64)
        order = np.argsort(hashes, kind="stable").astype(np.int32)
        return cls(np.frombuffer(b"".join(encoded), dtype=np.uint8), ends, hashes[order], order)

    @classmethod
    def load(cls, folder: Path) -> WordTable:
        """Open the table of a folder."""
        letters = np.memmap(folder / LETTERS, dtype=np.uint8, mode="r")
        kinds = {ENDS: np.int64, HASHES: np.uint64, ORDER: np.int32}
        arrays = [map_array(folder / name, kind, hint="copy the vectors again") for name, kind in kinds.items()]
        _check(letters, *arrays)
        return cls(letters, *arrays)

    def save(self, folder: Path) -> None:
        """Write the table to a folder."""
        self.letters.tofile(folder / LETTERS)
        for name, array in ((ENDS, self.ends), (HASHES, self.hashes), (ORDER, self.order)):
            np.save(folder / name, array, allow_pickle=False)

    def find(self, word: str) -> int:
        """Return the position of a word, or -1 if it is unknown."""
        encoded = _encode_word(word)
        wanted = np.uint64(_hash(encoded))
        place = int(np.searchsorted(self.hashes, wanted))
        while place < len(self.hashes) and self.hashes[place] == wanted:  # more than once only if hashes collide
            number = int(self.order[place])
            if self._bytes(number) == encoded:
                return number
            place += 1
        return -1

    def _bytes(self, number: int) -> bytes:
        return bytes(self._view[self.ends[number] : self.ends[number + 1]])

    def __len__(self) -> int:
        return len(self.ends) - 1

    @overload
    def __getitem__(self, number: int) -> str: ...
    @overload
    def __getitem__(self, number: slice) -> list[str]: ...
    def __getitem__(self, number: int | slice) -> str | list[str]:
        if isinstance(number, slice):
            return [self[i] for i in range(*number.indices(len(self)))]
        if not -len(self) <= number < len(self):
            raise IndexError(number)
        return _decode_word(self._bytes(number % len(self)))

    def __iter__(self) -> Iterator[str]:
        letters, ends = self.letters.tobytes(), self.ends.tolist()
        for start, end in pairwise(ends):
            yield _decode_word(letters[start:end])

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self.find(word) >= 0


def _check(letters: NDArray[Any], ends: NDArray[Any], hashes: NDArray[Any], order: NDArray[Any]) -> None:
    """Check that every number refers to an existing word; the words themselves are not read."""
    if not len(ends) - 1 == len(hashes) == len(order) > 0:
        raise ValueError(f"the table of words has {len(ends) - 1} ends, {len(hashes)} hashes, {len(order)} positions")
    if ends[0] != 0 or ends[-1] != len(letters) or bool(np.any(np.diff(ends) < 0)):
        raise ValueError(f"the words do not end at the last of their {len(letters)} bytes")
    if int(order.min()) < 0 or int(order.max()) >= len(order):
        raise ValueError("the table of words names a word that does not exist")


def _decode_word(word: bytes) -> str:
    try:
        return word.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise InputError(f"the saved word {word!r:.60} is damaged", hint="copy the vectors again") from error


def _encode_word(word: str) -> bytes:
    return word.encode("utf-8", "surrogatepass")


def _hash(word: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(word, digest_size=8).digest(), "little")


class WordNumbering:
    """Numbers tokens with `number`, a function from a token to its number; empty tokens are omitted.

    If the tokenizer never looks past white space, each distinct word is split once and cached.
    """

    def __init__(self, tokenizer: Tokenizer, number: Callable[[str], int]) -> None:
        self._by_word = tokenizer.by_word
        self._words = _Words(tokenizer, number)

    def texts(self, texts: Iterable[str]) -> Texts:
        """Return the texts as numbered tokens."""
        numbers: list[int] = []
        ends = [0]
        words = self._words
        for text in texts:
            # 13a joins words over "-\n", so texts with line breaks are not split into words first
            if self._by_word and "\n" not in text:
                for word in text.split():
                    numbers += words[word]
            else:
                numbers += words.numbers(text)
            ends.append(len(numbers))
        return Texts(np.array(numbers, dtype=np.int32), np.array(ends, dtype=np.int64))


class _Words(dict[str, list[int]]):
    def __init__(self, tokenizer: Tokenizer, number: Callable[[str], int]) -> None:
        self._tokens, self._number = tokenizer.tokens, number

    def numbers(self, text: str) -> list[int]:
        return [self._number(token) for token in self._tokens(text) if token]

    def __missing__(self, word: str) -> list[int]:
        if len(self) >= REMEMBERED:
            self.clear()
        self[word] = numbers = self.numbers(word)
        return numbers
