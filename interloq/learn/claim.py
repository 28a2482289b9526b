# SPDX-License-Identifier: Apache-2.0
"""Claim a folder for a training job: the same interrupted job resumes, any other job is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from interloq.data.durable import discard
from interloq.data.files import read_json, write_json
from interloq.data.folders import contents, inside, is_free
from interloq.data.write_errors import writing
from interloq.errors import InputError

JOB, WORK = "job.json", "work"


def claim(
    folder: Path,
    job: str,
    *,
    started: bool,
    facts: str = "model.json",
    others: str = "other settings or other pairs",
    same: Callable[[], bool] | None = None,
) -> bool:
    """Whether this job is already done; a folder with anything else is refused.

    `started`: `<folder>/work` has work worth keeping; before that, another job may claim the folder. `facts` is the
    file that is written last. `same` says whether a finished folder belongs to this job (default: compare the ids).
    """
    done, work = folder / facts, inside(folder, WORK)
    if started and not done.exists() and not (work / JOB).is_file():
        raise InputError(
            f"{folder} contains an unfinished job of an earlier version",
            hint=f"remove {folder} and start over",
        )
    if done.exists() or started:
        if not (same() if same and done.exists() else _job(done if done.exists() else work / JOB) == job):
            raise InputError(
                f"{folder} contains a job with {others}",
                hint="use the same settings and files to resume it, choose another folder, or remove this one",
            )
        if done.exists():
            clear_work(folder)  # in case it was killed between saving and cleaning up
        return done.exists()
    ours = is_free(work) or (work / JOB).is_file()
    if not is_free(folder) and (not ours or contents(folder) != [work]):
        raise InputError(f"{folder} exists and contains other files", hint="choose another folder")
    if _job(work / JOB) != job:
        clear_work(folder)
        write_json(work / JOB, {"job": job})
    return False


def clear_work(folder: Path) -> None:
    """Remove the job's temporary files."""
    with writing(folder):
        discard(inside(folder, WORK))


def _job(path: Path) -> str:
    return str(read_json(path).get("job")) if path.exists() else ""
