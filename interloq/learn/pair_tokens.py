# SPDX-License-Identifier: Apache-2.0
"""Tokenised pairs of a log on disk, with each distinct text read and tokenised once.

Texts are numbered in the order of their hashes and pairs are sorted by these numbers, so that nothing depends on the
order of the input. The first pairs are the dev part; train and dev never share an utterance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
import orjson
from numpy.typing import NDArray

from interloq.data.batched import batched
from interloq.data.files.opening import read_json, reading_saved, replacing
from interloq.data.text.texts import UnseenTexts
from interloq.data.text.token_texts import Texts
from interloq.errors import InputError, count
from interloq.records import Pair
from interloq.signature import fingerprint

Part = Literal["train", "dev"]
Numbers = NDArray[np.int64]
BATCH = 10_000  # pairs tokenised at a time
TOKENS, STARTS, LENGTHS, PAIRS, FACTS = "tokens.i32", "starts.npy", "lengths.npy", "pairs.npy", "pairs.json"
LEAST = 2  # utterances per part: with only one, there is no other utterance's reply


class TextTokenizer(Protocol):
    """Turns texts into token ids: `Pieces`, `Subwords`."""

    def texts(self, texts: Sequence[str]) -> Texts:
        """Return texts as token ids."""


class SplitPairs:
    """Rows of two text numbers, utterance and response; the first `dev` rows are the dev part."""

    __slots__ = ()
    pairs: NDArray[np.int32]
    dev: int
    blank: int  # pairs omitted because one side has no text

    @staticmethod
    def written(folder: Path) -> bool:
        """Return whether a folder is complete: the facts are written last."""
        return (folder / FACTS).exists()

    def rows(self, part: Part) -> NDArray[np.int32]:
        """Return pairs of a part."""
        return self.pairs[: self.dev] if part == "dev" else self.pairs[self.dev :]

    @property
    def counts(self) -> dict[str, int]:
        """Number of pairs of each part, and of pairs omitted because a text is blank."""
        return {"train": len(self.rows("train")), "dev": self.dev, "blank": self.blank}

    @property
    def summary(self) -> str:
        """The counts in words."""
        blank = f" ({self.blank:,} without text omitted)" if self.blank else ""
        return f"{count(len(self.rows('train')), 'pair')} for training, {self.dev:,} for dev{blank}"


@dataclass(frozen=True, slots=True)
class PairTokens(SplitPairs):
    """Pairs with the tokens of their texts."""

    tokens: NDArray[np.int32]
    starts: Numbers
    lengths: NDArray[np.int32]
    pairs: NDArray[np.int32]
    dev: int
    blank: int  # pairs omitted because one side has no text

    @classmethod
    def load(cls, folder: Path) -> PairTokens:
        """Load the pair tokens in a folder."""
        with reading_saved(folder):
            arrays = (np.load(folder / name, mmap_mode="r", allow_pickle=False) for name in (STARTS, LENGTHS, PAIRS))
            starts, lengths, pairs = map(np.asarray, arrays)  # plain views: indexing a memmap is slow
            tokens = np.asarray(np.memmap(folder / TOKENS, dtype=np.int32, mode="r"))
            return cls(tokens, starts, lengths, pairs, **read_json(folder / FACTS))

    def texts(self, which: NDArray[np.integer]) -> tuple[NDArray[np.int32], Numbers]:
        """Return concatenated tokens of the chosen texts, and the texts' lengths."""
        lengths = self.lengths[which].astype(np.int64)
        ends = np.cumsum(lengths)
        places = np.arange(ends[-1] if len(ends) else 0) + np.repeat(self.starts[which] - ends + lengths, lengths)
        return self.tokens[places], lengths


class NumberedPairs:
    """Pairs read in batches: yields each distinct text once, and turns the pairs into rows of text numbers."""

    def __init__(self) -> None:
        self.blank = 0  # pairs omitted because one side has no text
        self._seen, self._hashes, self._both = UnseenTexts(), [_hashes([])], [_hashes([])]

    def new_texts(self, pairs: Iterable[Pair], size: int, step: Callable[[int], None]) -> Iterator[list[str]]:
        """Yield, for each batch of `size` pairs, the texts that no earlier batch had."""
        for batch in batched(pairs, size):
            texts = []
            for pair in batch:
                if pair.utterance.strip() and pair.response.strip():
                    texts += [pair.utterance, pair.response]
            self.blank += len(batch) - len(texts) // 2
            new = self._seen.new(texts)
            yield new
            self._hashes.append(_hashes(new))
            self._both.append(_hashes(texts))
            step(len(batch))

    def number_pairs(self) -> tuple[Numbers, NDArray[np.int32]]:
        """Return the order of the texts by their hashes, and the pairs as positions in this order, sorted."""
        hashes = np.concatenate(self._hashes)
        order = np.argsort(hashes)
        pairs = np.searchsorted(hashes, np.concatenate(self._both).reshape(-1, 2), sorter=order).astype(np.int32)
        return order, pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]


def write_pair_tokens(
    pairs: Iterable[Pair],
    folder: Path,
    pieces: TextTokenizer,
    *,
    dev: int,
    step: Callable[[int], None] = lambda _: None,
) -> PairTokens:
    """Tokenise a stream of pairs; `dev` of them, but at most a tenth, form the dev part."""
    folder.mkdir(parents=True, exist_ok=True)
    read, parts = NumberedPairs(), [np.zeros(0, dtype=np.int32)]
    with (folder / TOKENS).open("wb") as file:
        for new in read.new_texts(pairs, BATCH, step):
            tokenised = pieces.texts(new)
            tokenised.tokens.tofile(file)
            parts.append(tokenised.lengths.astype(np.int32))
    order, numbered = read.number_pairs()
    lengths = np.concatenate(parts)
    starts = np.cumsum(lengths, dtype=np.int64) - lengths
    return save_pairs(folder, starts[order], lengths[order], numbered, dev=dev, blank=read.blank)


def save_pairs(
    folder: Path, starts: Numbers, lengths: NDArray[np.int32], pairs: NDArray[np.int32], *, dev: int, blank: int
) -> PairTokens:
    """Save everything but the tokens, which are already in the folder. The file that marks it complete comes last."""
    facts = {"dev": split(pairs, dev), "blank": blank}
    for name, array in ((STARTS, starts), (LENGTHS, lengths), (PAIRS, pairs)):
        np.save(folder / name, array, allow_pickle=False)
    with replacing(folder / FACTS) as file:
        file.write(orjson.dumps(facts))
    return PairTokens.load(folder)


def split(pairs: NDArray[np.int32], dev: int) -> int:
    """Return how many sorted pairs are for dev: about `dev`, at most about a tenth, without splitting an utterance."""
    utterances, starts = np.unique(pairs[:, 0], return_index=True)
    if len(utterances) < 2 * LEAST:
        raise InputError(
            f"the pairs have only {count(len(utterances), 'different utterance')}",
            hint=f"use pairs with {2 * LEAST} or more",
        )
    wanted = max(1, min(dev, len(pairs) // 10))
    n = int(np.searchsorted(starts, wanted))  # utterances
    return int(starts[min(max(n, LEAST), len(utterances) - LEAST)])


def _hashes(texts: Sequence[str]) -> NDArray[np.uint64]:
    """Return a 64-bit hash of each text."""
    return np.array([int(fingerprint(text), 16) for text in texts], dtype=np.uint64)
