"""Queries of `ream.py`: DSTC7's, Gupta's with references by people, by SCARCE and from logs, and DailyDialog++'s.

DSTC7 (second track) has real replies from Reddit as references, and replies by nine systems that three people rated for
relevance and informativeness; their mean is used. The system `Human` is left out: its reply is one of the references of
nearly every query. A text about the topic stands in for the context.

DailyDialog++ has no ratings. Two of a context's five good replies, and its five adversarial and five random ones, are
the replies to score: good ones are rated 1, the others 0. Adversarial replies share words with the context, but are as
wrong as random ones, so nothing says which of the two is better. The other three good replies are the references.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rated_sets import Floats, plusplus_files
from reference_pool import with_scarce
from retrieval import clean, cleaned

from interloq import InputError, Rating, Reference, Sample
from interloq.data.files.archives import read_files, text_lines
from interloq.data.files.opening import lines
from interloq.data.sets.registry import locate, read_dataset
from interloq.reliability.labels import RatedQuery, distinct_texts, group_queries
from interloq.retrieve.extend import extend
from interloq.retrieve.index import Index
from interloq.retrieve.leaks import normalise_text
from interloq.signature import fingerprint

GOLD, PEOPLE, SCARCE, LOGS = "gold", "people", "SCARCE", "logs"
CANDIDATES = 100  # per query, as in the paper
HELD_OUT = 2  # good replies of DailyDialog++ that are scored
WRONG = ("adversarial_negative_responses", "random_negative_responses")


@dataclass(frozen=True, slots=True)
class Sourced:
    """A query with all its references, and which texts come from which source."""

    query: RatedQuery
    texts: Mapping[str, tuple[str, ...]]

    def columns(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Places of some texts among the references."""
        place = {text: i for i, text in enumerate(self.query.references)}
        return np.array([place[text] for text in texts], dtype=np.int64)


# ---- Gupta's queries -------------------------------------------------------------------------------------------------


def gupta_samples(data: Path) -> list[Sample]:
    """The rated replies, with five references by people: the four in the rated file and the fifth of the test set."""
    found = [cleaned(s) for s in read_dataset("multiref_dailydialog", locate("multiref_dailydialog", data))]
    written = dict(_written(data))
    return [replace(s, references=_five(s, written[s.id.split("/")[1]])) for s in found]


def _written(data: Path) -> Iterator[tuple[str, list[str]]]:
    """References by people for each context of the test set, by `context_id`."""
    (file,) = read_files(locate("multiref_dailydialog", data), ("multireftest.json",))
    for line in filter(str.strip, text_lines(file)):
        dialogue = json.loads(line)
        for i, turn in enumerate(dialogue["dialogue"]):
            yield f"{dialogue['index']}_{i}", [clean(text) for text in turn.get("responses", [])]


def _five(sample: Sample, written: Sequence[str]) -> tuple[Reference, ...]:
    own = {reference.text for reference in sample.references}
    return (*sample.references, *(Reference(text, source="human") for text in written if text not in own))


def gupta(data: Path, index: Index | None = None) -> list[Sourced]:
    """Gupta's queries with the references of each source; those from logs need an index of pairs."""
    samples = gupta_samples(data)
    scarce = _by_turns(with_scarce(data, [replace(s, references=s.references[:4]) for s in samples]))
    logs = _by_turns(extend(_singles(samples), index, k=CANDIDATES, parrot=False) if index else [])
    people, first = _by_turns(samples), {_turns(s): s.references[0].text for s in samples}
    return [_sourced(query, first[query.turns], people, scarce, logs) for query in group_queries(samples)]


def _singles(samples: Sequence[Sample]) -> list[Sample]:
    """One sample per query, which the leak guard reads with all its references."""
    return list({_turns(sample): sample for sample in samples}.values())


def _sourced(query: RatedQuery, gold: str, people: _Texts, scarce: _Texts, logs: _Texts) -> Sourced:
    by_people = tuple(dict.fromkeys(text.strip() for text in people[query.turns]))
    found = {
        GOLD: (gold.strip(),),
        PEOPLE: by_people,
        SCARCE: distinct_texts(scarce[query.turns]),
        LOGS: tuple(dict.fromkeys(text.strip() for text in logs.get(query.turns, ()) if text.strip() not in by_people)),
    }
    every = dict.fromkeys(text for texts in found.values() for text in texts)
    return Sourced(replace(query, references=tuple(every)), found)


