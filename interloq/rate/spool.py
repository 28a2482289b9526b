"""Rated samples on their way to disk: batch after batch into a part file, so that a killed run loses one batch at most.

The part's first line names the job. A run of the same job goes on behind its last whole line.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, Any

import orjson

from interloq.data.jsonl import SCHEMA, read, to_json
from interloq.errors import InputError
from interloq.rate.rater import BATCH, Rater
from interloq.records import Sample, shown_key


class Spool:
    """A part file, open for one run at a time; `done` counts the samples it held already.

    `afresh` throws away what another job left.
    """

    def __init__(self, path: Path, job: Mapping[str, str], *, afresh: bool = False) -> None:
        self.path = path
        self._file = _opened(path)
        self.done = self.held = 0
        first = self._file.readline()
        if first.endswith(b"\n") and _job(first) == dict(job):
            self.done = self.held = self._keep_whole_lines()
            return
        if first.endswith(b"\n") and not afresh and self._is_of_use(first):
            raise self._refused(_job(first), job)
        self._file.seek(0)  # new, thrown away, or killed before anything was rated
        self._file.truncate()
        self._append(orjson.dumps({"kind": "samples", "schema": SCHEMA, "job": dict(job)}) + b"\n")

    def add(self, samples: Sequence[Sample]) -> None:
        self._append(b"".join(orjson.dumps(to_json(sample)) + b"\n" for sample in samples))
        self.held += len(samples)

    def samples(self) -> Iterator[Sample]:
        return read(self.path, strict=True)

    def close(self, *, finished: bool = False) -> None:
        """A part stays for the next run, unless it holds nothing or nothing is left to do."""
        if finished or not self.held:
            self.path.unlink(missing_ok=True)
        self._file.close()

    def _append(self, data: bytes) -> None:
        self._file.write(data)
        self._file.flush()
        os.fsync(self._file.fileno())

    def _keep_whole_lines(self) -> int:
        whole, end = 0, self._file.tell()
        for line in self._file:
            if line.endswith(b"\n"):
                whole, end = whole + 1, end + len(line)
        self._file.seek(end)
        self._file.truncate()
        return whole

    def _is_of_use(self, first: bytes) -> bool:
        """Another job's part with samples in it, or no part of ours at all."""
        return not _job(first) or self._file.readline().endswith(b"\n")

    def _refused(self, began: Mapping[str, str], job: Mapping[str, str]) -> InputError:
        self._file.close()
        same = began.get("rater") == job["rater"]
        other = "on other samples" if same else f"with {began.get('rater', 'something else')}"
        return InputError(
            f"an unfinished run {other} is kept here",
            cure="finish it with the command that began it, or throw it away with --force",
            where=str(self.path),
        )


def _job(first: bytes) -> dict[str, str]:
    """The job that a part's first line names; none where it is no part of ours."""
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
                f"the rater gave back {shown_key(after.key)} with other references than {shown_key(before.key)} has"
            )
    if len(rated) != len(chunk):
        raise InputError(f"the rater gave back {len(rated)} of {len(chunk)} samples")
    return rated


def _opened(path: Path) -> IO[Any]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("r+b" if path.exists() else "w+b")
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}", cure="choose another output") from error
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:  # no such locks on Windows
        pass
    except OSError:
        file.close()
        raise InputError("another run is writing here", cure="wait for it", where=str(path)) from None
    return file
