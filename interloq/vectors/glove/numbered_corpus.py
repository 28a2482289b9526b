# SPDX-License-Identifier: Apache-2.0
"""A corpus of any size on disk as numbered tokens, with its vocabulary; read and tokenised once.

Tokens are numbered in order of appearance. After counting, words are ranked by frequency (ties alphabetically, so that
the order of the texts does not matter), and a table maps numbers to ranks. Tokens outside the vocabulary have rank -1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from interloq.data.batched import batched
from interloq.data.files.opening import read_json, reading_saved, replacing
from interloq.data.text.texts import UnseenTexts
from interloq.data.text.token_texts import Texts
from interloq.data.text.tokenize import Tokenizer
from interloq.errors import InputError
from interloq.vectors.word_table import WordNumbering

VOCABULARY = 2**30  # bytes of the list of words
BATCH = 10_000  # texts tokenised at a time
TOKENS, LENGTHS, RANKS, FACTS = "tokens.i32", "lengths.i32", "ranks.i32", "corpus.json"


@dataclass(frozen=True, slots=True)
class Corpus:
    """A corpus on disk: `words` from most to least frequent, and their `counts`."""

    folder: Path
    words: list[str]
    counts: list[int]
    texts: int
    duplicates: int  # repeated texts, which were skipped
    tokens: int
    distinct: int  # distinct words before rare ones were removed

    @classmethod
    def load(cls, folder: Path) -> Corpus | None:
        """Return the folder's corpus, or None if it has none."""
        path = folder / FACTS
        with reading_saved(path):
            if not path.exists():
                return None
            return cls(folder, **read_json(path, limit=VOCABULARY))

    def parts(self, size: int) -> Iterator[Texts]:
        """Yield parts of about `size` tokens, as ranks; words outside the vocabulary are omitted."""
        tokens = np.memmap(self.folder / TOKENS, dtype=np.int32, mode="r")
        ranks = np.fromfile(self.folder / RANKS, dtype=np.int32)
        ends = np.concatenate([[0], np.cumsum(np.fromfile(self.folder / LENGTHS, dtype=np.int32), dtype=np.int64)])
        first = 0
        while first < len(ends) - 1:
            last = max(first + 1, int(np.searchsorted(ends, ends[first] + size, side="right")) - 1)
            part = ranks[tokens[ends[first] : ends[last]]]
            yield Texts(part, ends[first : last + 1] - ends[first]).without(part < 0)
            first = last


def write_corpus(
    texts: Iterable[str],
    folder: Path,
    tokenizer: Tokenizer,
    *,
    min_count: int,
    max_vocabulary: int,
    keep_duplicates: bool,
    step: Callable[[int], None],
) -> Corpus:
    """Tokenise a stream of texts; `step` is called with the number of texts read."""
    numbers: dict[str, int] = {}
    numbering = WordNumbering(tokenizer, lambda token: numbers.setdefault(token, len(numbers)))
    seen, counts, facts = UnseenTexts(), _WordCounts(), {"texts": 0, "duplicates": 0, "tokens": 0}
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / TOKENS).open("wb") as token_file, (folder / LENGTHS).open("wb") as length_file:
        for batch in batched(texts, BATCH):
            kept = batch if keep_duplicates else seen.new(batch)
            part = numbering.texts(kept)
            counts.add(part.tokens, len(numbers))
            part.tokens.tofile(token_file)
            part.lengths.astype(np.int32).tofile(length_file)
            facts["texts"] += len(kept)
            facts["duplicates"] += len(batch) - len(kept)
            facts["tokens"] += len(part.tokens)
            step(len(batch))
    ranked = _rank_words(list(numbers), counts.values(len(numbers)), min_count, max_vocabulary)
    ranks = np.full(len(numbers), -1, dtype=np.int32)
    ranks[[numbers[word] for word, _ in ranked]] = np.arange(len(ranked), dtype=np.int32)
    ranks.tofile(folder / RANKS)
    vocabulary = {"words": [word for word, _ in ranked], "counts": [count for _, count in ranked]}
    saved: dict[str, Any] = {**vocabulary, **facts, "distinct": len(numbers)}
    with replacing(folder / FACTS) as file:  # comes last: it marks the corpus as complete
        file.write(orjson.dumps(saved))
    return Corpus(folder, **saved)


def _rank_words(words: Sequence[str], counts: NDArray[np.int64], least: int, most: int) -> list[tuple[str, int]]:
    if not words:
        raise InputError("the texts have no tokens", hint="check the files and the tokenizer")
    kept = [(words[i], int(counts[i])) for i in np.flatnonzero(counts >= least).tolist()]
    if not kept:
        raise InputError(
            f"no word occurs {least} times; the most frequent occurs {counts.max()} times", hint="lower --min-count"
        )
    return sorted(kept, key=lambda word: (-word[1], word[0]))[:most]


class _WordCounts:
    """Count occurrences by number; the array grows by doubling."""

    def __init__(self) -> None:
        self._counts = np.zeros(1024, dtype=np.int64)

    def add(self, numbers: NDArray[np.int32], size: int) -> None:
        if size > len(self._counts):
            grown = np.zeros(2 * size, dtype=np.int64)
            grown[: len(self._counts)] = self._counts
            self._counts = grown
        counts = np.bincount(numbers)
        self._counts[: len(counts)] += counts

    def values(self, size: int) -> NDArray[np.int64]:
        return self._counts[:size]