_Texts = Mapping[tuple[str, ...], Sequence[str]]


def _by_turns(samples: Sequence[Sample] | Iterator[Sample]) -> dict[tuple[str, ...], list[str]]:
    """Texts of the references of each context."""
    found: dict[tuple[str, ...], list[str]] = {}
    for sample in samples:
        found.setdefault(_turns(sample), []).extend(reference.text for reference in sample.references)
    return found


def _turns(sample: Sample) -> tuple[str, ...]:
    return tuple(turn.text for turn in sample.context)


def as_samples(queries: Sequence[RatedQuery]) -> list[Sample]:
    """Queries as the samples that a network is trained on."""
    return [
        Sample(query.id, query.turns, reply, query.references, str(i), [Rating(float(rating), aspect="overall")])
        for query in queries
        for i, (reply, rating) in enumerate(zip(query.replies, query.ratings, strict=True))
    ]


# ---- DSTC7's queries -------------------------------------------------------------------------------------------------


def dstc7_queries(data: Path) -> list[RatedQuery]:
    """Queries with all systems but `Human`."""
    path = data / "dstc7_part.jsonl.xz"
    if not path.exists():
        raise InputError(f"no {path.name} in {str(data)!r}", hint="put it there, or name another --data")
    return [query for query, _ in read_dstc7(path)]


def read_dstc7(path: Path) -> Iterator[tuple[RatedQuery, Floats]]:
    """Yield queries with all systems but `Human`, and the rating of each reply by each of its judges."""
    seen = Counter[str]()
    for _, line in lines(path):
        query = json.loads(line)
        replies, ratings = [], []
        for reply in query["replies"]:
            if reply["system"] != "Human" and reply["response"].strip():
                replies.append(reply["response"])
                ratings.append([float(np.mean(answers)) for _, *answers in reply["ratings"]])
        topic = query["grounding"]
        turns = (topic + " " * seen[topic],)  # several queries are about one text, and would be joined
        seen[topic] += 1
        means = np.array([np.mean(judges) for judges in ratings])
        yield RatedQuery(turns, tuple(replies), means, distinct_texts(query["references"])), np.array(ratings)


def drop_copies(query: RatedQuery) -> RatedQuery:
    """The query without references that equal one of its replies, up to case and punctuation."""
    replies = set(map(normalise_text, query.replies))
    kept = tuple(text for text in query.references if normalise_text(text) not in replies)
    return replace(query, references=kept)


# ---- DailyDialog++ ---------------------------------------------------------------------------------------------------


def plusplus_queries(data: Path, part: str, without: Sequence[RatedQuery] = ()) -> list[RatedQuery]:
    """Contexts of one part, without those of some other queries."""
    (file,) = plusplus_files(data, f"{part}.json")
    gone = {_last(query.turns) for query in without}
    items = [json.loads(line) for line in text_lines(file) if line.strip()]
    found = [_plusplus(item) for item in {fingerprint(*item["context"]): item for item in items}.values()]
    if not found:
        raise InputError(f"DailyDialog++ has no contexts in {part}.json", hint="unpack it again")
    return [query for query in found if _last(query.turns) not in gone]


def _plusplus(item: Mapping[str, Sequence[str]]) -> RatedQuery:
    turns = tuple(clean(turn) for turn in item["context"])
    good = distinct_texts(map(clean, item["positive_responses"]))
    order = np.random.default_rng(int(fingerprint(*turns), 16)).permutation(len(good))
    scored = [good[i] for i in order[:HELD_OUT]]
    wrong = [clean(text) for kind in WRONG for text in item[kind]]
    ratings = np.array([1.0] * len(scored) + [0.0] * len(wrong))
    return RatedQuery(turns, (*scored, *wrong), ratings, tuple(good[i] for i in sorted(order[HELD_OUT:])))


def _last(turns: Sequence[str]) -> str:
    """Letters and digits of the last turn: data sets differ in case and white space."""
    return "".join(c for c in turns[-1].lower() if c.isalnum())
