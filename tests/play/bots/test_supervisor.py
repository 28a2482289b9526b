"""Programs end with whoever started them."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.play.made_programs import alive, ask, process


def gone(pid: int, within: float = 10.0) -> bool:
    """Ended, or a zombie that waits for whoever runs this machine to fetch it."""
    stop = time.monotonic() + within
    while time.monotonic() < stop:
        try:
            if not alive(pid) or "\nState:\tZ" in Path(f"/proc/{pid}/status").read_text():
                return True
        except (FileNotFoundError, ProcessLookupError):  # it ended between the two looks
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_programs_end_with_whoever_started_them(program: Path, how: signal.Signals) -> None:
    """Also what the programs have started themselves."""
    script = (
        "import sys, time; from interloq.play.bots.process import Process; from interloq.records import Turn\n"
        f"bot = Process((sys.executable, {str(program)!r}))\n"
        "print(bot.replies([[Turn('family')]], [0])[0].text, flush=True)\n"
        "time.sleep(600)"
    )
    running = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert running.stdout is not None
    family = [int(pid) for pid in running.stdout.readline().split()]
    assert len(family) == 2
    assert all(alive(pid) for pid in family)
    running.send_signal(how)
    running.communicate(timeout=20)
    assert all(gone(pid) for pid in family)


def test_what_a_program_started_ends_with_it(program: Path) -> None:
    bot = process(program)
    _, started = ask(bot, "family")[0].text.split()
    assert alive(int(started))
    assert ask(bot, "crash")[0].failure.startswith("crashed: exit status 3")
    assert gone(int(started))
    bot.close()
