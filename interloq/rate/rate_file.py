# SPDX-License-Identifier: Apache-2.0
"""Add weights to the references of a file of samples; an interrupted run can be resumed.

Rated samples are written to a part file batch by batch, so that a killed run loses at most one batch. The part's first
line identifies the job. A run of the same job resumes after its last complete line.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from interloq.data.batched import batched
from interloq.data.files.appended import Appended
from interloq.data.files.overwriting import refuse_overwriting
from interloq.data.progress import Progress, lines_ahead, silent
from interloq.data.records.jsonl import (
    copy_records,
    header,
    header_after,
    header_line,
    read,
    record_line,
    write_then_head,
)
from interloq.data.records.read_options import READ_DEFAULTS, ReadOptions
from interloq.errors import InputError, count
from interloq.rate.rate_options import BATCH, RateOptions
from interloq.rate.rater import Rater, RaterLike, as_rater, select
from interloq.rate.summary import parrot_warning, summary, warnings_of
from interloq.records import Sample, format_key
from interloq.signature import LIBRARIES, Signature, file_fingerprint


def rate_file(
    samples: str | Path,
    output: str | Path,
    options: RateOptions,
    *,
    reading: ReadOptions = READ_DEFAULTS,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Write the samples with a rater's weights; return signature, counts, and what was resumed and replaced.

    Signature and counts are also in the header of the output, after the entries of earlier raters. Unless a file is a
    pipe (`-`), rated samples are kept in `OUTPUT.part` batch by batch, and the same call resumes after the last of
    them; `force` discards the part of another job. `best` and `weigh` choose the references to keep, with or without
    their weights (see `rate.rater.select`); counts are over all rated references.
    """
    refuse_overwriting([output], [samples])
    rater = as_rater(options.rater)
    before = {}
    if str(samples) != "-":
        before = header(samples)
    signature = rater.signature()
    job = _job(samples, signature, reading.columns or {})
    replaced = _Replaced()
    with tempfile.TemporaryDirectory() as folder:
        part = Path(folder, "rated.jsonl") if "-" in (str(samples), str(output)) else Path(f"{output}.part")
        with open_spool(part, job, afresh=options.force) as spool:
            with progress("rating", lines_ahead(samples, progress)) as step:
                rate_into(spool, replaced.watch(reading.read(samples)), rater, batch=options.batch, progress=step)
            facts: dict[str, Any] = {"signature": signature, "counts": _counts(spool, rater)}
            if options.best is None and options.weigh:
                spool.copy_to(output, **header_after(before, "rated", facts))
            else:
                choice = {"best": options.best, "weigh": options.weigh}
                facts = _write_selected(spool, output, before, facts, choice)
    warnings = [*warnings_of(rater), *filter(None, [parrot_warning(facts["counts"]["sources"])])]
    return {**facts, "resumed": spool.done, "replaced": replaced.facts(before), "warnings": warnings}


def _write_selected(
    spool: Spool, output: str | Path, before: Mapping[str, Any], facts: Mapping[str, Any], choice: Mapping[str, Any]
) -> dict[str, Any]:
    """Write the rated samples with the chosen references; return the facts, with the choice and its count."""
    kept = 0

    def select_references() -> Iterator[Sample]:
        nonlocal kept
        for sample in spool.samples():
            chosen = select(sample, **choice)
            kept += len(chosen.references)
            yield chosen

    def complete_facts() -> dict[str, Any]:
        return {**facts, "signature": facts["signature"].with_parts(choice), "kept": kept}

    write_then_head(
        output, select_references(), lambda: header_after(before, "rated", complete_facts()), kind="samples"
    )
    return complete_facts()


def _counts(spool: Spool, rater: Rater) -> dict[str, Any]:
    try:
        return summary(spool.samples(), rater)
    except InputError:  # the ratings are of other references, so the rated samples are useless
        spool.forget()
        raise


def _job(samples: str | Path, signature: Signature, columns: Mapping[str, str]) -> dict[str, str]:
    """Identify the job in its part file: a run resumes only the same job."""
    source = "-" if str(samples) == "-" else file_fingerprint(Path(samples))
    rater = str(signature.without(*LIBRARIES))  # other releases of these may resume; earlier versions recorded none
    job = {"rater": rater, "samples": source}
    if columns:
        job["map"] = ",".join(f"{field}={name}" for field, name in columns.items())
    return job


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


class Spool:
    """A part file, open in one run at a time; `done` counts the samples that were already in it.

    `afresh` discards the part of another job.
    """

    def __init__(self, path: Path, job: Mapping[str, str], *, afresh: bool = False) -> None:
        self.path, self._file = path, Appended(path, sync=0.0)
        lines = [line for _, line in islice(self._file.lines(), 2)]
        self.done = self.held = 0
        began = _read_job(lines[0]) if lines else {}
        if began == dict(job):
            self.done = self.held = sum(1 for _ in self._file.lines()) - 1
            return
        foreign = bool(lines) and (not began or len(lines) > 1)  # another job's samples, or not a part file
        if foreign and not afresh:
            self._file.close()
            same = began.get("rater") == job["rater"]
            other = "on other samples" if same else f"with {began.get('rater', 'something else')}"
            raise InputError(
                f"the file belongs to an unfinished run {other}",
                hint="finish that run, or discard it with force",
                where=str(self.path),
            )
        self._file.cut(0)
        self._file.add(header_line("samples", {"job": dict(job)}))

    def add(self, samples: Sequence[Sample]) -> None:
        self._file.add(b"".join(map(record_line, samples)))
        self.held += len(samples)

    def samples(self) -> Iterator[Sample]:
        """Return the samples written so far."""
        return read(self.path, strict=True)

    def copy_to(self, output: str | Path, **facts: object) -> None:
        """Write the rated samples with these facts in the header."""
        with self.path.open("rb") as lines:
            lines.readline()  # the job
            copy_records(output, lines, kind="samples", **facts)

    def forget(self) -> None:
        """Do not keep the part for another run: its samples are useless."""
        self.held = 0

    def close(self, *, finished: bool = False) -> None:
        """Close the part and keep it for the next run, unless it is empty or finished."""
        self._file.close(keep=self.held > 0 and not finished)


@contextmanager
def open_spool(path: Path, job: Mapping[str, str], *, afresh: bool = False) -> Iterator[Spool]:
    """Yield a spool that is removed on success and kept for the next run on failure."""
    spool, finished = Spool(path, job, afresh=afresh), False
    try:
        yield spool
        finished = True
    finally:
        spool.close(finished=finished)


def _read_job(first: bytes) -> dict[str, str]:
    """Return the job in a part's first line; empty if it is not a part file."""
    try:
        return dict(orjson.loads(first)["job"])
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
        return {}


def rate_into(
    spool: Spool,
    samples: Iterable[Sample],
    rater: RaterLike,
    *,
    batch: int = BATCH,
    progress: Callable[[int], None] = lambda _: None,
) -> None:
    """Rate the samples that are not yet in the spool."""
    if batch < 1:
        raise InputError(f"batch must be at least 1, got {batch}")
    rest = iter(samples)
    progress(sum(1 for _ in islice(rest, spool.done)))
    for chunk in batched(rest, batch):
        spool.add(_rate_chunk(rater, chunk))
        progress(len(chunk))


def _rate_chunk(rater: RaterLike, chunk: Sequence[Sample]) -> list[Sample]:
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
