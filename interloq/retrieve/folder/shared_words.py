# SPDX-License-Identifier: Apache-2.0
"""Exact search by Jaccard similarity over the postings of an index.

The postings of a query's words give the number of words that each text shares with it; with the number of distinct
words of query and text, this is the similarity. Texts hold each word once.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numba
import numpy as np

from interloq.models.numba_threads import start_threads
from interloq.retrieve.folder.folder_files import make_damage_error
from interloq.retrieve.folder.postings import Postings, keep_best
from interloq.retrieve.retriever import NOTHING, Floats, Ids, Words


@dataclass(frozen=True, slots=True)
class WordSegment:
    """The postings of one segment, memory-mapped."""

    folder: Path
    postings: Postings


def search(segments: list[WordSegment], queries: Words, k: int) -> tuple[Ids, Floats]:
    """Return the k most similar texts of each segment, as columns side by side."""
    start_threads()
    ids, scores, first = [], [], 0
    for segment in segments:
        postings = segment.postings
        n = len(postings.lengths)
        starts, stops = postings.find(queries.terms)
        part_ids, part_scores, sound = _top(postings.texts, postings.lengths, starts, stops, queries.ends, min(k, n))
        if not sound.all():
            raise make_damage_error(segment.folder / "texts.npy", f"it names texts that do not exist: there are {n:,}")
        ids.append(np.where(part_ids == NOTHING, NOTHING, part_ids + first))
        scores.append(part_scores)
        first += n
    return np.concatenate(ids, axis=1), np.concatenate(scores, axis=1)


@numba.njit(parallel=True, cache=True)
def _top(texts, lengths, starts, stops, ends, k):  # type: ignore[no-untyped-def]
    """Count shared words, turn the counts into similarities, then keep the k best."""
    n_queries, n_texts = len(ends) - 1, len(lengths)
    best_ids = np.full((n_queries, k), -1, dtype=np.int64)
    best_scores = np.full((n_queries, k), -np.inf, dtype=np.float32)
    sound = np.ones(n_queries, dtype=np.bool_)
    for query in numba.prange(n_queries):
        scores = np.zeros(n_texts, dtype=np.float32)
        size = ends[query + 1] - ends[query]
        for term in range(ends[query], ends[query + 1]):
            for text in texts[starts[term] : stops[term]]:
                if text >= n_texts:
                    sound[query] = False
                    break
                scores[text] += np.float32(1)
        for text in range(n_texts):
            shared = scores[text]
            if shared > 0:
                scores[text] = shared / (np.float32(size + lengths[text]) - shared)
        keep_best(scores, best_ids[query], best_scores[query])
    return best_ids, best_scores, sound
