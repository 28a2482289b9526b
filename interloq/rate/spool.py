"""Rated samples on their way to disk: batch after batch into a part file, so that a killed run loses one batch at most.

The part's first line names the job. A run of the same job resumes after its last whole line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import orjson

from interloq.data.appended import Appended
from interloq.data.jsonl import header_line, read, record_line
from interloq.data.late_header import copy_records
from interloq.errors import InputError
from interloq.rate.rater import BATCH, Rater
from interloq.records import Sample, format_key


class Spool:
    """A part file, open for one run at a time; `done` counts the samples it held already.

    `afresh` throws away what another job left.
    """

    def __init__(self, path: Path, job: Mapping[str, str], *, afresh: bool = False) -> None:
        self.path, self._file = path, Appended(path, sync=0.0)
        lines = [line for _, line in islice(self._file.lines(), 2)]
        self.done = self.held = 0
        began = _job(lines[0]) if lines else {}
        if began == dict(job):
            self.done = self.held = sum(1 for _ in self._file.lines()) - 1
            return
        of_use = bool(lines) and (not began or len(lines) > 1)  # another job's samples, or not a part of ours at all
        if of_use and not afresh:
            self._file.close()
            raise self._refused(began, job)
        self._file.cut(0)
        self._file.add(header_line("samples", {"job": dict(job)}))

    def add(self, samples: Sequence[Sample]) -> None:
        self._file.add(b"".join(map(record_line, samples)))
        self.held += len(samples)

    def samples(self) -> Iterator[Sample]:
        """The samples that were written."""
        return read(self.path, strict=True)

    def copy_to(self, output: str | Path, **facts: object) -> None:
        """The rated samples under a header with these facts."""
        with self.path.open("rb") as lines:
            lines.readline()  # names the job
            copy_records(output, lines, kind="samples", **facts)

    def forget(self) -> None:
        """What it holds is of no use: it is not kept for another run."""
        self.held = 0

    def close(self, *, finished: bool = False) -> None:
        """A part stays for the next run, unless it holds nothing or nothing is left to do."""
        self._file.close(keep=self.held > 0 and not finished)

    def _refused(self, began: Mapping[str, str], job: Mapping[str, str]) -> InputError:
        same = began.get("rater") == job["rater"]
        other = "on other samples" if same else f"with {began.get('rater', 'something else')}"
        return InputError(
            f"an unfinished run {other} is kept here",
            hint="finish it with the command that began it, or throw it away with --force",
            where=str(self.path),
        )


@contextmanager
def spooled(path: Path, job: Mapping[str, str], *, afresh: bool = False) -> Iterator[Spool]:
    """A spool that is removed when all went well, and otherwise kept for the next run."""
    spool, finished = Spool(path, job, afresh=afresh), False
    try:
        yield spool
        finished = True
    finally:
        spool.close(finished=finished)


def _job(first: bytes) -> dict[str, str]:
    """The job that a part's first line names; none where it is not a part of ours."""
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
    """Rate the samples that the spool does not hold yet."""
    if batch < 1:
        raise InputError(f"batch must be at least 1, got {batch}")
    rest = iter(samples)
    progress(sum(1 for _ in islice(rest, spool.done)))
    while chunk := list(islice(rest, batch)):
        spool.add(_rated(rater, chunk))
        progress(len(chunk))


def _rated(rater: Rater, chunk: Sequence[Sample]) -> list[Sample]:
    """A rater from elsewhere may be wrong, and the next step could not tell."""
    rated = rater.rate(chunk)
    for before, after in zip(chunk, rated, strict=False):
        if before.key != after.key or len(before.references) != len(after.references):
            raise InputError(
                f"the rater gave back {format_key(after.key)} with other references than {format_key(before.key)} has"
            )
    if len(rated) != len(chunk):
        raise InputError(f"the rater gave back {len(rated)} of {len(chunk)} samples")
    return rated
