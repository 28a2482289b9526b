# SPDX-License-Identifier: Apache-2.0
"""Options of `interloq index` and `interloq extend`; they import nothing that computes, so that the help is fast."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from interloq.options import REQUIRED, Options, option


@dataclass(frozen=True, slots=True, kw_only=True)
class AddPairsOptions(Options):
    """How pairs are added to an index: how many at a time, and which are excluded."""

    segment: int | None = option(None, "pairs stored at a time; an interruption loses at most these", least=1)
    without: Sequence[str | Path] = option((), "exclude pairs that overlap these samples", path=True, metavar="SAMPLES")


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexOptions(AddPairsOptions):
    """How an index compares texts and is searched."""

    retriever: str = option(REQUIRED, "bm25, tfidf, jaccard, dense(vectors='FOLDER'), …", metavar="SPEC")
    expected: int = option(0, "number of pairs the index will finally have", shown="")
    exact_up_to: int | None = option(
        None, "search is exact up to this number of pairs (default for a folder: 200000)", shown=""
    )
    recall: float = option(0.95, "target recall@15 of approximate search", metavar="R")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtendOptions(Options):
    """Which replies are added to samples; see `retrieve.extend.extend`."""

    index: str | Path = option(REQUIRED, "the index to search (see: interloq index)", path=True, metavar="INDEX")
    k: int = option(15, "replies to retrieve", flag="-k", least=1)
    turns: int = option(1, "last turns of the context to search for", least=1)
    parrot: bool = option(True, "do not add the utterance itself", flag="--no-parrot")
    gold: bool = option(True, "drop the references that came with the samples", flag="--no-gold")
    diversity: float = option(
        0.0, "0 (default): the nearest replies; up to 1: more diverse ones", metavar="D", shown="", least=0, most=1
    )
    near: float = option(
        0.0,
        "drop replies this similar to a gold reply",
        flag="--near-duplicates",
        metavar="J",
        shown="",
        least=0,
        most=1,
    )
    exclude: str | Path | None = option(
        None, "ids of pairs, posts or threads to exclude, one per line", path=True, metavar="FILE"
    )
    own: bool = option(True, "drop references that are identical to the reply being judged", flag="--drop-own-replies")
