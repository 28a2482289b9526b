"""A task for tests: it squares numbers, and may fail or be killed on one of them."""

from __future__ import annotations

import os
import signal
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from interloq.errors import InputError
from interloq.shards.task import Compute

KILL, WARN, REFUSE, BREAK = 13, 17, 19, 23


@dataclass(frozen=True)
class Squares:
    """Squares; each shard is noted in a folder, so that tests can count who computed what."""

    folder: Path
    kills: int = 0  # how often the process dies that gets KILL
    trouble: bool = False
    signature: str = "squares"
    here: str = "squares"
    uses_gpu: bool = False
    kills_at: tuple[int, ...] = ()  # the process that opens the task as the nth dies

    def identify(self) -> str:
        return self.here

    def open(self) -> Compute:
        opened = 1 + len(list(self.folder.glob("open-*")))
        if self.kills_at:
            (self.folder / f"open-{opened}").touch()
        if opened in self.kills_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return self._compute

    def _compute(self, numbers: Sequence[int]) -> bytes:
        note = self.folder / f"{numbers[0]}-{os.getpid()}-{time.monotonic_ns()}"
        note.touch()
        before = len(list(self.folder.glob(f"{numbers[0]}-*")))
        if KILL in numbers and before <= self.kills:
            os.kill(os.getpid(), signal.SIGKILL)
        if self.trouble and WARN in numbers:
            warnings.warn("seventeen", UserWarning, stacklevel=1)
        if self.trouble and REFUSE in numbers:
            raise InputError("nineteen cannot be squared", hint="use eighteen")
        if self.trouble and BREAK in numbers:
            raise ZeroDivisionError
        return b" ".join(str(number**2).encode() for number in numbers)
