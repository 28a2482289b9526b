# SPDX-License-Identifier: Apache-2.0
"""Interactive annotation of a file of samples: candidates, a session with its record, and the annotated samples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from interloq.data.files.overwriting import refuse_overwriting
from interloq.data.records.jsonl import Rejected, header, header_after, write
from interloq.data.records.read_options import READ_DEFAULTS, ReadOptions
from interloq.records import Sample
from interloq.reliability.annotate import Session
from interloq.reliability.augment import Request
from interloq.reliability.candidates import find_candidates, open_finder
from interloq.reliability.own_candidates import Written
from interloq.reliability.ready_fit import ReadyFit, TrainedModel, load_predictor
from interloq.reliability.reliability_options import AnnotateOptions, CandidateOptions
from interloq.retrieve.extend import SearchTally
from interloq.signature import Signature


@dataclass(frozen=True, slots=True)
class Queries:
    """Samples with their queries; samples with the same query, references and candidates are one query."""

    samples: list[Sample]
    query: list[str]  # of each sample
    requests: Mapping[str, Request]  # by query
    signature: Signature
    warning: str  # about the network; empty if it is good enough


@dataclass(frozen=True, slots=True)
class Annotation:
    """A session on the samples of a file."""

    session: Session
    queries: Queries
    before: Mapping[str, Any]  # header of the samples
    group: str  # of the annotator

    def write(self, output: str | Path) -> dict[str, Any]:
        """Write all samples with the references added so far, and return counts and the signature."""
        added, annotated = self.session.added(), []
        for sample, query in zip(self.queries.samples, self.queries.query, strict=True):
            annotated.append(replace(sample, references=(*sample.references, *added[query])))
        facts = {"signature": self.queries.signature, "counts": self.counts(), "group": self.group}
        write(output, annotated, kind="samples", **header_after(self.before, "annotated", facts))
        return facts

    def counts(self) -> dict[str, int]:
        """Return the numbers of samples, queries, finished queries, steps, and references kept and edited."""
        kept = list(chain.from_iterable(self.session.added().values()))
        finished = sum(state.finished for state in self.session.states.values())
        return {
            "samples": len(self.queries.samples),
            "queries": len(self.session.states),
            "finished": finished,
            "steps": len(self.session.steps),
            "added": len(kept),
            "edited": sum(reference.source == "human" for reference in kept),
        }


@contextmanager
def annotation(
    samples: str | Path,
    record: str | Path,
    source: CandidateOptions,
    options: AnnotateOptions,
    *,
    reading: ReadOptions = READ_DEFAULTS,
) -> Iterator[Annotation]:
    """Annotate the samples of a file; every step is in `record`, from which the next session resumes."""
    written = f"{record}.replies" if source.llm else None
    refuse_overwriting([record, *filter(None, [written])], [samples, options.model, *source.files])
    model = load_predictor(options.model, options.encoder, options.device)
    limits = {"attempts": options.attempts, "limit": options.limit}
    queries = find_queries(reading.read(samples), model, source, **limits, on_reject=reading.on_reject, written=written)
    unassisted = options.group == "unassisted"
    with Session(
        model, queries.requests, record, **limits, unassisted=unassisted, must_rise=options.must_rise
    ) as session:
        yield Annotation(session, queries, header(samples), options.group)


def find_queries(
    samples: Iterable[Sample],
    model: TrainedModel | ReadyFit,
    source: CandidateOptions,
    *,
    attempts: int,
    limit: int,
    on_reject: Callable[[Rejected], None] | None = None,
    written: str | Path | None = None,
) -> Queries:
    """Return the queries of samples with their candidates, and the signature for annotating them.

    A query is named after its first sample, with the system if another query has this id. `written` is a file that
    keeps the replies of a language model.
    """
    finder, finder_signature = open_finder(source, on_reject, written=written)
    names: dict[Request, str] = {}
    requests: dict[str, Request] = {}
    all_samples, sample_queries = [], []
    try:
        for sample, request in chain.from_iterable(find_candidates(samples, finder, source, SearchTally())):
            if request not in names:
                name = sample.id
                if name in requests:
                    name = f"{sample.id} ({sample.system})"
                names[request], requests[name] = name, request
            all_samples.append(sample)
            sample_queries.append(names[request])
    finally:
        if isinstance(finder, Written):
            finder.close()
    signed = finder_signature.with_parts({"model": model.signature(), "limit": limit, "attempts": attempts})
    return Queries(all_samples, sample_queries, requests, replace(signed, name="annotate"), model.warning())
