# SPDX-License-Identifier: Apache-2.0
"""Extending references with replies from logs (Galley et al., 2015; Tsuta et al., 2020 and 2023).

A sample's references are extended with its utterance (the parrot) and the replies of the k pairs nearest to it. Copies
of the test item are excluded (`leaks.py`) and repeated replies are merged; further pairs replace them. All weights are
1: rating the replies is a separate step.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import orjson
from numpy.typing import NDArray

from interloq.data.batched import batched
from interloq.data.files.opening import lines
from interloq.data.files.overwriting import refuse_overwriting
from interloq.data.progress import Progress, silent
from interloq.data.records.jsonl import header, header_after, record_line, write_then_head
from interloq.data.records.read_options import READ_DEFAULTS, ReadOptions
from interloq.errors import InputError
from interloq.records import Reference, Sample
from interloq.retrieve.index import Index, open_index
from interloq.retrieve.leaks import Guard, guard, is_original, normalise_text, originals, reads_like, without_own
from interloq.retrieve.retrieve_options import ExtendOptions
from interloq.retrieve.retriever import Encoded, Hit, Query, Words
from interloq.shards.dealt import Dealt
from interloq.shards.run import open_shards
from interloq.shards.shard_options import ONE_PROCESS, ShardOptions
from interloq.shards.task import Compute
from interloq.signature import Signature, file_fingerprint, fingerprint, runs_network, signature

Array = NDArray[np.float64]
BATCH = 1_024  # samples at a time
CHUNK = 16 * BATCH  # samples among which those with the same query are searched together
SIGNED = ("k", "parrot", "gold", "turns", "diversity", "near", "own")  # options that change the output
AT_FIRST = 4  # times k: pairs fetched at first, so that few queries have to be searched again
CANDIDATES = 5  # times k: pairs among which diversity chooses
KEPT = 2**18  # hits in the cache: samples of several systems share contexts, often far apart in a file


class SearchEncoder(Protocol):
    """The part of a retriever that is needed here."""

    def encode(self, texts: Sequence[str]) -> Encoded: ...


class Finder(Protocol):
    """Anything that finds pairs."""

    def search(self, queries: Sequence[Query], k: int = 15) -> list[list[Hit]]:
        """Return the k best pairs for each query, best first."""


class Searchable(Finder, Protocol):
    """An `Index`, or anything else that finds pairs and can compare replies."""

    @property
    def retriever(self) -> SearchEncoder:
        """Return how texts are compared."""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The hits for one sample, and the number of dropped pairs by reason."""

    hits: tuple[Hit, ...] = ()
    dropped: Counter[str] = field(default_factory=Counter)
    searched: bool = True


@dataclass(slots=True)
class SearchTally:
    """Counts over samples; pass one to `extend` and read it afterwards."""

    samples: int = 0
    retrieved: int = 0
    fewer: int = 0  # samples for which the index had fewer than k usable replies
    without_context: int = 0
    without_gold: int = 0
    own: int = 0  # samples for which the judged reply itself was retrieved
    dropped: Counter[str] = field(default_factory=Counter)  # reason → pairs
    affected: Counter[str] = field(default_factory=Counter)  # reason → samples

    def add(self, sample: Sample, result: SearchResult, k: int) -> None:
        self.samples += 1
        self.retrieved += len(result.hits)
        self.fewer += len(result.hits) < k
        self.without_context += not result.searched
        self.without_gold += not originals(sample)
        self.own += any(reads_like(sample.response, hit.pair.response) for hit in result.hits)
        self.dropped.update(result.dropped)
        self.affected.update(list(result.dropped))

    def join(self, counts: Mapping[str, Any]) -> None:
        """Add the counts of further samples: the fields of another tally."""
        for name, n in counts.items():
            if isinstance(n, int):
                setattr(self, name, getattr(self, name) + n)
            else:
                getattr(self, name).update(n)

    def facts(self) -> dict[str, Any]:
        """Return the counts for headers and JSON."""
        facts = asdict(self)
        del facts["affected"]
        facts["dropped"] = {}
        for reason, pairs in sorted(self.dropped.items()):
            facts["dropped"][reason] = {"pairs": pairs, "samples": self.affected[reason]}
        return facts


