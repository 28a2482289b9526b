# SPDX-License-Identifier: Apache-2.0
"""Run a job in shards: `with open_shards(options, facts, output) as shards: shards.compute(job, task, pieces)`.

Pieces are lists of records. Each becomes a shard, named by its job and range, whose result is bytes. How records are
cut depends on the job alone, never on who computes it, so results are equal for any number of workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count as count_up
from pathlib import Path
from typing import Any

from interloq.data.files.durable import discard, hold_lock
from interloq.data.files.write_errors import writing
from interloq.errors import InputError, count
from interloq.shards.parts import Parts, PartsFolder, PartsInMemory
from interloq.shards.processes import LocalProcesses
from interloq.shards.shard_options import ONE_PROCESS, ShardOptions
from interloq.shards.task import Engine, Shard, ShareComputed, Task, ThisProcess
from interloq.signature import file_fingerprint
from interloq.version import __version__

SHOWN = 5  # missing ranges that a message names


@dataclass
class Shards:
    """An open run: where results are kept, and what computes them."""

    options: ShardOptions
    parts: Parts
    engine: Engine

    def compute(
        self,
        job: str,
        task: Task,
        pieces: Iterable[Sequence[Any]],
        step: Callable[[int], None] = lambda _: None,
    ) -> Iterator[bytes]:
        """Return the results of all pieces, in order; with `--shard`, raise ShareComputed once its shards are written.

        Pieces are read once, even those that an earlier run has computed.
        """
        shards, missing, records = list[Shard](), list[Shard](), 0
        first, every = self.options.share

        def choose_unfinished() -> Iterator[Shard]:
            nonlocal records
            for number, piece in zip(count_up(1), pieces, strict=False):
                shard = Shard(job, records, piece)
                records = shard.end
                shards.append(Shard(job, shard.start, range(len(piece))))  # without the records, which take memory
                if shard.name in self.parts or number % every != first % every:
                    step(len(piece))
                elif self.options.only_join:
                    missing.append(shards[-1])
                else:
                    yield shard

        def keep(shard: Shard, result: bytes) -> None:
            self.parts.add(shard.name, result)
            step(len(shard.records))

        self.engine.run(task, choose_unfinished(), keep)
        if missing:
            raise InputError(
                _describe_missing(missing, len(shards)), hint="compute them", where=str(self.options.parts)
            )
        if self.options.shard:
            computed = len(shards[first - 1 :: every])
            raise ShareComputed(
                f"{self.options.parts}: {computed:,} of {count(len(shards), 'shard')} computed for "
                f"--shard {self.options.shard}; when all are, write the output: interloq data join {self.options.parts}"
            )
        return (self.parts.take(shard.name) for shard in shards)


def shards_of_this_process() -> Shards:
    """Return a run without workers, whose results are kept in memory."""
    return Shards(ONE_PROCESS, PartsInMemory(), ThisProcess())


@contextmanager
def open_shards(
    options: ShardOptions,
    facts: Mapping[str, str],
    *,
    source: str | Path = "-",
    output: str | Path | None = None,
) -> Iterator[Shards]:
    """Open a run; `facts` name everything that its results depend on besides the version and the file `source`.

    Results are kept in `--parts`, or with workers in `OUTPUT.parts`, which is removed in the end; else in memory.
    """
    engine: Engine = ThisProcess()
    if options.workers:
        engine = LocalProcesses(options.workers)
    folder, is_pipe = options.parts, str(source) == "-"
    if folder is not None and is_pipe:
        raise InputError("shards of a pipe cannot be computed again", hint="write the input to a file")
    if folder is None and options.workers and output and str(output) != "-" and not is_pipe:
        folder = f"{output}.parts"
    if folder is None:
        yield Shards(options, PartsInMemory(), engine)
        return
    folder = Path(folder)
    job = {**facts, "input": file_fingerprint(Path(source)), "version": __version__}
    first, every = options.share
    parts = PartsFolder(folder, job, options.command)
    with hold_lock(folder / f"{first}-of-{every}.lock"):
        yield Shards(options, parts, engine)
        if options.parts is None:
            with writing(folder):
                discard(folder)


def _describe_missing(missing: Sequence[Shard], total: int) -> str:
    ranges = ", ".join(f"{shard.start + 1:,}–{shard.end:,}" for shard in missing[:SHOWN])
    if len(missing) > SHOWN:
        ranges += " …"
    verb = "is" if len(missing) == 1 else "are"
    return f"{len(missing):,} of {count(total, 'shard')} {verb} missing: records {ranges}"
