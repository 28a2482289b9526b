# SPDX-License-Identifier: Apache-2.0
"""Shards in local processes. A process that dies is replaced, and its shard is computed again."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import traceback
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pickle import PicklingError
from typing import Any

from interloq.data.corpus.workers import begin_worker
from interloq.errors import InputError, InterloqError
from interloq.shards.task import Compute, Shard, ShardTask, open_task

ATTEMPTS = 3  # a shard that kills so many processes is an error
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
Message = tuple[str, Any, list[tuple[type[Warning], str]]]  # "ready", "done" or "failed"; result or error; warnings


@dataclass(eq=False)
class _LocalWorker:
    process: Any
    connection: Connection
    shard: Shard | None = None
    is_ready: bool = False  # it has opened the task


@dataclass(frozen=True)
class LocalProcesses:
    """An engine of `workers` processes. Each holds one shard; as many wait in memory."""

    workers: int

    def run(self, task: ShardTask, shards: Iterable[Shard], deliver: Callable[[Shard, bytes], None]) -> None:
        rest, waiting = iter(shards), deque[Shard]()
        workers: dict[Connection, _LocalWorker] = {}
        deaths = Counter[str]()
        try:
            while True:
                while len(waiting) < self.workers and (shard := next(rest, None)):
                    waiting.append(shard)
                held = sum(worker.shard is not None for worker in workers.values())
                if not waiting and not held:
                    return
                while len(workers) < min(self.workers, held + len(waiting)):
                    worker = _start(task)
                    workers[worker.connection] = worker
                for worker in workers.values():
                    if waiting and worker.is_ready and worker.shard is None:
                        worker.shard = waiting.popleft()
                        with contextlib.suppress(OSError):  # it has died, and is found below
                            worker.connection.send(worker.shard.records)
                for connection in wait(list(workers)):
                    worker = workers[connection]  # type: ignore[index]
                    shard, died = worker.shard, not _receive(worker, deliver)
                    if died:
                        del workers[worker.connection]
                        _stop(worker)
                        name = shard.name if shard else ""
                        deaths[name] += 1
                        if deaths[name] == ATTEMPTS:
                            raise report_deaths(shard)
                        if shard:
                            waiting.appendleft(shard)
                    else:
                        deaths.pop("", None)  # models can be loaded: only deaths in a row show that they cannot
        finally:
            for worker in workers.values():
                _stop(worker)


def _receive(worker: _LocalWorker, deliver: Callable[[Shard, bytes], None]) -> bool:
    """Take a message from a worker; return False if it has died."""
    try:
        message = worker.connection.recv()
    except (EOFError, OSError):
        return False
    result = read_message(message)
    if worker.shard:
        shard, worker.shard = worker.shard, None
        deliver(shard, result)
    worker.is_ready = True
    return True


def read_message(message: Message) -> bytes:
    """Return the result that a worker sends; pass on its warnings and errors."""
    kind, content, heard = message
    for category, text in heard:
        warnings.warn(text, category, stacklevel=2)
    if kind == "failed":
        raise content
    result: bytes = content
    return result


def report_deaths(shard: Shard | None) -> InterloqError:
    """Return the error for a shard, or a start, that killed too many workers."""
    what = f"records {shard.start + 1:,} to {shard.end:,}" if shard else "the models"
    doing = f"{ATTEMPTS} worker processes were killed while they computed {what}"
    if shard is None:
        doing = f"{ATTEMPTS} worker processes were killed before they could compute anything"
    return InterloqError(f"{doing}; look for a lack of memory, use fewer --workers, and run it again to resume")


def _start(task: ShardTask) -> _LocalWorker:
    context = multiprocessing.get_context("spawn")  # a fork would copy locks held by other threads
    own, other = context.Pipe()
    process = context.Process(target=_serve, args=(other, task), daemon=True)
    try:
        with _single_thread():
            process.start()
    except (PicklingError, AttributeError, TypeError) as error:
        what = f"this job cannot be sent to another process: {error}"
        raise InputError(what, hint="run it without --workers") from error
    other.close()
    return _LocalWorker(process, own)


@contextlib.contextmanager
def _single_thread() -> Iterator[None]:
    """Let libraries in new processes use one thread, whatever the number of workers."""
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value


def _stop(worker: _LocalWorker) -> None:
    worker.connection.close()
    worker.process.terminate()
    worker.process.join()
    worker.process.close()


def _serve(connection: Connection, task: ShardTask) -> None:
    """Compute shards until the connection is closed."""
    begin_worker()
    computer = Computer(task)
    records: Any = None
    while True:
        try:
            connection.send(computer.answer(records))
            records = connection.recv()
        except (EOFError, OSError):
            return


class Computer:
    """A task in a worker process."""

    def __init__(self, task: ShardTask) -> None:
        self.task = task
        self._compute: Compute | None = None

    def answer(self, records: Sequence[Any] | None) -> Message:
        """Return the result of records, or why there is none, with the warnings; without records, open the task."""
        message: tuple[str, Any]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                self._compute = self._compute or open_task(self.task)
                message = ("ready", b"") if records is None else ("done", self._compute(records))
            except InterloqError as error:
                message = ("failed", InputError(str(error)))
            except Exception:
                message = ("failed", RuntimeError(f"in a worker process:\n{traceback.format_exc()}"))
        heard = [(each.category, str(each.message)) for each in caught if issubclass(each.category, UserWarning)]
        return (*message, heard)
