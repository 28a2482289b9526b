# SPDX-License-Identifier: Apache-2.0
"""What is computed from all answers of a large task: in a process of its own, so that the pages never wait for it.

Threads would not do: Python runs one of them at a time, and a page would wait for each computation. A task with few
answers is computed at once.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from threading import Lock
from typing import Any, TypeVar

from sqlalchemy import func, select

from interloq.data.corpus.workers import begin_worker
from interloq.web.admin.stop import close_if_settled, is_item_complete
from interloq.web.database import Database, open_database
from interloq.web.schema import assignment

LARGE = 200  # finished pages of a task that is computed elsewhere
NICENESS = 10  # pages come first if there are fewer cores than work
_Value = TypeVar("_Value")
_database: Database  # of the process, while it runs


class StudyWorker:
    """Computes on a study; the process is started when it is first needed."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._lock = Lock()
        self._pool: ProcessPoolExecutor | None = None
        self._again: dict[int, bool] = {}  # tasks that are looked at, and whether to look once more

    def compute(self, job: Callable[..., _Value], number: int, *values: Any) -> _Value:
        """Return `job(database, number, *values)` for the task with this number."""
        finished = select(func.count(assignment.c.finished)).where(assignment.c.task_id == number)
        with self.database.reading() as connection:
            large = connection.execute(finished).scalar_one() >= LARGE
        if not large:
            return job(self.database, number, *values)
        try:
            return self._start().submit(_compute, job, number, *values).result()
        except BrokenProcessPool:  # the process was killed
            self.close()
            return self._start().submit(_compute, job, number, *values).result()

    def stop_when_settled(self, number: int, assignment_id: int) -> None:
        """Close a task after a page that completed an item, if this settled its ranking.

        Items that are completed while a ranking is looked at are looked at together, afterwards.
        """
        if not is_item_complete(self.database, number, assignment_id):
            return
        with self._lock:
            if number in self._again:
                self._again[number] = True
                return
            self._again[number] = True
        while self._is_due(number):
            try:
                self.compute(close_if_settled, number)
            except BaseException:
                del self._again[number]
                raise

    def _is_due(self, number: int) -> bool:
        """Return whether to look at the ranking of a task once more; otherwise, forget that it is looked at."""
        with self._lock:
            due = self._again.pop(number)
            if due:
                self._again[number] = False
        return due

    def _start(self) -> ProcessPoolExecutor:
        with self._lock:
            if self._pool is None:
                context = multiprocessing.get_context("spawn")  # a fork would copy locks held by other threads
                self._pool = ProcessPoolExecutor(1, context, _begin, (self.database.place,))
            return self._pool

    def close(self) -> None:
        """End the process after what it computes now."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(cancel_futures=True)


def _begin(place: Any) -> None:
    """Set up the process: it opens the study, and leaves the processor to the pages."""
    global _database
    begin_worker()
    os.nice(NICENESS)
    _database = open_database(place, create=False)


def _compute(job: Callable[..., _Value], number: int, *values: Any) -> _Value:
    return job(_database, number, *values)