@dataclass(frozen=True, slots=True)
class _Options:
    """What is searched for one sample, and which references it gets."""

    k: int
    parrot: bool
    gold: bool
    turns: int
    diversity: float
    near: float
    own: bool
    excluded: frozenset[str]
    batch: int

    def __post_init__(self) -> None:
        for name, value in (("k", self.k), ("turns", self.turns), ("batch", self.batch)):
            if value < 1:
                raise InputError(f"{name} must be at least 1, got {value}")
        for name, share in (("diversity", self.diversity), ("near", self.near)):
            if not 0 <= share <= 1:
                raise InputError(f"{name} must be from 0 (off) to 1, got {share}")

    def wanted(self) -> int:
        """Return how many usable hits are needed: more than k if diversity chooses among them."""
        return self.k * CANDIDATES if self.diversity else self.k

    def question(self, sample: Sample) -> tuple[Query, Guard]:
        """Return what to search for, and what must not be found."""
        return query(sample, turns=self.turns), guard(sample, excluded=self.excluded, near=self.near, own=not self.own)


def extend(
    samples: Iterable[Sample],
    index: Searchable,
    *,
    k: int = 15,
    parrot: bool = True,
    gold: bool = True,
    turns: int = 1,
    diversity: float = 0.0,
    near: float = 0.0,
    own: bool = True,
    excluded: Set[str] = frozenset(),
    tally: SearchTally | None = None,
    progress: Callable[[int], None] | None = None,
    batch: int = BATCH,
) -> Iterator[Sample]:
    """Yield samples with further references, in the same order.

    The query is the last `turns` turns. Replies with a similarity to a gold reply of `near` or more are dropped.
    `own=False` drops the judged reply from any source, so samples with the same context may have different references.
    """
    options = _Options(k, parrot, gold, turns, diversity, near, own, frozenset(excluded), batch)
    tally = tally or SearchTally()
    results = _search_samples(samples, _Searches(index, index.retriever), options, tally)
    return _add_references(results, options, tally, progress)


def candidates(
    samples: Iterable[Sample],
    index: Finder,
    *,
    k: int = 100,
    turns: int = 1,
    near: float = 0.0,
    own: bool = True,
    excluded: Set[str] = frozenset(),
    tally: SearchTally | None = None,
    batch: int = BATCH,
) -> Iterator[list[tuple[Sample, tuple[Reference, ...]]]]:
    """Yield batches of samples, each with up to `k` replies that `extend` would add, best first."""
    parrot, gold, diversity = False, True, 0.0
    options = _Options(k, parrot, gold, turns, diversity, near, own, frozenset(excluded), batch)
    for results in _search_samples(samples, _Searches(index), options, tally or SearchTally()):
        yield [(sample, tuple(map(_reference, result.hits))) for sample, result in results]


def search_hits(
    samples: Iterable[Sample], index: Finder, *, k: int = 15, turns: int = 1, excluded: Set[str] = frozenset()
) -> Iterator[tuple[Sample, tuple[Hit, ...]]]:
    """Yield each sample with up to `k` pairs whose replies `extend` would add, best first."""
    parrot, gold, diversity, near, own = False, True, 0.0, 0.0, True
    options = _Options(k, parrot, gold, turns, diversity, near, own, frozenset(excluded), BATCH)
    for results in _search_samples(samples, _Searches(index), options, SearchTally()):
        for sample, result in results:
            yield sample, result.hits


