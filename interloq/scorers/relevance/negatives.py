# SPDX-License-Identifier: Apache-2.0
"""Wrong replies for the scorers `relevance` and `valid`: random, similar, and corrupted ("spoiled") true replies.

An exchange's wrong replies depend only on the seed, the epoch and its position.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interloq.errors import InputError
from interloq.models.batches import random_bits
from interloq.models.pretrained import Subwords, load_tokenizer
from interloq.scorers.relevance.examples import NONE, Exchanges, Ints, Part, groups
from interloq.scorers.relevance.settings import EDITS, RelevanceSettings

DRAWS = 16  # attempts to find a reply that does not belong to this utterance
LEAST = 6  # tokens of a reply that is spoiled: "yes , please" is still fine with a word missing
SHORTEST = 4  # the same if all wrong replies are spoiled ones
STREAMS = 64  # random numbers that a slot may use
OTHER, PARROT, *SPOILED = range(len(EDITS))
GROUP, MARK = 1, 2  # flags of tokens: continues a word; is punctuation such as "." or "?"


@dataclass(frozen=True, slots=True)
class WrongReplies:
    """Wrong replies of each exchange of a part: texts [n, slots], and how each is spoiled (0: not at all)."""

    texts: NDArray[np.int32]
    spoiled: NDArray[np.int8]


def draw(stored: Exchanges, part: Part, epoch: int, settings: RelevanceSettings) -> WrongReplies:
    """Draw the wrong replies of one epoch."""
    own = stored.range(part)
    drawing = _Drawing(stored, part, epoch, settings)
    texts = np.zeros((own.stop - own.start, len(settings.slots)), dtype=np.int32)
    spoiled = np.zeros(texts.shape, dtype=np.int8)
    for slot, kind in enumerate(settings.slots):
        drawing.stream = slot * STREAMS
        texts[:, slot], spoiled[:, slot] = getattr(drawing, kind)()
    return WrongReplies(texts, spoiled)


class _Drawing:
    """Draws for the exchanges of one part in one epoch; each kind of wrong reply is a method."""

    def __init__(self, stored: Exchanges, part: Part, epoch: int, settings: RelevanceSettings) -> None:
        own = stored.range(part)
        self.stored, self.settings, self.stream = stored, settings, 0
        self.rows = np.arange(own.start, own.stop)
        self.numbers = np.arange(len(self.rows)) + epoch * len(self.rows)
        starts, sizes = _runs([g for g in groups(stored) if own.start <= g.start < own.stop], own.start)
        alone = sizes == 1  # a log with one exchange on this side: replies are drawn from all logs
        self.logs = np.where(alone, own.start, starts), np.where(alone, len(self.rows), sizes)
        keys = stored.talks[own].astype(np.int64) * 256 + stored.origins[own]
        edges = [0, *(np.flatnonzero(np.diff(keys)) + 1).tolist(), len(keys)]
        ranges = [slice(own.start + a, own.start + b) for a, b in pairwise(edges) if a < b]
        self.talks = _runs(ranges, own.start)

    def random(self) -> tuple[Ints, Ints]:
        return self._elsewhere(np.ones(len(self.rows), dtype=bool), *self.logs), np.zeros(len(self.rows), np.int64)

    def retrieved(self) -> tuple[Ints, Ints]:
        """Return a similar reply, or a random one if none was found."""
        texts, plain = self.random()
        similar = self.stored.similar[self.rows]
        ordered = np.sort(similar, axis=1)[:, ::-1]  # NONE comes last
        chosen = self._one_of(ordered, (similar != NONE).sum(axis=1))
        return np.where(chosen == NONE, texts, chosen), plain

    def adversarial(self) -> tuple[Ints, Ints]:
        """Return a reply from elsewhere in the dialogue, a context turn, a spoiled true reply, or a written reply."""
        stored, rows = self.stored, self.rows
        kinds = self._choose_kinds(self.settings.shares)
        own = stored.replies[rows].astype(np.int64)
        short = stored.lengths[own] < LEAST
        kinds[short & np.isin(kinds, SPOILED)] = PARROT
        others = self._elsewhere(kinds == OTHER, *self.talks)
        kinds[(kinds == OTHER) & (others == NONE)] = PARROT
        contexts = stored.contexts[rows][:, ::-1]
        parrots = self._one_of(contexts, (contexts != NONE).sum(axis=1))
        texts = np.select([kinds == OTHER, kinds == PARROT], [others, parrots], own)
        written = self._draw_written()
        texts = np.where(written == NONE, texts, written)
        spoiled = np.where((written == NONE) & (kinds > PARROT), kinds, 0)
        true = (spoiled == 0) & stored.is_true(rows, texts)  # "hello" answers "hello"
        return np.where(true, self.random()[0], texts), spoiled

    def spoiled(self) -> tuple[Ints, Ints]:
        """Return the true reply, spoiled; if it is too short, a longer reply from anywhere."""
        replies, lengths = self.stored.replies.astype(np.int64), self.stored.lengths
        own = replies[self.rows]
        long = own[lengths[own] >= SHORTEST]
        if not len(long):
            raise InputError(
                f"no reply has {SHORTEST} tokens, and shorter ones cannot be spoiled", hint="use other logs"
            )
        others = long[(self._bits(self.numbers) % np.uint64(len(long))).astype(np.int64)]
        return np.where(lengths[own] < SHORTEST, others, own), SPOILED[0] + self._choose_kinds(self.settings.spoiling)

    def _choose_kinds(self, shares: tuple[float, ...]) -> Ints:
        bounds = np.cumsum(shares) / sum(shares)
        return np.searchsorted(bounds[:-1], self._share(), side="right")

    def _draw_written(self) -> Ints:
        ends = self.stored.wrong_ends.astype(np.int64)
        starts, counts = ends[self.rows], ends[self.rows + 1] - ends[self.rows]
        asked = (counts > 0) & (self._share() < self.settings.written)
        texts = np.full(len(self.rows), NONE, dtype=np.int64)
        places = starts + (self._bits(self.numbers) % np.maximum(counts, 1).astype(np.uint64)).astype(np.int64)
        texts[asked] = self.stored.wrong[places[asked]]
        return texts

    def _elsewhere(self, asked: NDArray[np.bool_], starts: Ints, sizes: Ints) -> Ints:
        """Return replies from other exchanges of a range that this utterance never got; NONE if DRAWS draws find none.

        If the range is an entire log, the last draw is used instead of NONE.
        """
        replies = np.full(len(self.rows), NONE, dtype=np.int64)
        open_ = np.flatnonzero(asked & (sizes > 1))
        for _ in range(DRAWS):
            bits = self._bits(self.numbers[open_]) % sizes[open_].astype(np.uint64)
            texts = self.stored.replies[starts[open_] + bits.astype(np.int64)].astype(np.int64)
            true = self.stored.is_true(self.rows[open_], texts)
            replies[open_] = np.where(true & (starts is not self.logs[0]), NONE, texts)
            open_ = open_[true]
        return replies

    def _one_of(self, texts: NDArray[np.int32], counts: Ints) -> Ints:
        """Return one of the first `counts` texts of each row; NONE if the row has none."""
        columns = (self._bits(self.numbers) % np.maximum(counts, 1).astype(np.uint64)).astype(np.int64)
        return np.where(counts > 0, texts[np.arange(len(texts)), columns], NONE).astype(np.int64)

    def _share(self) -> NDArray[np.float64]:
        return self._bits(self.numbers) / 2.0**64

    def _bits(self, numbers: Ints) -> NDArray[np.uint64]:
        self.stream += 1
        return random_bits(numbers, self.settings.seed, self.stream)


def _runs(ranges: list[slice], first: int) -> tuple[Ints, Ints]:
    """Return the start and length of each exchange's range."""
    bounds = np.array([(each.start, each.stop) for each in ranges], dtype=np.int64).reshape(-1, 2)
    starts, sizes = bounds[:, 0], bounds[:, 1] - bounds[:, 0]
    assert not len(starts) or starts[0] == first  # noqa: S101 - ranges cover a part
    return np.repeat(starts, sizes), np.repeat(sizes, sizes)


