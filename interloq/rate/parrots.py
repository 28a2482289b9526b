# SPDX-License-Identifier: Apache-2.0
"""Negative examples whose wrong reply repeats the utterance.

The other negatives are replies to other utterances, so a rater may learn that a reply fits if it has the utterance's
words, and then nothing fits better than the utterance itself. In some negatives (U1, R1, U2, R2) a copy of U1 therefore
replaces R2; ⟨U1, R1, copy of U1⟩ is then a wrong triplet. Half of the copies lack a run of tokens. If U1 is several
turns, half of the copies are of the last turn and half of an earlier one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from interloq.errors import InputError
from interloq.options import option
from interloq.rate.examples import KeyedPairs, Numbers, Side
from interloq.registry import Component, full_spec

Tokens = NDArray[np.integer]


@dataclass(frozen=True)
class Parrots(Component):
    """Setting of how many negatives repeat the utterance. 0, as published, draws the examples of earlier versions."""

    parrots: float = option(
        0.0, "share of the negatives whose wrong reply repeats the utterance, or most of it; 0: as in the papers"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.parrots < 1:
            raise InputError(f"parrots must be at least 0 and below 1, got {self.parrots}")

    @property
    def parts(self) -> dict[str, str]:
        """What names of jobs and folders of examples contain: nothing if there are no parrots."""
        if not self.parrots:
            return {}
        return {"parrots": full_spec(self)}


def choose_parrots(log: KeyedPairs, drawn: Side, share: float, rng: np.random.Generator) -> Numbers:
    """Return which examples become parrots: this share of the negatives.

    An utterance that people answered with itself, such as "hello", is not copied.
    """
    negatives = np.flatnonzero(drawn.labels == 0)
    answered_with_itself = log.utterances[log.utterances == log.replies]
    copied = log.utterances[drawn.rows[negatives, 0]]
    usable = negatives[~np.isin(copied, answered_with_itself)]
    return np.sort(rng.permutation(usable)[: round(share * len(negatives))])


def copy_utterance(tokens: Tokens, rng: np.random.Generator, between: int | None = None) -> Tokens:
    """Return the tokens of a copy; `between` is the token between turns, if an utterance may be several turns."""
    turn = tokens
    if between is not None:
        turns = np.split(tokens, np.flatnonzero(tokens == between))
        chosen = len(turns) - 1
        if chosen and rng.random() < 0.5:
            chosen = int(rng.integers(chosen))
        turn = turns[chosen][turns[chosen] != between]
    if len(turn) > 2 and rng.random() < 0.5:
        length = int(rng.integers(1, len(turn) // 3 + 1))
        start = int(rng.integers(len(turn) - length + 1))
        turn = np.delete(turn, slice(start, start + length))
    return turn
