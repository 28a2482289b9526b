"""Speed and memory of the packaged judges on a processor, each way in fresh processes, in turns.

The ways are float32 with torch's own linear layers, float32 as packaged, and `precision='int8'`. Contexts have one to
four turns of the embedded log. Each way runs `--rounds` times, in turns with the others, so that other programs on
the machine slow all of them alike. Medians are printed: replies per second of the clock and of the processor, the
ratio to torch's own layers, seconds of the processor until the first score, imports included, and the peak memory of
the process.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from _figures import Figure, add_json_option, report

WAYS = {"float32, torch's layers": ("float32", False), "float32": ("float32", True), "int8": ("int8", True)}
FIRST = 8  # replies scored before the clock starts


def measure(name: str, way: str, replies: int) -> dict[str, float]:
    """Score made samples in this process."""
    precision, fast = WAYS[way]
    from relevance_ready import made

    from interloq.metrics.trained.judge import Judge
    from interloq.models import cpu_linear

    if not fast:
        cpu_linear._has_onednn = lambda: False
    samples, judge = made(replies), Judge(name, precision=precision)  # type: ignore[arg-type]
    judge.stats(samples[:1])
    first_answer = time.process_time()
    judge.stats(samples[:FIRST])
    clock, processor = time.perf_counter(), time.process_time()
    judge.stats(samples)
    per_clock = replies / (time.perf_counter() - clock)
    status = Path("/proc/self/status").read_text().splitlines()
    peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1e3
    return {
        "clock": per_clock,
        "processor": replies / (time.process_time() - processor),
        "first": first_answer,
        "peak": peak,
    }


def run_fresh(name: str, way: str, replies: int, threads: int) -> dict[str, float]:
    """Measure in a new process."""
    command = [sys.executable, __file__, "--judges", name, "--way", way, "--replies", str(replies)]
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)  # noqa: S603
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1]
        raise SystemExit(f"judge_ready: {name}, {way} failed: {last}")
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def compare_ways(name: str, args: argparse.Namespace) -> list[Figure]:
    """Measure one judge in all ways, in turns; the others stand beside the first."""
    runs: dict[str, list[dict[str, float]]] = {way: [] for way in WAYS}
    for _ in range(args.rounds):
        for way, found in runs.items():
            found.append(run_fresh(name, way, args.replies, args.threads))
    peer = next(iter(WAYS))
    figures = []
    for way, found in runs.items():
        middle = {part: float(np.median([one[part] for one in found])) for part in found[0]}
        label = f"{name}, {way}"
        rate, other = middle["processor"], None
        if way != peer:
            ratios = [one["processor"] / base["processor"] for one, base in zip(found, runs[peer], strict=True)]
            other = rate / float(np.median(ratios))
        figures.append(Figure(f"{label}, replies by processor time", rate, "/s", other, peer=peer))
        figures.append(Figure(f"{label}, replies by the clock", middle["clock"], "/s"))
        figures.append(Figure(f"{label}, first reply", middle["first"], "s"))
        figures.append(Figure(f"{label}, peak memory", middle["peak"], "MB"))
    return figures


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--judges", default="ready,ready-large,ready-both", metavar="NAMES")
    parser.add_argument("--replies", type=int, default=100, metavar="N", help="(100)")
    parser.add_argument("--rounds", type=int, default=1, metavar="N", help="(1)")
    parser.add_argument("--threads", type=int, default=2, metavar="N", help="(2)")
    add_json_option(parser)
    parser.add_argument("--way", choices=list(WAYS), help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.way:
        print(json.dumps(measure(args.judges, args.way, args.replies)))
        return 0
    figures = []
    for name in args.judges.split(","):
        try:
            figures += compare_ways(name, args)
        except SystemExit as stop:
            if "not on this machine" not in str(stop):
                raise
            print(f"{stop}; it is left out", file=sys.stderr)
    report(f"{args.replies:,} replies, {args.rounds} rounds, {args.threads} thread(s)", figures, args.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
