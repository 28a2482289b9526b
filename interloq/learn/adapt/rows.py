# SPDX-License-Identifier: Apache-2.0
"""Pairs as rows of token ids for self-supervised training, and the masks for an encoder.

A row is `[CLS] utterance [SEP] response [SEP]` for an encoder and `utterance <eos> response <eos>` for a language
model, preceded by <bos> if that is a separate token.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from interloq.learn.draws import mixed
from interloq.learn.pair_tokens import Numbers, PairTokens
from interloq.models.token_predictor import SpecialTokens

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
CHUNK = 2**24  # tokens processed at a time
PLACES = 2**14  # more than a row has, so that every position of every example has its own number
REPLACED, RANDOM = 0.8, 0.9  # draws below the first become [MASK], below the second a random token; others stay


@dataclass(frozen=True, slots=True)
class Rows:
    """Padded rows: ids and token types [rows, tokens]; padding begins at `lengths`."""

    ids: Ints
    kinds: Ints
    lengths: Ints

    @property
    def inside(self) -> Flags:
        """True for tokens, False for padding."""
        return np.arange(self.ids.shape[1]) < self.lengths[:, None]


def pair_rows(pairs: PairTokens, chosen: NDArray[np.integer], special_tokens: SpecialTokens) -> Rows:
    """Return the chosen pairs (two text numbers each), one per row."""
    utterances, first = pairs.texts(chosen[:, 0])
    responses, second = pairs.texts(chosen[:, 1])
    begin = special_tokens.extra - 2
    middle, lengths = begin + first, special_tokens.extra + first + second
    rows, columns = np.arange(len(chosen)), np.arange(int(lengths.max(initial=0)))
    ids = np.full((len(chosen), len(columns)), special_tokens.pad, dtype=np.int64)
    ids[(columns >= begin) & (columns < middle[:, None])] = utterances
    ids[(columns > middle[:, None]) & (columns < lengths[:, None] - 1)] = responses
    ids[rows, middle] = ids[rows, lengths - 1] = special_tokens.end
    if special_tokens.start is not None:
        ids[:, 0] = special_tokens.start
    kinds = (columns > middle[:, None]) & (columns < lengths[:, None])
    return Rows(ids, kinds.astype(np.int64), lengths)


def masked(
    rows: Rows, examples: Numbers, special_tokens: SpecialTokens, *, share: float, seed: int
) -> tuple[Ints, Flags]:
    """Masked ids, and the positions to predict. Both depend only on the seed and the examples' numbers.

    Of a row's n tokens that are not special, max(1, round(share · n)) are chosen. 80 % of them become [MASK], 10 % a
    random token, and 10 % stay unchanged (Devlin et al., 2019).
    """
    known = rows.inside & ~np.isin(rows.ids, special_tokens.special)
    places = examples[:, None] * PLACES + np.arange(rows.ids.shape[1])
    rank = np.argsort(np.argsort(np.where(known, mixed(places, seed, 0) >> np.uint64(1), 2**63), axis=1), axis=1)
    chosen = known & (rank < wanted(known.sum(axis=1), share)[:, None])
    action = mixed(places, seed, 1) / 2.0**64
    drawable = _drawable(special_tokens)
    drawn = drawable[(mixed(places, seed, 2) % np.uint64(len(drawable))).astype(np.int64)]
    seen = np.where(action < REPLACED, special_tokens.mask, np.where(action < RANDOM, drawn, rows.ids))
    return np.where(chosen, seen, rows.ids), chosen


@lru_cache(maxsize=8)
def _drawable(special_tokens: SpecialTokens) -> Ints:
    """Return all tokens but special ones; the same for every batch."""
    return np.setdiff1d(np.arange(special_tokens.size), special_tokens.special)


def wanted(known: Ints, share: float) -> Ints:
    """How many of a row's tokens are chosen; 0 if it has none."""
    return np.asarray(np.minimum(known, np.maximum(1, np.rint(share * known))), dtype=np.int64)


def known_tokens(pairs: PairTokens, special: tuple[int, ...]) -> Ints:
    """Return the number of non-special tokens of each text ([UNK] is special)."""
    places_of_special = [np.zeros(0, dtype=np.int64)]
    for start in range(0, len(pairs.tokens), CHUNK):
        is_special = np.isin(pairs.tokens[start : start + CHUNK], special)
        places_of_special.append(start + np.flatnonzero(is_special))
    places = np.concatenate(places_of_special)
    ends = pairs.starts + pairs.lengths
    return np.asarray(pairs.lengths - (np.searchsorted(places, ends) - np.searchsorted(places, pairs.starts)))
