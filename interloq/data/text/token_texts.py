# SPDX-License-Identifier: Apache-2.0
"""Many texts as numbered tokens, for counting and averaging without lists of strings."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interloq.data.batched import batched
from interloq.data.text.tokenize import Tokenizer
from interloq.data.text.word_places import WordPlaces

Ints = NDArray[np.int32]
WORD, WORDS = 32, 2**16  # characters of words whose tokens are remembered, and how many are
FEW = 1024  # texts split at a time, so that their words are still in the cache when looked up


@dataclass(frozen=True, slots=True)
class Texts:
    """Tokenised texts concatenated in one array; text i is `tokens[ends[i]:ends[i + 1]]`."""

    tokens: Ints
    ends: NDArray[np.int64]

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]]) -> Texts:
        """Return texts given as rows of token numbers."""
        ends = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum([len(row) for row in rows], out=ends[1:])
        tokens = np.fromiter((number for row in rows for number in row), dtype=np.int32, count=int(ends[-1]))
        return cls(tokens, ends)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of tokens in each text."""
        return np.diff(self.ends)

    def pad(self, which: NDArray[np.int64], width: int, fill: int) -> Ints:
        """Return the chosen texts as rows of equal width."""
        starts, columns = self.ends[which], np.arange(width)
        inside = columns < (self.ends[which + 1] - starts)[:, None]
        rows = np.full((len(which), width), fill, dtype=np.int32)
        rows[inside] = self.tokens[(starts[:, None] + columns)[inside]]
        return rows

    def join(self, which: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the concatenated tokens of the chosen texts, and their lengths."""
        starts = self.ends[which]
        lengths = self.ends[which + 1] - starts
        return self.tokens[spans(starts, lengths)].astype(np.int64), lengths

    def take(self, which: NDArray[Any]) -> Texts:
        """Return the chosen texts."""
        tokens, lengths = self.join(which)
        return Texts(tokens.astype(np.int32), np.concatenate([[0], np.cumsum(lengths)]))

    def part(self, start: int, stop: int) -> Texts:
        """Return consecutive texts, without a copy of their tokens."""
        ends = self.ends[start : stop + 1]
        return Texts(self.tokens[ends[0] : ends[-1]], ends - ends[0])

    def without(self, dropped: NDArray[np.bool_]) -> Texts:
        """Return the same texts without some of their tokens."""
        kept = np.concatenate([[0], np.cumsum(~dropped, dtype=np.int64)])
        return Texts(self.tokens[~dropped], kept[self.ends])

    def __getitem__(self, i: int) -> Ints:
        return self.tokens[self.ends[i] : self.ends[i + 1]]


def spans(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return concatenated ranges of positions, from each start for its length."""
    ends = np.cumsum(lengths)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - ends + lengths, lengths)


@lru_cache(maxsize=8)
def remember_words(tokenizer: Tokenizer) -> Callable[[str], list[str]]:
    """Return a function that splits each of the last words once, for all batches and metrics with this tokenizer."""
    return lru_cache(maxsize=WORDS)(tokenizer.tokens)


class TokenNumbering:
    """Numbers tokens; splits each distinct word once, or each distinct text unless the tokenizer is `by_word`."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._by_word = tokenizer.by_word
        self._units = _Units(tokenizer)
        self._words = WordPlaces(self._units.__getitem__)

    def vocabulary(self) -> list[str]:
        """Return the tokens so far; a token's number is its position."""
        return list(self._units.ids)

    def texts(self, texts: Iterable[str]) -> Texts:
        """Return the texts as numbered tokens."""
        which, ends = [np.zeros(0, dtype=np.int64)], [np.zeros(1, dtype=np.int64)]
        for batch in batched(texts, FEW):
            # 13a joins words over "-\n", so texts with line breaks are not split into words first
            if self._by_word and "\n" not in "".join(batch):
                units, words = self._words.find(batch)
            else:
                units, words = self._split(batch)
            which.append(units)
            ends.append(words + ends[-1][-1])
        return self._units.spread(np.concatenate(which), np.concatenate(ends))

    def _split(self, batch: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        units: list[str] = []
        ends = []
        for text in batch:
            if self._by_word and "\n" not in text:
                units += text.split()
            else:
                units.append(text)
            ends.append(len(units))
        return np.array(list(map(self._units.__getitem__, units)), dtype=np.int64), np.array(ends)


class _Units(dict[str, int]):
    """Word or text → its row in a table of token numbers, created on first use."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._tokenize: Callable[[str], list[str]] = tokenizer.tokens
        if tokenizer.by_word and isinstance(tokenizer, Hashable):
            self._tokenize = remember_words(tokenizer)
        self.ids: dict[str, int] = {}
        self._tokens: list[int] = []
        self._ends = [0]

    def __missing__(self, unit: str) -> int:
        ids = self.ids
        tokens = self._tokenize(unit) if len(unit) <= WORD else self._tokenizer.tokens(unit)
        self._tokens += [ids.setdefault(token, len(ids)) for token in tokens]
        self._ends.append(len(self._tokens))
        self[unit] = place = len(self._ends) - 2
        return place

    def spread(self, which: NDArray[np.int64], ends: NDArray[np.int64]) -> Texts:
        """Return the concatenated tokens of the units, and the end of each text."""
        table, table_ends = np.array(self._tokens, dtype=np.int32), np.array(self._ends)
        starts, lengths = table_ends[which], table_ends[which + 1] - table_ends[which]
        total = np.concatenate([[0], np.cumsum(lengths)])
        tokens = table[np.repeat(starts - total[:-1], lengths) + np.arange(total[-1])]
        return Texts(tokens, total[ends])
