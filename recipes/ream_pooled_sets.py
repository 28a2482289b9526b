"""Rated replies of `ream_pooled.py`: DSTC7, Gupta with SCARCE, DailyDialog++, and Reddit rated by the shipped judge.

The last set has no ratings by people. A context with ten or more real replies gets thirty replies of known kinds: four
of the real replies, the same four with their words in random order, ten real replies to the most similar other
contexts, ten to random contexts, and two that fit everywhere. `judge(model='ready')` rates them, without the noise of a
few people, but with its own errors: what is learned there is to predict the judge. The other real replies are
references.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from rated_sets import Floats
from ream_sets import PEOPLE, SCARCE, gupta, plusplus_queries, read_dstc7

from interloq import InputError, Sample, Turn
from interloq.models.encoder import Encoder
from interloq.registry import create
from interloq.reliability.labels import RatedQuery, distinct_texts

DSTC7, GUPTA, PLUSPLUS, REDDIT = "DSTC7", "Gupta", "DailyDialog++", "Reddit"
REAL, SIMILAR, OTHER, SHUFFLED = 4, 10, 10, 4  # replies of each kind to a context of Reddit
GENERIC = ("i don't know what you mean.", "that is a good question.")
LEAST = 10  # real replies to a context of Reddit


@dataclass(frozen=True, slots=True)
class Judged:
    """Queries, and the rating of each reply by each judge, where these are known."""

    queries: Sequence[RatedQuery]
    judges: Sequence[Floats] = ()


def read_set(name: str, data: Path, sentences: str, *, references: int, queries: int) -> Judged:
    """Read a set with at most so many references per query, and so many queries, both drawn at random."""
    if name == DSTC7:
        path = data / "dstc7_part.jsonl.xz"
        if not path.exists():
            raise InputError(f"no {path.name} in {str(data)!r}", hint="put it there, or name another --data")
        return read_judged(path, references)
    people = [replace(one.query, references=(*one.texts[PEOPLE], *one.texts[SCARCE])) for one in gupta(data)]
    if name == GUPTA:
        found = [replace(query, references=distinct_texts(query.references)) for query in people]
    elif name == PLUSPLUS:
        found = plusplus_queries(data, "test", people)
    else:
        found = list(reddit_queries(data / "reddit_multiref.tar.gz", sentences, queries))
    order = np.sort(np.random.default_rng(0).permutation(len(found))[:queries])
    return Judged([draw_references(found[i], references) for i in order])


def read_judged(path: Path, references: int) -> Judged:
    """Read a file in the format of `dstc7_part.jsonl.xz`."""
    queries, judges = [], []
    for query, ratings in read_dstc7(path):
        if query.references:
            queries.append(draw_references(query, references))
            judges.append(ratings)
    return Judged(queries, judges)


def draw_references(query: RatedQuery, most: int) -> RatedQuery:
    """Return the query with a random part of its references, if it has more."""
    rng = np.random.default_rng(int(query.id, 16))
    places = np.sort(rng.permutation(len(query.references))[:most])
    return replace(query, references=tuple(query.references[i] for i in places))


def reddit_queries(path: Path, sentences: str, most: int) -> Iterator[RatedQuery]:
    """Yield so many random contexts of Reddit, with rated replies and real references."""
    texts = {context: replies for context, replies in _read_reddit(path).items() if len(replies) >= LEAST}
    contexts, rng = list(texts), np.random.default_rng(0)
    vectors = Encoder(sentences, device="cpu").sentences([context.replace(" EOS ", " ") for context in contexts])
    near = np.argsort(-(vectors @ vectors.T), axis=1, kind="stable")
    judge = create("judge(model='ready')", kind="metric")
    for i in rng.permutation(len(contexts))[:most].tolist():
        context = contexts[i]
        real = [texts[context][j] for j in rng.permutation(len(texts[context]))]
        others = [j for j in near[i].tolist() if j != i]
        similar = [texts[contexts[j]][0] for j in others[:SIMILAR]]
        random = [texts[contexts[j]][1] for j in rng.choice(others[SIMILAR:], OTHER, replace=False)]
        shuffled = [" ".join(rng.permutation(text.split())) for text in real[:SHUFFLED]]
        replies = tuple(dict.fromkeys([*real[:REAL], *similar, *random, *shuffled, *GENERIC]))
        turns = tuple(context.split(" EOS "))
        samples = [Sample("", tuple(map(Turn, turns)), reply) for reply in replies]
        ratings = np.asarray(judge.value(judge.stats(samples)), dtype=np.float64)
        yield RatedQuery(turns, replies, ratings, distinct_texts(real[REAL:]))


def _read_reddit(path: Path) -> dict[str, list[str]]:
    """Return the distinct replies to each context, sorted."""
    if not path.exists():
        raise InputError(f"no {path.name} in {str(path.parent)!r}", hint="put it there, or name another --data")
    found: dict[str, set[str]] = {}
    with tarfile.open(path) as archive:
        for member in archive.getmembers():
            file = archive.extractfile(member) if member.name.endswith(".tsv") else None
            for line in file or ():
                context, _, reply = line.decode().rstrip("\n").partition("\t")
                if context.strip() and reply.strip():
                    found.setdefault(context, set()).add(reply.strip())
    return {context: sorted(replies) for context, replies in sorted(found.items())}
