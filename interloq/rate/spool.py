# SPDX-License-Identifier: Apache-2.0
"""Rated samples are written to a part file batch by batch, so that a killed run loses at most one batch.

The part's first line identifies the job. A run of the same job resumes after its last complete line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import orjson

from interloq.data.batched import batched
from interloq.data.files.appended import Appended
from interloq.data.records.jsonl import copy_records, header_line, read, record_line
from interloq.errors import InputError, count
from interloq.rate.rater import BATCH, Rater
from interloq.records import Sample, format_key


class Spool:
    """A part file, open in one run at a time; `done` counts the samples that were already in it.

    `afresh` discards the part of another job.
    """

    def __init__(self, path: Path, job: Mapping[str, str], *, afresh: bool = False) -> None:
        self.path, self._file = path, Appended(path, sync=0.0)
        lines = [line for _, line in islice(self._file.lines(), 2)]
        self.done = self.held = 0
        began = _job(lines[0]) if lines else {}
        if began == dict(job):
            self.done = self.held = sum(1 for _ in self._file.lines()) - 1
            return
        foreign = bool(lines) and (not began or len(lines) > 1)  # another job's samples, or not a part file
        if foreign and not afresh:
            self._file.close()
            raise self._refused(began, job)
        self._file.cut(0)
        self._file.add(header_line("samples", {"job": dict(job)}))

    def add(self, samples: Sequence[Sample]) -> None:
        self._file.add(b"".join(map(record_line, samples)))
        self.held += len(samples)

    def samples(self) -> Iterator[Sample]:
        """Samples written so far."""
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

    def _refused(self, began: Mapping[str, str], job: Mapping[str, str]) -> InputError:
        same = began.get("rater") == job["rater"]
        other = "on other samples" if same else f"with {began.get('rater', 'something else')}"
        return InputError(
            f"the file belongs to an unfinished run {other}",
            hint="finish that run, or discard it with force",
            where=str(self.path),
        )


@contextmanager
def spooled(path: Path, job: Mapping[str, str], *, afresh: bool = False) -> Iterator[Spool]:
    """A spool that is removed on success and kept for the next run on failure."""
    spool, finished = Spool(path, job, afresh=afresh), False
    try:
        yield spool
        finished = True
    finally:
        spool.close(finished=finished)


def _job(first: bytes) -> dict[str, str]:
    """Job in a part's first line; empty if it is not a part file."""
    try:
        return dict(orjson.loads(first)["job"])
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
        return {}


def rate_into(
    spool: Spool,
    samples: Iterable[Sample],
    rater: Rater,
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
        spool.add(_rated(rater, chunk))
        progress(len(chunk))


def _rated(rater: Rater, chunk: Sequence[Sample]) -> list[Sample]:
    """Rate, and check the result: a rater from another package may be wrong, and later steps could not tell."""
    rated = rater.rate(chunk)
    for before, after in zip(chunk, rated, strict=False):
        if before.key != after.key or len(before.references) != len(after.references):
            raise InputError(
                f"the rater returned {format_key(after.key)} with other references than {format_key(before.key)} has"
            )
    if len(rated) != len(chunk):
        raise InputError(f"the rater returned {len(rated)} of {count(len(chunk), 'sample')}")
    return rated
