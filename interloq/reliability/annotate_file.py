# SPDX-License-Identifier: Apache-2.0
"""Interactive annotation of a file of samples: candidates, a session with its record, and the annotated samples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from interloq.data.files.overwriting import refuse_overwriting
from interloq.data.records.jsonl import Rejected, header, header_after, read, write
from interloq.records import Sample
from interloq.reliability.annotate import ATTEMPTS, Session
from interloq.reliability.augment import LIMIT, Request
from interloq.reliability.candidates import CandidateOptions
from interloq.reliability.model import Reliability
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

    def write(self, output: str | Path) -> dict[str, Any]:
        """Write all samples with the references added so far, and return counts and the signature."""
        added = self.session.added()
        samples_with_queries = zip(self.queries.samples, self.queries.query, strict=True)
        done = [
            replace(sample, references=(*sample.references, *added[query])) for sample, query in samples_with_queries
        ]
        facts = {"signature": self.queries.signature, "counts": self.counts()}
        write(output, done, kind="samples", **header_after(self.before, "annotated", facts))
        return facts

    def counts(self) -> dict[str, int]:
        """Numbers of samples, queries, finished queries, steps, and references kept and edited."""
        kept = [reference for some in self.session.added().values() for reference in some]
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
    *,
    model: str | Path,
    source: CandidateOptions,
    attempts: int = ATTEMPTS,
    limit: int = LIMIT,
    encoder: str | None = None,
    device: str = "auto",
    strict: bool = False,
    on_reject: Callable[[Rejected], None] | None = None,
    columns: Mapping[str, str] | None = None,
) -> Iterator[Annotation]:
    """Annotate the samples of a file; every step is in `record`, from which the next session resumes."""
    refuse_overwriting([record], [samples, model, *source.files])
    loaded = Reliability.load(model, encoder=encoder, device=device)
    given = read(samples, strict=strict, on_reject=on_reject, columns=columns)
    queries = find_queries(given, loaded, source, attempts=attempts, limit=limit, on_reject=on_reject)
    with Session(loaded, queries.requests, record, attempts=attempts, limit=limit) as session:
        yield Annotation(session, queries, header(samples))


def find_queries(
    samples: Iterable[Sample],
    model: Reliability,
    source: CandidateOptions,
    *,
    attempts: int,
    limit: int,
    on_reject: Callable[[Rejected], None] | None = None,
) -> Queries:
    """Queries of samples with their candidates, and the signature of an annotation of them."""
    finder, finder_signature = source.open(on_reject)
    rows = [row for batch in source.batches(samples, finder, SearchTally()) for row in batch]
    names = _names(rows)
    signed = finder_signature.with_parts({"model": model.signature(), "limit": limit, "attempts": attempts})
    return Queries(
        [sample for sample, _ in rows],
        [names[request] for _, request in rows],
        {name: request for request, name in names.items()},
        replace(signed, name="annotate"),
        model.warning(),
    )


def _names(rows: list[tuple[Sample, Request]]) -> dict[Request, str]:
    """Name of each distinct request: its first sample's id, with the system if another request has this id."""
    names: dict[Request, str] = {}
    for sample, request in rows:
        if request not in names:
            taken = sample.id in names.values()
            names[request] = f"{sample.id} ({sample.system})" if taken else sample.id
    return names
