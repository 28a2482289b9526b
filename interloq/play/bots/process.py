# SPDX-License-Identifier: Apache-2.0
"""A bot that is a program in any language: it reads and writes one JSON object per line.

→ {"id": 7, "turns": [{"speaker": "a", "text": "Hi!"}], "seed": 1}
← {"id": 7, "text": "Hello."}, and with "end": true to end the dialogue

The program is started without a shell, once per worker, and gets one request at a time. After a crash, it is restarted
and the request is repeated once; a program that takes too long is killed. The failure includes the end of its stderr.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import shlex
import shutil
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import IO, Annotated, Any, ClassVar

from interloq.errors import InputError
from interloq.options import limited
from interloq.play.bot import Bot
from interloq.records import Turn
from interloq.servers.replies import Reply, one_line
from interloq.signature import Signature, file_fingerprint, signature

EACH = 8  # dialogues per batch and worker
LARGEST = 1 << 20  # bytes of a line
TAIL = 2_000  # bytes of stderr that are kept
CHUNK = 1 << 16
BROKEN = ("crashed", "cannot be started", "timed out", "wrote")  # beginnings of failures caused by the program
SUPERVISOR = Path(__file__).with_name("supervisor.py")
PATIENCE = 5.0  # seconds until a thread must have noticed that its program was killed


@dataclass(frozen=True)
class Process(Bot, name="process"):
    """Talks to a program in JSON lines."""

    command: Annotated[tuple[str, ...], "program and arguments, run without a shell"]
    timeout: Annotated[float, "seconds per reply; for the first one, including the start"] = limited(60.0, above=0)
    workers: Annotated[int, "copies of the program that run at the same time"] = limited(1, least=1)
    restarts: Annotated[int, "crashes in a row after which a worker is not restarted"] = limited(3, least=0)
    waits: ClassVar[bool] = True  # for the program, so that other bots can run meanwhile

    def __post_init__(self) -> None:
        command: Any = self.command
        if not isinstance(command, list | tuple) or not command or not all(isinstance(part, str) for part in command):
            raise InputError(f"command must be a list of texts, got {command!r}", hint="write ('program','argument')")
        object.__setattr__(self, "command", tuple(command))
        super().__post_init__()

    @property
    def batch(self) -> int:  # type: ignore[override]  # computed, where others have a field
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
        """Return a text that names the program it starts."""
        return f"starts the program: {shlex.join(self.command)}"

    def signature(self) -> Signature:
        """Return the command, with fingerprints of the files that it names."""
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


class Ended(Exception):  # noqa: N818 - internal: it becomes a reply's failure
    """The program has ended or cannot be used any more; `crashed` if it caused that itself."""

    def __init__(self, failure: str, *, crashed: bool = False) -> None:
        super().__init__(failure)
        self.crashed = crashed


class Program:
    """A running program, started again after a crash."""

    def __init__(self, command: Sequence[str], *, timeout: float, restarts: int) -> None:
        self.command, self.timeout, self.restarts = list(command), timeout, restarts
        self.crashes = self.number = 0
        self.ended = False  # permanently: dialogues that still wait get no reply
        self._busy = threading.Lock()
        self._running: subprocess.Popen[bytes] | None = None
        self._lifeline: IO[bytes] | None = None  # the supervisor ends the program when this is closed
        self._read, self._stderr = b"", b""

    def reply(self, turns: Sequence[Turn], seed: int) -> Reply:
        """Return the next reply.

        After a crash the request is repeated once, because an earlier dialogue may be the cause.
        """
        with self._busy:
            last = ""
            for _ in range(2):
                if self.ended:
                    return Reply("", "closed")
                if self.crashes > self.restarts:
                    return Reply("", f"crashed {self.crashes} times in a row, not started again: {self._tail()}")
                try:
                    reply = self._request(turns, seed)
                    self.crashes = 0
                    return reply
                except Ended as ended:
                    last = str(ended)
                    self._stop()
                    if not ended.crashed:
                        break
                    self.crashes += 1
            return Reply("", last)

    def end(self) -> None:
        """Kill the program, even while a thread waits for its reply: that thread sees the end of output and stops."""
        self.ended = True
        self._kill()
        if self._busy.acquire(timeout=PATIENCE):
            try:
                self._stop()
            finally:
                self._busy.release()

    def _kill(self) -> None:
        """Kill the program and everything it started."""
        if self._lifeline is not None:
            self._lifeline.close()

    def _stop(self) -> None:
        self._kill()
        running, self._running = self._running, None
        if running is None:
            return
        try:
            running.wait(PATIENCE)
        except subprocess.TimeoutExpired:  # somebody has stopped the supervisor
            running.kill()
            running.wait()
        for pipe in (running.stdin, running.stdout, running.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def _request(self, turns: Sequence[Turn], seed: int) -> Reply:
        self.number += 1
        request = {
            "id": self.number,
            "turns": [{"speaker": turn.speaker, "text": turn.text} for turn in turns],
            "seed": seed,
        }
        deadline, passed_over = time.monotonic() + self.timeout, 0
        waiting = json.dumps(request).encode() + b"\n"  # escaped, so that lone surrogates can be sent
        running = self._start()
        while True:
            while b"\n" in self._read:
                line, _, self._read = self._read.partition(b"\n")
                if (reply := self._answer(line)) is not None:
                    return reply
                passed_over += len(line)
            if passed_over > LARGEST:
                raise Ended(f"wrote more than {LARGEST >> 20} MiB with other ids than the one asked for")
            waiting = self._exchange(running, waiting, deadline)

    def _start(self) -> subprocess.Popen[bytes]:
        if self._running is not None and self._running.poll() is None:
            return self._running
        self._stop()
        if shutil.which(self.command[0]) is None:
            raise Ended(f"cannot be started: no program {self.command[0]!r}", crashed=True)
        self._running = self._start_supervised()
        self._read = self._stderr = b""
        for end in (self._running.stdin, self._running.stdout, self._running.stderr):
            os.set_blocking(end.fileno(), False)  # type: ignore[union-attr]
        if self.ended:  # closed by another thread, which may have been too early to kill this one
            raise Ended("closed")
        return self._running

    def _start_supervised(self) -> subprocess.Popen[bytes]:
        """Start the command under a supervisor that ends it when this process ends for any reason."""
        watched, lifeline = os.pipe()
        self._lifeline = os.fdopen(lifeline, "wb", buffering=0)
        command = [sys.executable, "-I", "-S", str(SUPERVISOR), str(watched), *self.command]
        pipe = subprocess.PIPE
        try:
            return subprocess.Popen(  # noqa: S603 - the user's own command, without a shell
                command,
                stdin=pipe,
                stdout=pipe,
                stderr=pipe,
                bufsize=0,
                start_new_session=True,  # Ctrl-C is for us
                pass_fds=(watched,),
            )
        except OSError as error:
            raise Ended(f"cannot be started: {error}", crashed=True) from error
        finally:
            os.close(watched)

    def _exchange(self, running: subprocess.Popen[bytes], waiting: bytes, deadline: float) -> bytes:
        """Send and receive what is possible now; return what is still to be sent."""
        with selectors.DefaultSelector() as ready:
            for end in (running.stdout, running.stderr):
                if end is not None and not end.closed:
                    ready.register(end, selectors.EVENT_READ)
            if waiting and running.stdin:
                ready.register(running.stdin, selectors.EVENT_WRITE)
            events = ready.select(max(0.0, deadline - time.monotonic()))
        if time.monotonic() >= deadline:  # also if it writes endlessly
            raise Ended(f"timed out after {self.timeout:g} s{self._tail(': ')}")
        for key, _ in events:
            if key.fileobj is running.stdin:
                waiting = self._send(running, waiting)
            else:
                self._receive(running, key.fileobj)
        return waiting

    def _send(self, running: subprocess.Popen[bytes], waiting: bytes) -> bytes:
        try:
            return waiting[os.write(running.stdin.fileno(), waiting[:CHUNK]) :]  # type: ignore[union-attr]
        except BlockingIOError:
            return waiting
        except OSError:  # it no longer reads, but its output may contain the reason
            return b""

    def _receive(self, running: subprocess.Popen[bytes], end: Any) -> None:
        try:
            data = os.read(end.fileno(), CHUNK)
        except BlockingIOError:
            return
        if running.stderr is not None and end is running.stderr:
            self._stderr = (self._stderr + data)[-TAIL:]
            if not data:  # closed by the program: nothing to wait for
                running.stderr.close()
            return
        if not data:
            self._last_words(running)
            raise Ended(f"crashed: {_status(running)}{self._tail(': ')}", crashed=True)
        self._read += data
        if len(self._read) > LARGEST and b"\n" not in self._read:
            raise Ended(f"wrote a line of more than {LARGEST >> 20} MiB")

    def _last_words(self, running: subprocess.Popen[bytes]) -> None:
        """Read the rest of stderr after stdout was closed."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            running.wait(1.0)
        with contextlib.suppress(OSError, ValueError):
            while data := os.read(running.stderr.fileno(), CHUNK):  # type: ignore[union-attr]
                self._stderr = (self._stderr + data)[-TAIL:]

    def _answer(self, line: bytes) -> Reply | None:
        """Return the reply in a line, or None if the line answers an earlier request."""
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            return Reply("", f"wrote no JSON: {one_line(line[:200].decode('utf-8', 'replace'))}")
        if not isinstance(value, dict) or "id" not in value:
            return Reply("", "wrote a line without an id")
        if value["id"] != self.number:
            return None
        text = value.get("text", "")
        failure = value.get("failure", value.get("trouble", ""))  # programs may use the earlier name
        if not isinstance(text, str) or not isinstance(failure, str):
            return Reply("", "wrote something that is not text")
        return Reply(text, failure, ends=value.get("end") is True)

    def _tail(self, before: str = "") -> str:
        text = one_line(self._stderr.decode("utf-8", "replace")[-250:])
        return before + text if text else ""


def _status(running: subprocess.Popen[bytes]) -> str:
    code = running.poll()
    if code is None:
        return "closed its output"
    return f"killed by signal {-code}" if code < 0 else f"exit status {code}"