def usable_replies(
    sample: Sample,
    hits: Sequence[Hit],
    *,
    k: int,
    near: float = 0.0,
    own: bool = True,
    excluded: Set[str] = frozenset(),
    tally: SearchTally,
) -> tuple[Reference, ...]:
    """Return up to `k` of the replies found for a sample by other means: those that `extend` would add."""
    known = {normalise_text(reference.text) for reference in sample.references}
    result = _usable(hits, guard(sample, excluded=excluded, near=near, own=not own), frozenset(known), k)
    tally.add(sample, result, k)
    return tuple(map(_reference, result.hits))


def identify_index(index: Any) -> dict[str, object]:
    """Return facts that identify the content of an index."""
    sources = [f"{name}\0{n}" for name, n in sorted(index.store.sources().items())]
    return {"pairs": len(index.store), "sources": fingerprint(*sources)}


def extend_signature(retriever: Any, searched: Mapping[str, object], options: Mapping[str, object]) -> Signature:
    """Return the signature of everything that references depend on except the samples."""
    signed = signature(retriever, **searched, **options)
    return Signature("extend", {"retriever": signed.name, **signed.parts})


def query(sample: Sample, *, turns: int = 1) -> Query:
    """Return the last turns of the context, and the first gold reply for retrievers that also compare replies."""
    golds = sorted(originals(sample), key=lambda reference: reference.source != "gold")  # the others come last
    reply = golds[0].text if golds else ""
    return Query(" ".join(turn.text for turn in sample.context[-turns:]).strip(), reply)


def utterance(sample: Sample) -> str:
    """Return the last turn of the context, which a reply answers."""
    return sample.context[-1].text.strip() if sample.context else ""


def _search_samples(
    samples: Iterable[Sample], searches: _Searches, options: _Options, tally: SearchTally
) -> Iterator[list[tuple[Sample, SearchResult]]]:
    """Yield batches of samples with their hits."""
    for chunk in batched(samples, options.batch):
        questions = [options.question(sample) for sample in chunk]
        seen = [_collect_seen_texts(sample, options) for sample in chunk]
        results = list(zip(chunk, searches.search(questions, seen, options), strict=True))
        for sample, result in results:
            tally.add(sample, result, options.k)
        yield results


def _add_references(
    results: Iterable[Sequence[tuple[Sample, SearchResult]]],
    options: _Options,
    tally: SearchTally,
    progress: Callable[[int], None] | None,
) -> Iterator[Sample]:
    for chunk in results:
        for sample, result in chunk:
            references = [reference for reference in sample.references if options.gold or not is_original(reference)]
            parrot = utterance(sample)
            texts = {normalise_text(reference.text) for reference in references}
            if options.parrot and parrot and normalise_text(parrot) not in texts:
                references.append(Reference(parrot, source="parrot"))
            extended = replace(sample, references=((*references, *map(_reference, result.hits))))
            if not options.own:
                kept = without_own(extended)  # the judged reply may also be an own reference or the parrot
                if dropped := len(extended.references) - len(kept.references):
                    tally.dropped["own"] += dropped
                    tally.affected["own"] += "own" not in result.dropped
                extended = kept
            yield extended
        if progress:
            progress(len(chunk))


def _collect_seen_texts(sample: Sample, options: _Options) -> frozenset[str]:
    """Return texts that are not needed again: results of earlier searches, and the parrot."""
    texts = [reference.text for reference in sample.references if not is_original(reference)]
    if options.parrot:
        texts.append(utterance(sample))
    return frozenset(map(normalise_text, texts))


def _reference(hit: Hit) -> Reference:
    return Reference(hit.pair.response, source=f"retrieved:{hit.pair.id}")


