"""Runs commands in forks of one process that has everything loaded: a trial should kill work, not imports.

One JSON request per line on standard input: {"folder", "arguments", "log"}. The answers are two lines: the process id
at once, and the exit code when it has ended.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from signal import SIGKILL

HEAVY = ("torch", "transformers", "faiss", "numba", "duckdb", "rich.console", "rich.table", "rich.progress", "jinja2")
WEB = ("interloq.web.studies.backup", "interloq.web.serve")
CRASHED = 70  # exit code of a traceback


def serve() -> None:
    from interloq.cli.main import VERBS

    for name in (*HEAVY, *WEB, *(f"interloq.cli.{verb}" for verb in VERBS)):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if not child:
            _work(Path(request["folder"]), request["arguments"], request["log"])
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def _work(folder: Path, arguments: list[str], log: str) -> None:
    from interloq.cli.main import main

    os.setsid()
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(handle, 1)
    os.dup2(handle, 2)
    os.chdir(folder)
    try:
        code = main(arguments)
        sys.stdout.flush()
    except SystemExit as stop:
        code = int(stop.code or 0)
    except BaseException:
        traceback.print_exc()
        code = CRASHED
    os._exit(code)


@dataclass
class Server:
    """The other side of it. Two that run commands in one folder have different names, for their logs."""

    name: str = ""
    process: subprocess.Popen[str] = field(init=False)

    def __post_init__(self) -> None:
        command = [sys.executable, __file__]
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

    def run(self, folder: Path, arguments: list[str], *, kill_after: float | None = None) -> Run:
        """Run a command in a folder, whole or killed after so many seconds."""
        before, log = names(folder), folder.with_name(f"{folder.name}{self.name}.log")
        start, appeared = time.monotonic(), None
        with self._started(folder, arguments, log) as ended:
            while not ended.is_set():
                seconds = time.monotonic() - start
                if appeared is None and names(folder) != before:
                    appeared = seconds
                if kill_after is not None and seconds >= kill_after:
                    kill(self.pid)
                    kill_after = None
                ended.wait(0.001)
        seconds = time.monotonic() - start
        return Run(self.code, seconds, seconds if appeared is None else appeared, log)

    @contextlib.contextmanager
    def _started(self, folder: Path, arguments: list[str], log: Path) -> Iterator[Ended]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        request = {"folder": str(folder), "arguments": arguments, "log": str(log)}
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        self.pid = int(self.process.stdout.readline())
        yield Ended(self.process.stdout.fileno())
        self.code = int(self.process.stdout.readline())


@dataclass(frozen=True)
class Ended:
    """Whether the server has something to say."""

    handle: int

    def is_set(self) -> bool:
        return self.wait(0)

    def wait(self, seconds: float) -> bool:
        import select

        return bool(select.select([self.handle], [], [], seconds)[0])


@dataclass(frozen=True)
class Run:
    code: int
    seconds: float
    appeared: float  # seconds until something new was in the folder
    log: Path


def names(folder: Path) -> set[str]:
    return {f"{place}/{name}" for place, folders, files in os.walk(folder) for name in (*folders, *files)}


def kill(pid: int) -> None:
    """A command and the workers it has started."""
    try:
        os.killpg(pid, SIGKILL)
    except ProcessLookupError:  # it has no group of its own yet
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, SIGKILL)


if __name__ == "__main__":
    serve()
