# SPDX-License-Identifier: Apache-2.0
"""TF-IDF (Salton & Buckley, 1988): the cosine of texts as vectors of weighted words.

v(d)_w = tf(w, d) · idf(w),  idf(w) = 1 + log((1 + N) / (1 + df(w))),  score(q, d) = v(q) · v(d) / (|v(q)| |v(d)|)

with N texts, of which df(w) contain w. This is scikit-learn's smoothed idf. The bot `retrieval` on such an index is the
C-TFIDF of retrieval dialogue systems. Only folders rank by it (`folder/postings.py`), not servers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from interloq.data.text.tokenize import TokenizerChoice
from interloq.registry import component
from interloq.retrieve.bm25 import count_words
from interloq.retrieve.retriever import Retriever, Target, Words


@dataclass(frozen=True)
class TfIdf(Retriever, name="tfidf"):
    """Retrieval by the cosine of TF-IDF vectors."""

    ranking = "cosine"
    target: Annotated[Target, "what is compared with the query: the utterances of pairs, or utterance and response"] = (
        "utterance"
    )
    alpha: Annotated[float, "for `target='both'`: sim_u · (alpha · sim_r + (1 − alpha) · epsilon)"] = 0.5
    epsilon: Annotated[float, "for `target='both'`: see `alpha`"] = 0.1
    tokenizer: TokenizerChoice = component("tokenizer", "13a(lowercase=True)")

    def encode(self, texts: Sequence[str]) -> Words:
        return count_words(texts, self.tokenizer)

    def built_with(self) -> str:
        return self.tokenizer.signature()
