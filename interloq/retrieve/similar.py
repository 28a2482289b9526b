# SPDX-License-Identifier: Apache-2.0
"""Similar texts for many queries at once: BM25 over token numbers, where each query searches only a part of the texts.

Good but wrong replies are found at ranks 5 to 50 of a whole log. The first ranks in a twentieth of the log are about as
good, and take a twentieth of the time. Tokens in more than one per cent of the texts cost most and help least, so
queries omit them.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from interloq.data.text.token_texts import Texts
from interloq.retrieve.folder.postings import Postings, PostingSegment, rank, search
from interloq.retrieve.retriever import NOTHING, Words

Ints = NDArray[np.int64]
PART = 20_000  # texts searched per query
SKIPPED = 4  # first ranks of a whole log, which may be right replies
COMMON = 0.01
K1, B = 1.2, 0.75


def near(documents: Texts, queries: Texts, count: int) -> Ints:
    """Return the positions of `count` documents for each query, best first, padded with NOTHING."""
    n = len(documents.ends) - 1
    parts = max(1, round(n / PART))
    near_places = np.full((len(queries.ends) - 1, count), NOTHING, dtype=np.int64)
    skipped = SKIPPED // parts
    for part in range(parts):
        inside, asked = np.arange(part, n, parts), np.arange((part + 1) % parts, len(near_places), parts)
        if len(asked):
            places = _search_documents(documents.take(inside), queries.take(asked), count + skipped)[:, skipped:]
            near_places[asked, : places.shape[1]] = np.where(places == NOTHING, NOTHING, inside[places])
    return near_places


def _search_documents(documents: Texts, queries: Texts, count: int) -> Ints:
    counted = _words(documents)
    terms, counts = np.unique(counted.terms, return_counts=True)
    frequent = np.asarray(terms[counts > max(10, COMMON * len(counted))])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        Postings.of(counted).save(folder)
        ranking = rank([folder], k1=K1, b=B)
        ids, scores = search([PostingSegment(folder, ranking)], _words(queries, without=frequent), ranking, count)
    order = np.argsort(-scores, axis=1, kind="stable")
    return np.take_along_axis(ids, order, axis=1)


def _words(texts: Texts, without: NDArray[np.uint64] | None = None) -> Words:
    owner = np.repeat(np.arange(len(texts.ends) - 1), texts.lengths)
    size = int(texts.tokens.max(initial=0)) + 1
    keys, counts = np.unique(owner * size + texts.tokens, return_counts=True)
    owner, terms = np.divmod(keys, size)
    if without is not None:
        kept = ~np.isin(terms.astype(np.uint64), without)
        owner, terms, counts = owner[kept], terms[kept], counts[kept]
    ends = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=len(texts.ends) - 1))])
    return Words(terms.astype(np.uint64), counts.astype(np.int32), ends)
