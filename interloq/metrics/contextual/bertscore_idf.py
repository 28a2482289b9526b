# SPDX-License-Identifier: Apache-2.0
"""Weights of tokens in BERTScore: uniform, or idf over references."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interloq.data.text.token_texts import Texts
from interloq.signature import fingerprint

Floats = NDArray[np.float64]
FEW = 8192  # texts tokenised at a time


@dataclass(frozen=True, eq=False)
class Idf:
    """Weights log((N + 1) / (df + 1)) of tokens; df of the N references contain the token."""

    source: str
    references: int
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, references: Iterable[str], encoder: Any) -> Idf:
        """Number of references that contain each token."""
        often = Counter(text.strip() for text in references)
        counts = np.zeros(encoder.vocabulary, dtype=np.int64)
        distinct = list(often)
        for start in range(0, len(distinct), FEW):
            texts = distinct[start : start + FEW]
            numbered = encoder.numbered(texts)
            owners = np.repeat(np.arange(len(texts)), numbered.lengths)
            held = np.unique(owners * encoder.vocabulary + numbered.tokens)  # a token counts once per text
            times = np.array([often[text] for text in texts])
            np.add.at(counts, held % encoder.vocabulary, times[held // encoder.vocabulary])
        return cls(fingerprint(*sorted(often.elements())), often.total(), counts)

    @cached_property
    def everywhere(self) -> NDArray[np.bool_]:
        """Tokens that are in every reference: their weight is 0."""
        return np.asarray((self.counts == self.references) & (self.counts > 0))

    def weightless(self, texts: Sequence[str], encoder: Any) -> list[bool]:
        """Texts whose tokens all have weight 0: by idf they are similar to nothing, not even to themselves."""
        own = np.ones(encoder.vocabulary, dtype=bool)
        own[encoder.special] = False
        if not (self.everywhere & own).any():
            return [False] * len(texts)
        numbered = encoder.numbered(texts)
        tokens = (numbered.tokens[a:b] for a, b in pairwise(numbered.ends))
        return [bool(own[t].any() and self.everywhere[t[own[t]]].all()) for t in tokens]

    def weights(self) -> Floats:
        """log((N + 1) / (df + 1)) of each token."""
        return np.asarray(np.log((self.references + 1) / (self.counts + 1)))


def token_shares(texts: Sequence[str], numbered: Texts, encoder: Any, idf: Idf | None) -> tuple[Floats, Any]:
    """Share of each token in its text (0 for special tokens), and which texts have only special tokens.

    Shares add up to 1, or to 0 if every token of a text is in every reference.
    """
    own = np.ones(encoder.vocabulary)
    own[encoder.special] = 0.0
    weights = (own if idf is None else own * idf.weights())[numbered.tokens]
    owners = np.repeat(np.arange(len(texts)), numbered.lengths)
    totals = np.bincount(owners, weights, minlength=len(texts))
    counted = np.bincount(owners, own[numbered.tokens], minlength=len(texts))
    empty = (counted == 0) | ~np.fromiter((bool(text.strip()) for text in texts), dtype=bool, count=len(texts))
    return weights / np.where(totals > 0, totals, 1.0)[owners], empty