# ---- spoiled replies -------------------------------------------------------------------------------------------------


def token_kinds(subwords: Subwords) -> NDArray[np.int8]:
    """Return the GROUP and MARK flags of every token id."""
    tokens = load_tokenizer(subwords.folder).convert_ids_to_tokens(range(subwords.size))
    pieces = [piece or "" for piece in tokens]  # a vocabulary may skip ids
    marked = any(piece.startswith("##") for piece in pieces)
    starts = ("▁", "Ġ")
    led = not marked and any(piece.startswith(starts) for piece in pieces)
    kinds = np.zeros(len(pieces), dtype=np.int8)
    for number, piece in enumerate(pieces):
        continues = led and not piece.startswith(starts)
        if marked:
            continues = piece.startswith("##")
        is_mark = not any(map(str.isalnum, piece))
        kinds[number] = GROUP * (continues and not is_mark) + MARK * is_mark
    return kinds


def spoil(tokens: NDArray[Any], kind: int, kinds: NDArray[np.int8], rng: np.random.Generator) -> NDArray[Any]:
    """Corrupt a reply: shuffle, drop, repeat or cut off words; final punctuation stays."""
    end = 1 if len(tokens) > 1 and kinds[tokens[-1]] & MARK else 0
    body, tail = tokens[: len(tokens) - end], tokens[len(tokens) - end :]
    starts = (np.flatnonzero(kinds[body[1:]] & GROUP == 0) + 1).tolist()
    words = [body[a:b] for a, b in pairwise([0, *starts, len(body)])]  # np.split takes several times as long
    return np.concatenate([*_SPOILERS[EDITS[kind]](words, rng), tail])


def _shuffle(words: list[Any], rng: np.random.Generator) -> list[Any]:
    return [words[i] for i in rng.permutation(len(words))]


def _drop(words: list[Any], rng: np.random.Generator) -> list[Any]:
    """Keep a third to two thirds of the words."""
    kept = max(1, round(len(words) * rng.uniform(1 / 3, 2 / 3)))
    return [words[i] for i in np.sort(rng.choice(len(words), kept, replace=False))]


def _repeat(words: list[Any], rng: np.random.Generator) -> list[Any]:
    """Repeat one to three consecutive words three times."""
    size = min(len(words), int(rng.integers(1, 4)))
    start = int(rng.integers(len(words) - size + 1))
    return [*words[:start], *words[start : start + size] * 3, *words[start + size :]]


def _cut(words: list[Any], rng: np.random.Generator) -> list[Any]:
    return words[: max(1, round(len(words) * rng.uniform(0.25, 0.6)))]


_SPOILERS = {"shuffled": _shuffle, "dropped": _drop, "repeated": _repeat, "cut": _cut}
