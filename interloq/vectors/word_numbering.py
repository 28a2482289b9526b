# SPDX-License-Identifier: Apache-2.0
"""Texts as numbered tokens, concatenated in one array.

If the tokenizer never looks past white space, each distinct word is split once and cached.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from interloq.data.text.token_texts import Texts
from interloq.data.text.tokenize import Tokenizer

REMEMBERED = 1_000_000  # words in the cache, which is then cleared to limit memory


class WordNumbering:
    """Numbers tokens with `number`, a function from a token to its number; empty tokens are omitted."""

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
