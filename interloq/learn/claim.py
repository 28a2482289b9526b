# SPDX-License-Identifier: Apache-2.0
"""Claim a folder for a training job: the same interrupted job resumes, any other job is refused.

One process at a time works in a folder, with a lock on `<folder>/work/lock` that ends with the process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from interloq.data.files.durable import discard, hold_lock, make_folder
from interloq.data.files.folders import contents, inside, is_free
from interloq.data.files.opening import read_json, write_json
from interloq.data.files.write_errors import writing
from interloq.errors import InputError

JOB, LOCK, WORK = "job.json", "lock", "work"


@contextmanager
def claim(
    folder: Path,
    job: str,
    *,
    started: Callable[[Path], bool],
    facts: str = "model.json",
    others: str = "other settings or other pairs",
    same: Callable[[], bool] | None = None,
) -> Iterator[bool]:
    """Hold the folder for this job and yield whether it is already done; a folder with anything else is refused.

    `started(work)`: whether `<folder>/work` has work worth keeping; before that, another job may claim the folder,
    unless the first is still running. `facts` is the file that is written last. `same` says whether a finished folder
    belongs to this job (default: compare the ids).
    """
    done, work = folder / facts, inside(folder, WORK)
    with ExitStack() as stack:
        if not done.exists() or work.exists():  # else there is nothing to write
            if not done.exists() and not started(work):
                is_ours = is_free(work, LOCK) or (work / JOB).is_file()
                if not is_free(folder) and (not is_ours or contents(folder) != [work]):
                    raise InputError(f"{folder} exists and contains other files", hint="choose another folder")
            with writing(folder):
                make_folder(work)
            stack.enter_context(hold_lock(inside(folder, WORK, LOCK), where=folder))
        if done.exists():
            _check_same(folder, same() if same else _job(done) == job, others)
            clear_work(folder)  # in case it was killed between saving and cleaning up
            yield True
        else:
            _begin(folder, work, job, started=started(work), others=others)
            yield False


def _check_same(folder: Path, same: bool, others: str) -> None:
    if not same:
        raise InputError(
            f"{folder} contains a job with {others}",
            hint="use the same settings and files to resume it, choose another folder, or remove this one",
        )


def _begin(folder: Path, work: Path, job: str, *, started: bool, others: str) -> None:
    """Resume this job, or replace another one that has no work worth keeping."""
    if started and not (work / JOB).is_file():
        raise InputError(
            f"{folder} contains an unfinished job of an earlier version", hint=f"remove {folder} and start over"
        )
    if _job(work / JOB) == job:
        return
    _check_same(folder, not started, others)
    with writing(folder):
        for path in contents(work):
            if path.name not in (JOB, LOCK):
                discard(path)
    write_json(work / JOB, {"job": job})


def clear_work(folder: Path) -> None:
    """Remove the job's temporary files."""
    with writing(folder):
        discard(inside(folder, WORK))


def _job(path: Path) -> str:
    return str(read_json(path).get("job")) if path.exists() else ""
