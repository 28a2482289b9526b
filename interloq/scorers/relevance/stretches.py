# SPDX-License-Identifier: Apache-2.0
"""Token ids of replies and contexts, cut from stored exchanges."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from interloq.data.text.token_texts import spans
from interloq.scorers.relevance.examples import NONE, Exchanges, Ints


class Stretches:
    """Concatenated token ids of texts, and the texts' lengths."""

    def __init__(self, tokens: NDArray[Any], lengths: Ints) -> None:
        self.tokens, self.lengths = tokens, lengths
        self.starts = np.cumsum(lengths) - lengths

    def __getitem__(self, i: int) -> NDArray[Any]:
        return self.tokens[self.starts[i] : self.starts[i] + self.lengths[i]]

    def replace_texts(self, others: dict[int, NDArray[Any]]) -> Stretches:
        """Return a copy with some texts replaced."""
        if not others:
            return self
        lengths = self.lengths.copy()
        lengths[list(others)] = [len(other) for other in others.values()]
        made = Stretches(np.zeros(lengths.sum(), dtype=self.tokens.dtype), lengths)
        same = np.ones(len(lengths), dtype=bool)
        same[list(others)] = False
        made.tokens[spans(made.starts[same], lengths[same])] = self.tokens[spans(self.starts[same], lengths[same])]
        for i, other in others.items():
            made.tokens[made.starts[i] : made.starts[i] + len(other)] = other
        return made


def join_contexts(stored: Exchanges, exchanges: Ints, end: int, most: int) -> Stretches:
    """Return the turns before each reply with `end` between them, truncated at the front."""
    turns = stored.contexts[exchanges]
    which = turns[turns != NONE]
    lengths = stored.lengths[which].astype(np.int64)
    tokens = np.full(int((lengths + 1).sum()), end, dtype=np.int64)
    places = spans(np.cumsum(lengths + 1) - lengths - 1, lengths)
    tokens[places] = stored.tokens[spans(stored.texts.ends[which], lengths)]
    whole = context_lengths(stored, turns)
    kept = np.minimum(whole, most)
    return Stretches(tokens[spans(np.cumsum(whole + 1) - 1 - kept, kept)], kept)


def context_lengths(stored: Exchanges, turns: NDArray[np.int32]) -> Ints:
    """Return the tokens of the turns, with one separator between two turns."""
    return np.asarray(np.where(turns == NONE, 0, stored.lengths[turns].astype(np.int64) + 1).sum(axis=1) - 1)
