# SPDX-License-Identifier: Apache-2.0
"""Jaccard similarity of the words of two utterances, by which REAM# (Gao et al., 2021) retrieves candidates.

sim(q, d) = |words of both| / |words of either|, over distinct words (`leaks.words`): case-folded, without punctuation,
and each kana or Han character is a word. Gao et al. do not say how they split texts.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from interloq.retrieve.bm25 import term
from interloq.retrieve.leaks import words
from interloq.retrieve.retriever import Retriever, Words


@dataclass(frozen=True)
class Jaccard(Retriever, name="jaccard"):
    """Retrieval by the share of common words."""

    ranking = "jaccard"

    def encode(self, texts: Sequence[str]) -> Words:
        hashes: dict[str, int] = {}
        terms: list[int] = []
        ends = [0]
        for text in texts:
            for word in words(text):
                if word not in hashes:
                    hashes[word] = term(word)
                terms.append(hashes[word])
            ends.append(len(terms))
        return Words(np.array(terms, dtype=np.uint64), np.ones(len(terms), dtype=np.int32), np.array(ends))

    def built_with(self) -> str:
        return f"words-unicode-{unicodedata.unidata_version}"
