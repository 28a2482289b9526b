# SPDX-License-Identifier: Apache-2.0
"""Run a job in shards: `with open_shards(options, facts, output) as shards: shards.compute(job, task, pieces)`.

Pieces are lists of records. Each becomes a shard, named by its job and range, whose result is bytes. How records are
cut depends on the job alone, never on who computes it, so results are equal for any number of workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from interloq.data.files.durable import discard, hold_lock
from interloq.data.files.write_errors import writing
from interloq.errors import InputError, count
from interloq.shards.parts import PartsFolder, discard_other_job
from interloq.shards.processes import LocalProcesses
from interloq.shards.ray_cluster import RayCluster
from interloq.shards.shard_options import ShardOptions
from interloq.shards.task import Compute, Shard, ShardEngine, ShardTask, ShareComputed, ThisProcess
from interloq.signature import file_fingerprint
from interloq.version import __version__

SHOWN = 5  # missing ranges that a message names


@dataclass
class Shards:
    """An open run: what computes shards, and where results are kept; None: each is used as soon as it is computed."""

    options: ShardOptions
    engine: ShardEngine = field(default_factory=ThisProcess)
    parts: PartsFolder | None = None
    resumed: int = 0  # records whose results were there already

    def compute(
        self,
        job: str,
        task: ShardTask,
        pieces: Iterable[Sequence[Any]],
        step: Callable[[int], None] = lambda _: None,
        *,
        start: int = 0,
    ) -> Iterator[bytes]:
        """Return the results of all pieces, in order; with `--shard`, raise ShareComputed once its shards are written.

        Pieces are read once, even those that an earlier run has computed, and at the latest with the last result.
        `start` is the number of records before the first piece.
        """
        if self.parts is None:
            return _compute_here(task, pieces, step)
        return self._compute_parts(job, task, pieces, step, self.parts, start)

    def forget(self) -> None:
        """Do not keep results for another run: they are useless."""
        if self.parts is not None and self.options.parts is None:
            self.parts.names.clear()

    def _compute_parts(
        self,
        job: str,
        task: ShardTask,
        pieces: Iterable[Sequence[Any]],
        step: Callable[[int], None],
        parts: PartsFolder,
        records: int,
    ) -> Iterator[bytes]:
        shards, missing = list[Shard](), list[Shard]()
        first, every = self.options.share

        def choose_unfinished() -> Iterator[Shard]:
            nonlocal records
            for number, piece in enumerate(pieces, start=1):
                shard = Shard(job, records, piece)
                records = shard.end
                shards.append(Shard(job, shard.start, range(len(piece))))  # without the records, which take memory
                if shard.name in parts.names:
                    self.resumed += len(piece)
                    step(len(piece))
                elif number % every != first % every:
                    step(len(piece))
                elif self.options.only_join:
                    missing.append(shards[-1])
                else:
                    yield shard

        def keep(shard: Shard, result: bytes) -> None:
            parts.add(shard.name, result)
            step(len(shard.records))

        self.engine.run(task, choose_unfinished(), keep)
        if missing:
            what = _describe_missing(missing, len(shards))
            raise InputError(what, hint="compute them first", where=str(parts.folder))
        if self.options.shard:
            computed = len(shards[first - 1 :: every])
            raise ShareComputed(
                f"{parts.folder}: {computed:,} of {count(len(shards), 'shard')} computed for "
                f"--shard {self.options.shard}; when all are, write the output: interloq data join {parts.folder}"
            )
        return (parts.read(shard.name) for shard in shards)


def _compute_here(task: ShardTask, pieces: Iterable[Sequence[Any]], step: Callable[[int], None]) -> Iterator[bytes]:
    compute: Compute | None = None
    for piece in pieces:
        compute = compute or task.open()
        result = compute(piece)
        step(len(piece))
        yield result


@contextmanager
def open_shards(
    options: ShardOptions,
    facts: Mapping[str, str],
    *,
    source: str | Path | None = "-",
    output: str | Path | None = None,
    resumes: bool = False,
    force: bool = False,
) -> Iterator[Shards]:
    """Open a run; `facts` name everything that its results depend on besides the version and the file `source`.

    Without a source (None), the facts name everything.

    Results are kept in `--parts`, or with workers, and always if the job `resumes`, in `OUTPUT.parts`, which is removed
    in the end. `force` discards `OUTPUT.parts` of another job.
    """
    engine: ShardEngine = ThisProcess()
    if isinstance(options.workers, str):
        engine = RayCluster(options.workers, options.tell)
    elif options.workers:
        engine = LocalProcesses(options.workers)
    is_pipe = str(source) == "-"
    if options.parts is not None and is_pipe:
        raise InputError("shards of a pipe cannot be computed again", hint="write the input to a file")
    if not options.is_used and (not resumes or is_pipe or str(output) == "-"):
        yield Shards(options, engine)
        return
    with ExitStack() as stack:
        folder, job = Path(f"{output}.parts"), {**facts, "version": __version__}
        if options.parts is not None:
            folder = Path(options.parts)
        elif is_pipe or output is None or str(output) == "-":
            folder = Path(stack.enter_context(TemporaryDirectory()))
        if source is not None and not is_pipe:
            job["input"] = file_fingerprint(Path(source))
        is_kept = options.parts is not None
        if force and not is_kept:
            discard_other_job(folder, job)
        parts = PartsFolder(folder, job, options.command)
        first, every = options.share
        stack.enter_context(hold_lock(folder / f"{first}-of-{every}.lock", where=folder))
        try:
            yield Shards(options, engine, parts)
        except BaseException:
            is_kept = is_kept or bool(parts.names)
            raise
        finally:
            if not is_kept:
                with writing(folder):
                    discard(folder)


def _describe_missing(missing: Sequence[Shard], total: int) -> str:
    ranges = ", ".join(f"{shard.start + 1:,}–{shard.end:,}" for shard in missing[:SHOWN])
    if len(missing) > SHOWN:
        ranges += " …"
    verb = "is" if len(missing) == 1 else "are"
    return f"{len(missing):,} of {count(total, 'shard')} {verb} missing: records {ranges}"
