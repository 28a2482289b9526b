# SPDX-License-Identifier: Apache-2.0
"""Draw the NN-rater's training examples from a log, using only 64-bit keys of texts.

A positive is two different replies to one utterance; a negative is two pairs of one log with different utterances and
different replies. Everything is drawn from pairs in the order of their keys, so their order in a log does not matter.

Each log has as many negatives as positives, and no negative combines two logs: logs differ in style, and a network
would learn to tell styles apart instead of replies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from interloq.errors import InputError, count
from interloq.options import limited, option
from interloq.registry import Component, full_spec

Keys = NDArray[np.uint64]
Numbers = NDArray[np.int64]
Places = NDArray[np.int32]  # indices of pairs in a log
LARGEST = 1000  # replies: half a million pairs for one utterance
SLICE = 2**22  # candidate positives of capped utterances in memory at a time
ROUNDS = 64  # rounds to replace invalid negatives; logs large enough to train on need three or four
FEWEST = 64  # negatives drawn per round
MIX = np.uint64(0x9E3779B97F4A7C15)  # odd: the key of utterance and reply depends on which is which
LEAST = 4  # utterances with two replies: two per part, because a negative needs two


@dataclass(frozen=True)
class Examples(Component):
    """Settings of how examples are drawn from a log.

    By default an utterance keeps up to 10 replies and all 45 pairs of them: most have fewer, and a greeting with a
    million replies weighs no more than 45 utterances with two replies. `negatives="any"` draws from all pairs, as
    published; then utterances with only one reply occur only in negatives, which a network may learn instead of the
    replies. `"matched"` draws from the pairs of positives, as often as they occur there.
    """

    most_replies: int = option(10, "maximum replies used per utterance", least=2, most=LARGEST)
    most_positives: int = option(45, "maximum pairs of replies used per utterance", least=1)
    dev_share: float = option(0.02, "share of utterances in the dev part")
    negatives: Literal["any", "matched"] = option("any", "draw negatives from any pair, or from those of positives")
    seed: int = limited(0, least=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.dev_share <= 0.5:
            raise InputError(f"dev_share must be above 0 and at most .5, got {self.dev_share}")


@dataclass(frozen=True)
class ExampleLimits(Component):
    """How many examples each part has at most, drawn at random; half of them are positive."""

    train_examples: int = option(0, "examples to train on, drawn at random; 0: all that the logs give", least=0)
    dev_examples: int = option(0, "examples in the dev part, drawn at random; 0: all", least=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("train_examples", "dev_examples"):
            if getattr(self, name) == 1:
                raise InputError(f"{name} must be 0 (all) or at least 2, a positive and a negative one, got 1")

    @property
    def parts(self) -> dict[str, str]:
        """What names of jobs and folders of examples contain: nothing if there are no limits."""
        if not (self.train_examples or self.dev_examples):
            return {}
        return {"limits": full_spec(self)}


@dataclass(frozen=True, slots=True)
class KeyedPairs:
    """Distinct pairs of logs as keys of their texts, sorted by utterance, then reply; `origins` are numbers of logs."""

    utterances: Keys
    replies: Keys
    origins: NDArray[np.uint16]

    @classmethod
    def of(cls, utterances: Keys, replies: Keys, origins: NDArray[np.uint16]) -> KeyedPairs:
        """Sort and deduplicate pairs; a pair in several logs is assigned to the first of them."""
        order = np.lexsort((origins, replies, utterances))
        log = cls(utterances[order], replies[order], origins[order])
        return log.only(changes(log.utterances) | changes(log.replies))

    def only(self, kept: NDArray[np.bool_] | slice) -> KeyedPairs:
        """Return the chosen pairs."""
        return KeyedPairs(self.utterances[kept], self.replies[kept], self.origins[kept])

    def groups(self) -> tuple[Numbers, Numbers]:
        """Return the start and the number of each utterance's pairs."""
        starts = np.flatnonzero(changes(self.utterances))
        return starts, np.diff(starts, append=len(self.utterances))

    def cap_replies(self, most: int, rng: np.random.Generator) -> KeyedPairs:
        """Return at most `most` replies per utterance, chosen at random."""
        sizes = self.groups()[1]
        crowded = np.flatnonzero(np.repeat(sizes > most, sizes))
        order = crowded[np.lexsort((rng.random(len(crowded)), self.utterances[crowded]))]
        sizes = sizes[sizes > most]
        rank = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        kept = np.ones(len(self.utterances), dtype=bool)
        kept[order[rank >= most]] = False
        return self.only(kept)

    def boundary(self, share: float) -> np.uint64:
        """Return the key below which utterances are the dev part: about this share.

        Each part has at least two utterances with two replies. Keys are hashes, so an utterance is in the same part
        whatever the logs, unless the logs are tiny.
        """
        starts, sizes = self.groups()
        twice = self.utterances[starts[sizes >= 2]]
        if len(twice) < LEAST:
            raise InputError(
                f"{len(twice)} of {count(len(starts), 'utterance')} have two different replies; the rater needs at "
                f"least {LEAST} such utterances",
                hint="use logs in which several people answer one post, such as the groups of `interloq corpus build`",
            )
        return min(max(np.uint64(int(share * 2**64)), twice[1] + np.uint64(1)), twice[-2])


