"""A trial: a command is killed at random moments, then run to its end; all files must be those of undisturbed runs."""

from __future__ import annotations

import secrets
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from random import Random
from signal import SIGKILL

from tests.kill.kill_server import Run, Server
from tests.kill.kill_verbs import Verb

TIMES = {"training_times.json"}  # say how long it took
RUN = "run"  # always the same place: some models name the folders they were made from
MOST_KILLS = 3
REFUSED = 2
KILLED_FIRST = 0.3  # share of trials with two commands in which the first is killed


class TrialError(AssertionError):
    """What differed, and where to look at it."""


@dataclass(frozen=True)
class Reference:
    """An undisturbed run."""

    inputs: Path
    content: dict[str, str]
    code: int
    first: float  # seconds until it began to write
    seconds: float


def run_undisturbed(server: Server, verb: Verb, folder: Path) -> Reference:
    """Two runs, as the first is slower and both must give the same."""
    inputs = folder / "inputs"
    inputs.mkdir(parents=True)
    verb.make(inputs)
    for command in verb.before:
        _check(server.run(inputs, Verb("", command, verb.make).arguments), 0)
    runs, found = [], []
    for name in ("first", "second"):
        shutil.copytree(inputs, folder / RUN)
        runs.append(server.run(folder / RUN, verb.arguments))
        _check(runs[-1], 0)
        found.append(content(folder / RUN))
        (folder / RUN).rename(folder / name)
    if found[0] != found[1]:
        raise TrialError(f"two undisturbed runs differ: {name_differences(*found)} in {folder}")
    return Reference(inputs, found[0], runs[1].code, runs[1].appeared, runs[1].seconds)


def trial(server: Server, verb: Verb, known: Reference, rng: Random) -> int:
    """Returns how often the command was killed."""
    folder = known.inputs.parent / RUN
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(known.inputs, folder)
    killed, first, seconds = 0, known.first, known.seconds
    for _ in range(rng.randint(1, MOST_KILLS)):
        moment = rng.uniform(0.7 * first, 0.95 * seconds)
        run = server.run(folder, verb.arguments, kill_after=moment)
        killed += run.code < 0
        if run.code >= 0:  # it ended before the kill: the undisturbed run was slower, on a busier machine
            _check(run, known.code, *([REFUSED] if verb.once else []))
            first, seconds = min(first, run.appeared), min(seconds, run.seconds)
    _check(server.run(folder, verb.arguments), known.code, *([REFUSED] if verb.once else []))
    _compare(folder, known)
    return killed


def _compare(folder: Path, known: Reference) -> None:
    found = content(folder)
    if found != known.content:
        kept = folder.with_name(f"failed-{secrets.token_hex(3)}")
        folder.rename(kept)
        raise TrialError(f"{name_differences(found, known.content)} in {kept}")


def rival_trial(first: Server, second: Server, verb: Verb, known: Reference, rng: Random) -> bool:
    """Run a command twice in one folder at once; returns whether the second one met the first at work.

    The second is refused, or finds that everything is done. The first is never disturbed, unless it is killed here:
    then the second may finish the work. Whatever happens, the files end as those of an undisturbed run.
    """
    folder = known.inputs.parent / RUN
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(known.inputs, folder)
    kill_after = rng.uniform(0.7 * known.first, 0.95 * known.seconds) if rng.random() < KILLED_FIRST else None
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(first.run, folder, verb.arguments, kill_after=kill_after)
        time.sleep(rng.uniform(known.first, known.seconds))
        late = second.run(folder, verb.arguments)
        early = running.result()
    _check(early, known.code, *([-SIGKILL] if kill_after is not None else []))
    _check(late, known.code, REFUSED)
    if late.code == REFUSED and "another process" not in late.log.read_text():
        raise TrialError(f"refused for another reason; {late.log}:\n{late.log.read_text()[-1500:]}")
    _check(first.run(folder, verb.arguments), known.code)
    _compare(folder, known)
    return late.code == REFUSED


def content(folder: Path) -> dict[str, str]:
    """Everything in a folder, parts and hidden files too."""
    return {
        str(path.relative_to(folder)): sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        for path in sorted(folder.rglob("*"))
        if path.name not in TIMES
    }


def name_differences(one: dict[str, str], two: dict[str, str]) -> str:
    names = [name for name in sorted(one.keys() | two.keys()) if one.get(name) != two.get(name)]
    return ", ".join(f"{name} ({'+' if name not in two else '-' if name not in one else '≠'})" for name in names)


def _check(run: Run, *codes: int) -> None:
    if run.code not in codes:
        raise TrialError(f"exit code {run.code}, not {codes[0]}; {run.log}:\n{run.log.read_text()[-1500:]}")
