"""Run `interloq` and note where its processor time goes: python benchmarks/_sampled.py STACKS.json ARGUMENT …

A timer of the processor interrupts the program; the time since the last interruption counts for the stack of functions
at that moment.
"""

from __future__ import annotations

import atexit
import json
import runpy
import signal
import sys
import time
from collections import defaultdict
from pathlib import Path
from types import FrameType

INTERVAL = 0.002  # seconds of the processor; some systems interrupt less often
SECONDS: defaultdict[tuple[str, ...], float] = defaultdict(float)
LAST = [0.0]  # processor time at the last interruption


def note_stack(_: int, frame: FrameType | None) -> None:
    """Note the stack of a frame, from the outermost function; the import system and this program are left out."""
    stack: list[str] = []
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith("<frozen") and code.co_filename != __file__:
            stack.append(f"{frame.f_globals.get('__name__', '?')}.{code.co_qualname}")
        frame = frame.f_back
    now = time.process_time()
    SECONDS[tuple(reversed(stack))] += now - LAST[0]
    LAST[0] = now


def write_stacks(path: Path) -> None:
    """End sampling, and write the stacks with their seconds."""
    signal.setitimer(signal.ITIMER_PROF, 0)
    path.write_text(json.dumps(list(SECONDS.items())))


if __name__ == "__main__":
    place = Path(sys.argv[1]).absolute()
    sys.argv = ["interloq", *sys.argv[2:]]
    atexit.register(write_stacks, place)
    signal.signal(signal.SIGPROF, note_stack)
    signal.setitimer(signal.ITIMER_PROF, INTERVAL, INTERVAL)
    runpy.run_module("interloq.cli", run_name="__main__")
