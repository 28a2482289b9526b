"""A trial: a command is killed at random moments, then run to its end; all files must be those of undisturbed runs."""

from __future__ import annotations

import secrets
import shutil
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from random import Random

from tests.kill.kill_server import Run, Server
from tests.kill.kill_verbs import Verb

TIMES = {"training_times.json"}  # say how long it took
RUN = "run"  # always the same place: some models name the folders they were made from
MOST_KILLS = 3
REFUSED = 2


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


def undisturbed(server: Server, verb: Verb, folder: Path) -> Reference:
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
        raise TrialError(f"two undisturbed runs differ: {differing(*found)} in {folder}")
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
    found = content(folder)
    if found != known.content:
        kept = folder.with_name(f"failed-{secrets.token_hex(3)}")
        folder.rename(kept)
        raise TrialError(f"{differing(found, known.content)} in {kept}")
    return killed


def content(folder: Path) -> dict[str, str]:
    """Everything in a folder, parts and hidden files too."""
    return {
        str(path.relative_to(folder)): sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        for path in sorted(folder.rglob("*"))
        if path.name not in TIMES
    }


def differing(one: dict[str, str], two: dict[str, str]) -> str:
    names = [name for name in sorted(one.keys() | two.keys()) if one.get(name) != two.get(name)]
    return ", ".join(f"{name} ({'+' if name not in two else '-' if name not in one else '≠'})" for name in names)


def _check(run: Run, *codes: int) -> None:
    if run.code not in codes:
        raise TrialError(f"exit code {run.code}, not {codes[0]}; {run.log}:\n{run.log.read_text()[-1500:]}")
