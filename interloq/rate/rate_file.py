# SPDX-License-Identifier: Apache-2.0
"""Add weights to the references of a file of samples; an interrupted run can be resumed.

Rated samples are kept in shards (see `interloq.shards`), so that a killed run loses at most one per process. Which of
the references are written is chosen in the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from interloq.data.files.overwriting import refuse_overwriting
from interloq.data.progress import Progress, lines_ahead, silent
from interloq.data.records.jsonl import header, header_after, read_lines, record_line, write_then_head
from interloq.data.records.read_options import READ_DEFAULTS, ReadOptions
from interloq.errors import InputError, count
from interloq.rate.rate_options import RateOptions
from interloq.rate.rater import Rater, RaterLike, as_rater, select
from interloq.rate.summary import RatingSummary, parrot_warning, warnings_of
from interloq.records import Sample, format_key
from interloq.servers.spending import check_processes, current
from interloq.shards.dealt import Dealt
from interloq.shards.run import open_shards
from interloq.shards.shard_options import ONE_PROCESS, ShardOptions
from interloq.shards.task import Compute
from interloq.signature import runs_network

CHUNK = 4096  # samples among which those with the same context are rated together


def rate_file(
    samples: str | Path,
    output: str | Path,
    options: RateOptions,
    *,
    shards: ShardOptions = ONE_PROCESS,
    reading: ReadOptions = READ_DEFAULTS,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Write the samples with a rater's weights; return signature, counts, and what was resumed and replaced.

    Signature and counts are also in the header of the output, after the entries of earlier raters. Unless a file is a
    pipe (`-`), rated samples are kept in `OUTPUT.parts` batch by batch, and the same call resumes after them; `force`
    discards those of another job. `best` and `weigh` choose the references to keep, with or without their weights (see
    `rate.rater.select`); counts are over all rated references. `shards` says which processes rate what.
    """
    refuse_overwriting([output], [samples])
    rater = as_rater(options.rater)
    check_processes([rater], shards, current())
    before = {}
    if str(samples) != "-":
        before = header(samples)
    signature = rater.signature()
    job = {"verb": "rate", "rater": str(signature), "batch": str(options.batch)}
    job["columns"] = ",".join(f"{field}={name}" for field, name in (reading.columns or {}).items())
    replaced, counts, kept = _Replaced(), RatingSummary(rater), 0
    dealt = Dealt(CHUNK, options.batch, lambda sample: [turn.text for turn in sample.context])
    facts: dict[str, Any] = {"signature": signature}

    with (
        open_shards(shards, job, source=samples, output=output, resumes=True, force=options.force) as run,
        progress("rating", lines_ahead(samples, progress)) as step,
    ):
        pieces = dealt.cut(replaced.watch(reading.read(samples)))
        results = run.compute("samples", RateTask(rater, str(signature)), pieces, step)

        def choose_references() -> Iterator[Sample]:
            nonlocal kept
            rated = chain.from_iterable(read_lines(result, kind="samples") for result in results)
            for sample in dealt.restore(rated):
                counts.add(sample)
                chosen = select(sample, best=options.best, weigh=options.weigh)
                kept += len(chosen.references)
                yield chosen

        def complete_facts() -> dict[str, Any]:
            try:
                facts["counts"] = counts.facts()
            except InputError:  # the ratings are of other references, so the rated samples are useless
                run.forget()
                raise
            if options.best is not None or not options.weigh:
                choice = {"best": options.best, "weigh": options.weigh}
                facts.update(signature=signature.with_parts(choice), kept=kept)
            return header_after(before, "rated", facts)

        write_then_head(output, choose_references(), complete_facts, kind="samples")
    warnings = [*warnings_of(rater), *filter(None, [parrot_warning(facts["counts"]["sources"])])]
    return {**facts, "resumed": run.resumed, "replaced": replaced.facts(before), "warnings": warnings}


@dataclass(frozen=True)
class RateTask:
    """Rates samples."""

    rater: Rater
    signature: str

    @property
    def uses_gpu(self) -> bool:
        """Whether a GPU would help."""
        return runs_network(self.rater)

    def identify(self) -> str:
        return str(self.rater.signature())

    def open(self) -> Compute:
        return lambda samples: b"".join(map(record_line, rate_chunk(self.rater, samples)))


class _Replaced:
    """Weights of the input that the output replaces."""

    def __init__(self) -> None:
        self.weights = 0

    def watch(self, samples: Iterable[Sample]) -> Iterator[Sample]:
        for sample in samples:
            self.weights += sum(reference.weight != 1 for reference in sample.references)
            yield sample

    def facts(self, before: Mapping[str, Any]) -> dict[str, Any]:
        signature = ""
        if before.get("rated"):
            signature = before["rated"][-1]["signature"]
        return {"weights": self.weights, "signature": signature}


def rate_chunk(rater: RaterLike, chunk: Sequence[Sample]) -> list[Sample]:
    """Rate samples and check the result: a rater from another package may be wrong, and later steps could not tell."""
    rated = rater.rate(chunk)
    for before, after in zip(chunk, rated, strict=False):
        if before.key != after.key or len(before.references) != len(after.references):
            raise InputError(
                f"the rater returned {format_key(after.key)} with other references than {format_key(before.key)} has"
            )
    if len(rated) != len(chunk):
        raise InputError(f"the rater returned {len(rated)} of {count(len(chunk), 'sample')}")
    return rated
