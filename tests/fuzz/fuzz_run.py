"""Feeding variants to a reader: only the project's own errors may come out, soon, and with little memory."""

from __future__ import annotations

import contextlib
import resource
import signal
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from random import Random

from interloq.errors import InterloqError, ReadWarning, RejectedWarning
from tests.fuzz.fuzz_cases import Case
from tests.fuzz.fuzz_mutations import mutate

SECONDS = 10  # what a tiny file may take


class HangError(Exception):
    """A reader took longer than SECONDS."""


@contextlib.contextmanager
def limit_time() -> Iterator[None]:
    """Ends what hangs, and takes every warning that is not the project's for an error."""
    before = signal.signal(signal.SIGALRM, _hang)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for own in (RejectedWarning, ReadWarning):
                warnings.simplefilter("ignore", own)
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _hang(*_: object) -> None:
    raise HangError(f"no answer within {SECONDS} s")


def lay_out(case: Case, folder: Path) -> None:
    for name, data in case.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def try_seed(case: Case, folder: Path, seed: int) -> bool:
    """Whether the reader took the variant that a seed names; the file is put back afterwards."""
    rng = Random(seed)
    name = rng.choice(sorted(case.files))
    return try_bytes(case, folder, name, mutate(case.files[name], rng))


def try_bytes(case: Case, folder: Path, name: str, data: bytes) -> bool:
    (folder / name).write_bytes(data)
    try:
        with limit_time():
            case.read(folder)
    except InterloqError as error:
        if not str(error).strip():
            raise AssertionError("the error says nothing") from error
        return False
    finally:
        (folder / name).write_bytes(case.files[name])
    return True


def peak_mebibytes() -> float:
    """The most memory that this process has had."""
    unit = 1 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20
