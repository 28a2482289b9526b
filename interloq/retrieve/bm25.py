# SPDX-License-Identifier: Apache-2.0
"""BM25 (Robertson et al., 1995) over utterances, or over utterances and responses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Annotated, Any

import numpy as np

from interloq.data.text.token_texts import TokenNumbering
from interloq.data.text.tokenize import TokenizerChoice
from interloq.errors import SpecError
from interloq.registry import component
from interloq.retrieve.retriever import Retriever, Target, Words


@dataclass(frozen=True)
class Bm25(Retriever, name="bm25"):
    """Retrieval by shared words."""

    target: Annotated[Target, "what is compared with the query: the utterances of pairs, or utterance and response"] = (
        "utterance"
    )
    k1: Annotated[float, "how soon further occurrences of a word stop mattering"] = 1.2
    b: Annotated[float, "how much long texts are discounted, 0 to 1"] = 0.75
    alpha: Annotated[float, "for `target='both'`: sim_u · (alpha · sim_r + (1 − alpha) · epsilon)"] = 0.5
    epsilon: Annotated[float, "for `target='both'`: see `alpha`"] = 0.1
    tokenizer: TokenizerChoice = component("tokenizer", "13a(lowercase=True)")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.k1 < 0 or not 0 <= self.b <= 1:
            raise SpecError(f"bm25: k1 must be at least 0 and b from 0 to 1, got k1={self.k1}, b={self.b}")

    def encode(self, texts: Sequence[str]) -> Words:
        return count_words(texts, self.tokenizer)

    def built_with(self) -> str:
        return self.tokenizer.signature()


def term(token: str) -> int:
    """Return the hash of a word, the same on every machine."""
    return int.from_bytes(blake2b(token.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def count_words(texts: Sequence[str], tokenizer: Any) -> Words:
    """Return the counted words of each text."""
    numbering = TokenNumbering(tokenizer)
    numbered = numbering.texts(texts)
    hashes = np.array([term(token) for token in numbering.vocabulary()], dtype=np.uint64)
    owner = np.repeat(np.arange(len(texts), dtype=np.int64), numbered.lengths)
    keys, counts = np.unique(owner * max(len(hashes), 1) + numbered.tokens, return_counts=True)
    owner, token = np.divmod(keys, max(len(hashes), 1))
    ends = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=len(texts)))])
    return Words(hashes[token], counts.astype(np.int32), ends)