class _Searches:
    """Searches with a cache: a query that many samples share is searched once."""

    def __init__(self, index: Finder, encoder: SearchEncoder | None = None) -> None:
        self.index, self.encoder = index, encoder  # the encoder is needed only for diversity
        self.known: OrderedDict[tuple[Query, int], list[Hit]] = OrderedDict()

    def search(
        self, questions: Sequence[tuple[Query, Guard]], seen: Sequence[frozenset[str]], options: _Options
    ) -> list[SearchResult]:
        """Return usable hits of each question; fetch further pairs until there are enough."""
        wanted, n = options.wanted(), options.wanted() * AT_FIRST
        results = [SearchResult(searched=False)] * len(questions)
        left = [i for i, (query, _) in enumerate(questions) if query.utterance]
        while left:
            # cached by n, so that a sample's result does not depend on what others with the same query needed
            queries = dict.fromkeys(questions[i][0] for i in left)
            new = [query for query in queries if (query, n) not in self.known]
            if new:
                for query, hits in zip(new, self.index.search(new, n), strict=True):
                    self.known[query, n] = hits
            unfinished = []
            for i in left:
                query, guard = questions[i]
                hits = self.known[query, n]
                result = _usable(hits, guard, seen[i], wanted)
                if len(result.hits) == wanted or len(hits) < n:
                    results[i] = self._diversify(result, options)
                else:
                    unfinished.append(i)
            left, n = unfinished, n * AT_FIRST
        held = sum(map(len, self.known.values()))
        while held > KEPT:
            held -= len(self.known.popitem(last=False)[1])
        return results

    def _diversify(self, result: SearchResult, options: _Options) -> SearchResult:
        if not options.diversity or not result.hits or self.encoder is None:
            return result
        replies = self.encoder.encode([hit.pair.response for hit in result.hits])
        scores = [hit.score for hit in result.hits]
        places = diversify_replies(scores, replies, options.k, diversity=options.diversity)
        return replace(result, hits=tuple(result.hits[place] for place in places))


def diversify_replies(scores: Sequence[float], replies: Encoded, k: int, *, diversity: float) -> list[int]:
    """Return the positions of k chosen replies. BM25 and cosine are made comparable: scores are divided by the best."""
    relevance = np.asarray(scores, dtype=float)
    return mmr(relevance / relevance.max(initial=1e-12), similarities(replies), k, diversity=diversity)


def mmr(relevance: Array, similarity: Array, k: int, *, diversity: float) -> list[int]:
    """Return the positions of k items by maximal marginal relevance (Carbonell and Goldstein, 1998), in their order.

    The next item has the largest (1 − d) · relevance − d · (largest similarity to a chosen one); ties: the first.
    """
    chosen: list[int] = []
    nearest = np.zeros(len(relevance))
    left = np.ones(len(relevance), dtype=bool)
    while len(chosen) < k and left.any():
        gain = np.where(left, (1 - diversity) * relevance - diversity * nearest, -np.inf)
        # the first is the most relevant one even if d is 1, since there is nothing to differ from
        place = int(np.argmax(gain if chosen else np.where(left, relevance, -np.inf)))
        chosen.append(place)
        left[place] = False
        nearest = np.maximum(nearest, similarity[place]) if len(chosen) > 1 else similarity[place].copy()
    return chosen


def similarities(replies: Encoded) -> Array:
    """Return the pairwise similarity: cosine of vectors (negative values become 0), or Jaccard similarity of words."""
    if not isinstance(replies, Words):
        return np.asarray(np.maximum(replies @ replies.T, 0), dtype=float)
    _, columns = np.unique(replies.terms, return_inverse=True)
    rows = np.repeat(np.arange(len(replies)), np.diff(replies.ends))
    holds = np.zeros((len(replies), int(columns.max(initial=-1)) + 1))
    holds[rows, columns] = 1
    shared = holds @ holds.T
    sizes = np.diag(shared)
    union = sizes[:, None] + sizes - shared
    return np.asarray(shared / np.where(union > 0, union, 1))


def _usable(hits: Sequence[Hit], guard: Guard, seen: frozenset[str], wanted: int) -> SearchResult:
    """Return the nearest hits that are not copies of the test item and do not repeat a reply."""
    taken: list[Hit] = []
    dropped, texts = Counter[str](), set(seen)
    for hit in hits:
        if len(taken) == wanted:
            break
        text = normalise_text(hit.pair.response)
        reason = guard.reason(hit.pair)
        if not reason and not text:
            reason = "empty"
        elif not reason and text in texts:
            reason = "repeated"
        if reason:
            dropped[reason] += 1
        else:
            taken.append(hit)
            texts.add(text)
    return SearchResult(tuple(taken), dropped)


