"""Whose work is in a folder: a training job that was cut short resumes there, and any other is refused."""

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
    begun: bool,
    facts: str = "model.json",
    others: str = "other settings or other pairs",
    same: Callable[[], bool] | None = None,
) -> bool:
    """Whether this very job is done; a folder that holds anything else is refused.

    `begun` says whether work of any worth is in `<folder>/work`: before that the folder can be claimed. `facts` is the
    file that is written last; `same` says whether a finished folder is of this job (default: it names the job).
    """
    done, work = folder / facts, inside(folder, WORK)
    if begun and not done.exists() and not (work / JOB).is_file():
        raise InputError(
            f"{folder} holds a job that an earlier version left unfinished",
            hint=f"remove {folder}, and run the same command again",
        )
    if done.exists() or begun:
        if not (same() if same and done.exists() else _job(done if done.exists() else work / JOB) == job):
            raise InputError(
                f"{folder} holds a job with {others}",
                hint="give the same options and files to resume it; or choose another folder, or remove this one",
            )
        if done.exists():
            clear_work(folder)  # where a kill came between saving and cleaning up
        return done.exists()
    ours = is_free(work) or (work / JOB).is_file()
    if not is_free(folder) and (not ours or contents(folder) != [work]):
        raise InputError(f"{folder} exists and holds something else", hint="choose another folder")
    if _job(work / JOB) != job:
        clear_work(folder)
        write_json(work / JOB, {"job": job})
    return False


def clear_work(folder: Path) -> None:
    """Remove the files that a job needs only until it is done."""
    with writing(folder):
        discard(inside(folder, WORK))


def _job(path: Path) -> str:
    return str(read_json(path).get("job")) if path.exists() else ""
