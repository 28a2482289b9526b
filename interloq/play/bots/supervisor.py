# SPDX-License-Identifier: Apache-2.0
"""Run one program, and end it and everything it started as soon as the parent process ends.

    python supervisor.py FD COMMAND …

FD is the read end of a pipe whose write end the parent keeps open and never writes to. The system closes that end when
the parent ends for any reason (even `kill -9`); then the program's process group is killed. This works on Linux and
macOS. Linux's own signal (PR_SET_PDEATHSIG) would be sent when the *thread* that started the program ends.

Only the program uses the standard streams, and this process ends as the program does: with its exit status or signal.
It imports only the standard library, so that it starts in a few hundredths of a second.
"""

from __future__ import annotations

import contextlib
import os
import resource
import selectors
import signal
import subprocess
import sys
from collections.abc import Sequence

CANNOT_START = 126


def main(arguments: Sequence[str]) -> int:
    """Run a command, and end it and its children when the parent ends."""
    parent, command = int(arguments[0]), list(arguments[1:])
    ended, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)  # wakes the loop below
    try:
        program = subprocess.Popen(command, start_new_session=True)  # noqa: S603 - the user's command, without a shell
    except OSError as error:
        sys.stderr.write(f"cannot be started: {error}\n")
        return CANNOT_START
    # readers of the program's output see when it ends only if the standard streams are closed here
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    _wait(program, parent, ended)
    with contextlib.suppress(ProcessLookupError, PermissionError):  # what it started may outlive it
        os.killpg(program.pid, signal.SIGKILL)
    return program.wait()


def _wait(program: subprocess.Popen[bytes], parent: int, ended: int) -> None:
    """Wait until the program or the parent has ended, or this process gets a signal to end."""
    with selectors.DefaultSelector() as ready:
        ready.register(parent, selectors.EVENT_READ)
        ready.register(ended, selectors.EVENT_READ)
        while program.poll() is None:
            files = {key.fileobj for key, _ in ready.select()}
            if parent in files or set(os.read(ended, 64)) - {signal.SIGCHLD}:
                return


def _end_alike(status: int) -> None:
    if status < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # only the program may leave a core file
        with contextlib.suppress(OSError):  # SIGKILL has no handler to reset
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    sys.exit(status)


if __name__ == "__main__":
    _end_alike(main(sys.argv[1:]))