@dataclass
class ExtendTask:
    """Extends samples: the counts of a shard, as JSON in its first line, and its samples."""

    options: ExtendOptions
    excluded: frozenset[str]
    signature: str = ""

    @cached_property
    def index(self) -> Index:
        """The index, opened once per process."""
        return open_index(str(self.options.index))

    @property
    def uses_gpu(self) -> bool:
        """Whether a GPU would help."""
        return runs_network(self.index.retriever)

    def identify(self) -> str:
        return str(self.sign())

    def sign(self) -> Signature:
        """Return the signature of the output."""
        signed: dict[str, Any] = {name: getattr(self.options, name) for name in SIGNED}
        if self.options.exclude:
            signed["exclude"] = file_fingerprint(Path(self.options.exclude))
        return extend_signature(self.index.retriever, identify_index(self.index), signed)

    def open(self) -> Compute:
        index, chosen = self.index, {name: getattr(self.options, name) for name in SIGNED}
        options = _Options(**chosen, excluded=self.excluded, batch=BATCH)
        searches = _Searches(index, index.retriever)
        # vectors change in the last digits with what is encoded together, so that hits of other shards are not used
        is_exact = isinstance(index.retriever.encode([""]), Words)

        def compute(samples: Sequence[Sample]) -> bytes:
            tally = SearchTally()
            chosen_searches = searches if is_exact else _Searches(index, index.retriever)
            results = _search_samples(samples, chosen_searches, options, tally)
            lines = list(map(record_line, _add_references(results, options, tally, None)))
            return (
                orjson.dumps({item.name: getattr(tally, item.name) for item in fields(tally)}) + b"\n" + b"".join(lines)
            )

        return compute

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "index"}


def extend_file(
    samples: str | Path,
    output: str | Path,
    options: ExtendOptions,
    *,
    shards: ShardOptions = ONE_PROCESS,
    reading: ReadOptions = READ_DEFAULTS,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Add replies from an index to the samples and write them; return the signature and the counts.

    Both are also written to the header of the output, after the entries of earlier extensions. `-` is standard input or
    output. `shards` says which processes search for what.
    """
    refuse_overwriting([output], [samples, options.index, options.exclude or samples])
    task, tally = ExtendTask(options, read_ids(options.exclude)), SearchTally()
    before = {} if str(samples) == "-" else header(samples)
    facts: dict[str, Any] = {"signature": task.sign()}
    task.signature = str(facts["signature"])
    job = {"verb": "extend", "search": task.signature}
    job["columns"] = ",".join(f"{field}={name}" for field, name in (reading.columns or {}).items())
    # samples with the same query share a shard: it is searched once
    dealt = Dealt(CHUNK, BATCH, lambda sample: [turn.text for turn in sample.context[-options.turns :]])

    def read_results(results: Iterable[bytes]) -> Iterator[bytes]:
        for result in results:
            counts, _, lines = result.partition(b"\n")
            tally.join(orjson.loads(counts))
            yield from lines.splitlines(keepends=True)

    def head() -> dict[str, Any]:
        facts["counts"] = tally.facts()
        return header_after(before, "extended", facts)

    with (
        open_shards(shards, job, source=samples, output=output) as run,
        progress("extending", None) as step,
    ):
        results = run.compute("samples", task, dealt.cut(reading.read(samples)), step)
        extended = dealt.restore(read_results(results))
        write_then_head(output, extended, head, kind="samples", as_line=bytes)
    return facts


def read_ids(path: str | Path | None) -> frozenset[str]:
    """Return the ids in a file, one per line; none without a file."""
    if path is None:
        return frozenset()
    return frozenset(line.decode("utf-8", "replace").strip() for _, line in lines(path)) - {""}
