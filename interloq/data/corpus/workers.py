# SPDX-License-Identifier: Apache-2.0
"""Worker processes that are safe to interrupt: on Ctrl-C running tasks finish, and no worker outlives its parent."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from interloq.errors import InterloqError


def cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def work(function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]], workers: int) -> Iterator[Any]:
    """Yield the results of the tasks as they finish; only as many tasks are submitted as keep the workers busy."""
    if workers <= 1:
        for task in tasks:
            yield function(*task)
        return
    context = multiprocessing.get_context("spawn")  # a fork would copy locks held by other threads
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=begin_worker)
    running: set[Future[Any]] = set()
    try:
        for task in tasks:
            running.add(pool.submit(function, *task))
            if len(running) >= 2 * workers:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in done)
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in done)
    except BrokenProcessPool as error:
        hint = "run it again to resume; fewer --workers need less memory"
        raise InterloqError(f"a worker process was killed; {hint}") from error
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def begin_worker() -> None:
    """Set up a worker: it ignores Ctrl-C, which the parent handles, and ends when the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