@dataclass(frozen=True, slots=True)
class Side:
    """Examples of one part: a row is the indices of two pairs in the log; positives are labelled 1, negatives 0."""

    rows: Places
    labels: NDArray[np.int8]
    over_cap: int  # positives above the cap per utterance
    unmatched: int  # positives omitted because no further negative was found
    over_limit: int = 0  # positives above the limit of all examples


def side(log: KeyedPairs, part: slice, settings: Examples, rng: np.random.Generator, *, most: int = 0) -> Side:
    """Draw half positives, half negatives from the pairs at `part`, in random order; at most `most`, if it is given."""
    own = log.only(part)
    starts, sizes = own.groups()
    every_positive = _positives(starts, sizes, settings.most_positives, rng)
    positives = every_positive
    if most and most < 2 * len(positives):
        positives = positives[rng.choice(len(positives), most // 2, replace=False)]
    pool = np.arange(len(own.utterances), dtype=np.int32)
    if settings.negatives == "matched":
        pool = positives.ravel()
    known, every = np.sort(_mix_keys(own.utterances, own.replies)), int(np.sum(sizes * (sizes - 1) // 2))
    good, bad = [positives[:0]], [positives[:0]]
    for origin in np.unique(own.origins[positives[:, 0]]):
        here = positives[own.origins[positives[:, 0]] == origin]
        bad.append(_negatives(own, pool[own.origins[pool] == origin], len(here), known, rng))
        good.append(rng.permutation(here)[: len(bad[-1])])
    bad_rows = np.concatenate(bad)
    rows = np.concatenate([*good, bad_rows])
    unmatched = len(positives) - len(bad_rows)
    order = rng.permutation(len(rows))
    rows, labels = rows[order], (order < len(bad_rows)).astype(np.int8)
    flipped = rng.random(len(rows)) < 0.5  # so that neither of the two pairs is first more often
    rows[flipped] = rows[flipped, ::-1]
    rows += np.int32(part.start)
    over_limit = len(every_positive) - len(positives)
    return Side(rows, labels, every - len(every_positive), unmatched, over_limit)


def _positives(starts: Numbers, sizes: Numbers, most: int, rng: np.random.Generator) -> Places:
    """Return rows of two pairs of one utterance, each combination once, at most `most` per utterance."""
    rows = [np.zeros((0, 2), dtype=np.int32)]
    for size in np.unique(sizes[sizes >= 2]).tolist():
        pairs = np.stack(np.triu_indices(size, 1), axis=1).astype(np.int32)
        starts_of_size, step = starts[sizes == size].astype(np.int32), max(1, SLICE // len(pairs))
        for first in range(0, len(starts_of_size), step):
            some = starts_of_size[first : first + step]
            chosen = np.broadcast_to(pairs, (len(some), *pairs.shape))
            if len(pairs) > most:
                chosen = pairs[np.argsort(rng.random((len(some), len(pairs))), axis=1)[:, :most]]
            rows.append((some[:, None, None] + chosen).reshape(-1, 2))
    return np.concatenate(rows)


def _negatives(log: KeyedPairs, pool: Places, count: int, known: Keys, rng: np.random.Generator) -> Places:
    """Return distinct rows of two pairs from the pool; fewer than `count` if the pool has no more.

    Neither reply is a known reply to the other utterance: many people say "thanks".
    """
    codes = np.zeros(0, dtype=np.int64)  # both positions of a row in one number
    for _ in range(ROUNDS):
        if len(codes) >= count or not len(pool):
            break
        drawn = pool[rng.integers(len(pool), size=(2, max(FEWEST, count - len(codes))))]
        first, second = drawn.min(axis=0), drawn.max(axis=0)
        utterances, replies = (log.utterances[first], log.utterances[second]), (log.replies[first], log.replies[second])
        fine: NDArray[np.bool_] = (utterances[0] != utterances[1]) & (replies[0] != replies[1])
        for utterance, reply in zip(utterances, reversed(replies), strict=True):
            wanted = _mix_keys(utterance, reply)
            fine &= known[np.searchsorted(known, wanted).clip(max=len(known) - 1)] != wanted
        codes = np.unique(np.concatenate([codes, first[fine].astype(np.int64) << 32 | second[fine]]))
    codes = rng.permutation(codes)[:count]
    return np.stack([codes >> 32, codes & (2**32 - 1)], axis=1).astype(np.int32)


def _mix_keys(utterances: Keys, replies: Keys) -> Keys:
    return utterances * MIX + replies


def changes(keys: Keys) -> NDArray[np.bool_]:
    """Return True where a key differs from the previous one."""
    changes = np.ones(len(keys), dtype=bool)
    np.not_equal(keys[1:], keys[:-1], out=changes[1:])
    return changes
