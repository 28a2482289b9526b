# SPDX-License-Identifier: Apache-2.0
"""A bot that is a program in any language: it reads and writes one JSON object per line.

→ {"id": 7, "turns": [{"speaker": "a", "text": "Hi!"}], "seed": 1}
← {"id": 7, "text": "Hello."}

The program is started without a shell, once per worker, and gets one request at a time. After a crash it is restarted
and the request repeated once; a program that takes too long is killed. The failure includes the end of its stderr.
"""

from __future__ import annotations

import shlex
import shutil
import weakref
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar

from interloq.errors import InputError
from interloq.play.bots.program import BROKEN, Program
from interloq.records import Turn
from interloq.registry import Component
from interloq.servers.replies import Reply
from interloq.signature import Signature, file_fingerprint, signature

EACH = 8  # dialogues per batch and worker


@dataclass(frozen=True)
class Process(Component):
    """Talks to a program in JSON lines."""

    command: Annotated[tuple[str, ...], "program and arguments, run without a shell"]
    timeout: Annotated[float, "seconds per reply; for the first one, including the start"] = 60.0
    workers: Annotated[int, "copies of the program that run at the same time"] = 1
    restarts: Annotated[int, "crashes in a row after which a worker is not restarted"] = 3
    waits: ClassVar[bool] = True  # for the program, so that other bots can run meanwhile

    def __post_init__(self) -> None:
        command: Any = self.command
        if not isinstance(command, list | tuple) or not command or not all(isinstance(part, str) for part in command):
            raise InputError(f"command must be a list of texts, got {command!r}", hint="write ('program','argument')")
        object.__setattr__(self, "command", tuple(command))
        super().__post_init__()
        if self.timeout <= 0 or self.workers < 1 or self.restarts < 0:
            raise InputError("timeout must be above 0, workers at least 1, restarts not negative")

    @property
    def batch(self) -> int:
        """A few per program: larger batches are not faster, and their dialogues would be finished later."""
        return EACH * self.workers

    def replies(self, dialogues: Sequence[Sequence[Turn]], seeds: Sequence[int]) -> list[Reply]:
        for program in self._programs:
            program.ended = False
        shares = [range(i, len(dialogues), self.workers) for i in range(self.workers)]
        replies = [Reply("")] * len(dialogues)

        def speak(program: Program, share: range) -> None:
            for i in share:
                replies[i] = program.reply(dialogues[i], seeds[i])

        with ThreadPoolExecutor(self.workers) as threads:
            try:
                list(threads.map(speak, self._programs, shares))
            except BaseException:  # Ctrl-C: otherwise threads would continue to the last dialogue
                self.close()
                raise
        return replies

    def try_out(self, turns: Sequence[Turn]) -> None:
        """Send one request; a program that crashes on it or gives an invalid answer would not answer others either."""
        (reply,) = self.replies([turns], [0])
        if reply.failure.startswith(BROKEN):
            raise InputError(
                f"the program does not answer: {reply.failure}",
                hint="run it by hand and give it a request on standard input",
                where=shlex.join(self.command),
            )

    @property
    def side_effect(self) -> str:
        """Text that names the program it starts."""
        return f"starts the program: {shlex.join(self.command)}"

    def signature(self) -> Signature:
        """The command, with fingerprints of the files that it names."""
        if shutil.which(self.command[0]) is None:
            raise InputError(f"no program {self.command[0]!r}", hint="check its name and that it is executable")
        files = [file_fingerprint(Path(part)) for part in self.command if Path(part).is_file()]
        bare = replace(self, timeout=60.0, workers=1, restarts=3)
        return signature(bare, files="-".join(files) or "none")

    def close(self) -> None:
        """Stop the programs."""
        for program in self._programs:
            program.end()

    @cached_property
    def _programs(self) -> list[Program]:
        programs = [Program(self.command, timeout=self.timeout, restarts=self.restarts) for _ in range(self.workers)]
        for program in programs:
            weakref.finalize(self, program.end)  # also at the end of Python
        return programs
