# SPDX-License-Identifier: Apache-2.0
"""What is computed, and how: a task, its shards, and the engines that run them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from interloq.errors import InputError

Compute = Callable[[Sequence[Any]], bytes]


class ShardTask(Protocol):
    """What a process does with each shard: a frozen dataclass of texts and numbers, which travels by pickle.

    It must give the same bytes in every process, whatever shards the process has computed before. A task that a GPU
    would speed up has an attribute `uses_gpu`.
    """

    @property
    def signature(self) -> str:
        """What changes its results, besides the records: set where the job starts."""

    def identify(self) -> str:
        """Return the same for the models and versions of this process, which must be equal to the signature."""

    def open(self) -> Compute:
        """Load what is needed, once per process; return the function from a shard's records to its result."""


@dataclass(frozen=True, slots=True)
class Shard:
    """The records of a job from `start` on, counted from 0."""

    job: str
    start: int
    records: Sequence[Any]

    @property
    def end(self) -> int:
        """The index after the last record."""
        return self.start + len(self.records)

    @property
    def name(self) -> str:
        """The name of its result."""
        return f"{self.job}-{self.start:09d}-{self.end:09d}"


class ShareComputed(Exception):  # noqa: N818 - not an error
    """The shards of `--shard I/N` are finished: there is no output to write. The command line prints it and exits 0."""


class ShardEngine(Protocol):
    """What computes shards."""

    def run(self, task: ShardTask, shards: Iterable[Shard], deliver: Callable[[Shard, bytes], None]) -> None:
        """Compute each shard and deliver its result, in any order, from this thread.

        Shards are taken from the iterable as they are needed, because their records take memory.
        """


class ThisProcess:
    """The engine that computes one shard after another."""

    def run(self, task: ShardTask, shards: Iterable[Shard], deliver: Callable[[Shard, bytes], None]) -> None:
        compute: Compute | None = None
        for shard in shards:
            compute = compute or task.open()  # nothing is loaded if all shards are finished
            deliver(shard, compute(shard.records))


def open_task(task: ShardTask) -> Compute:
    """Open a task that was sent to this process, which must have the same models and versions."""
    here = task.identify()
    if here != task.signature:
        what = f"a worker would compute something else: it has {here}, the job is {task.signature}"
        raise InputError(what, hint="give all machines the same version, models and files")
    return task.open()
