"""Whose work is in a folder: a training job that was cut short goes on there, and any other is refused."""

from __future__ import annotations

import shutil
from pathlib import Path

from interloq.data.files import read_json
from interloq.errors import InputError
from interloq.models.store import FACTS, write_json

JOB = "job.json"


def claim(
    folder: Path, job: str, *, begun: bool, facts: str = FACTS, others: str = "other settings or other pairs"
) -> bool:
    """Whether this very job is done; a folder that holds anything else is refused.

    `begun` says whether work of any worth is in `<folder>/work`: before that a job is nobody's. `facts` is the file
    that is written last.
    """
    done, work = folder / facts, folder / "work"
    if done.exists() or begun:
        if _job(done if done.exists() else work / JOB) != job:
            raise InputError(
                f"{folder} holds a job with {others}",
                cure="give the same options and files to go on; or choose another folder, or remove this one",
            )
        if done.exists():
            shutil.rmtree(work, ignore_errors=True)  # where a kill came between saving and cleaning up
        return done.exists()
    if folder.exists() and (not folder.is_dir() or {path.name for path in folder.iterdir()} - {work.name}):
        raise InputError(f"{folder} exists and holds something else", cure="choose another folder")
    if _job(work / JOB) != job:
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        write_json(work / JOB, {"job": job})
    return False


def _job(path: Path) -> str:
    return str(read_json(path).get("job")) if path.exists() else ""
