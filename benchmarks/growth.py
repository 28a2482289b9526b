"""How time and memory of verbs grow with the number of samples, each size and verb in a process of its own.

    python benchmarks/growth.py                       # 1,000, 10,000 and 100,000 samples
    python benchmarks/growth.py --most 1000000
    python benchmarks/growth.py --verbs meta,report

A sample has a reply of 4 to 22 words, two references and three people's ratings; five systems answer each context.
The slope is that of the logarithm of processor time between the two largest sizes: 1 if time grows as the number of
samples. Memory is the peak of the process. A verb that takes longer than `--limit` seconds at one size is not run at
larger ones.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from _figures import Figure, add_json_option, report

LEAST, MOST, SYSTEMS = 1_000, 100_000, 5
EXCHANGES = 5
LIMIT = 300.0
CHUNK = 10_000
VERBS: Mapping[str, Sequence[str]] = {
    "score": ("score", "samples.jsonl", "-m", "delta_bleu", "-m", "rouge_l", "-o", "scores.jsonl"),
    "extend": ("extend", "samples.jsonl", "--index", "index", "-o", "extended.jsonl"),
    "rank": ("rank", "played_scores.jsonl", "--dialogues", "dialogues.jsonl"),
    "meta": ("meta", "scores.jsonl", "--samples", "samples.jsonl"),
    "report": ("report", "scores.jsonl", "--samples", "samples.jsonl", "-o", "report.html"),
    "choose": ("choose", "samples.jsonl", "-m", "delta_bleu", "-m", "rouge_l"),
}  # `meta` and `report` read what `score` wrote
PAIRS = 10_000  # in the index


def write_samples(path: Path, n: int) -> None:
    """Write n samples."""
    rng = np.random.default_rng(0)
    words = np.array([f"word{i}" for i in range(5_000)])
    chances = 1 / np.arange(1, 5_001)
    chances /= chances.sum()
    with path.open("w") as file:
        for start in range(0, n, CHUNK):
            size = min(CHUNK, n - start)
            lengths = rng.integers(4, 23, size=4 * size)
            drawn = words[rng.choice(5_000, size=int(lengths.sum()), p=chances)]
            parts = np.split(drawn, np.cumsum(lengths)[:-1])
            texts = iter([" ".join(part.tolist()) + "." for part in parts])
            ratings = rng.integers(1, 6, size=(size, 3)).tolist()
            for i in range(start, start + size):
                context = i // SYSTEMS
                sample: dict[str, Any] = {
                    "id": f"c{context}",
                    "context": [f"{next(texts)} {context}"],
                    "response": next(texts),
                }
                sample |= {"system": f"system{i % SYSTEMS}", "references": [next(texts), next(texts)]}
                values = ratings[i - start]
                sample["ratings"] = [{"rater": f"r{(context + k) % 30}", "value": values[k]} for k in range(3)]
                file.write(json.dumps(sample) + "\n")


def write_dialogues(folder: Path, n: int) -> None:
    """Write dialogues with n replies of the ranked systems, and a score of each."""
    rng = np.random.default_rng(2)
    with (folder / "dialogues.jsonl").open("w") as dialogues, (folder / "played_scores.jsonl").open("w") as scores:
        for number in range(n // EXCHANGES):
            system, partner = f"system{number % SYSTEMS}", f"partner{number // SYSTEMS % 2}"
            id = f"{system}~{partner}/o{number // SYSTEMS}"
            turns = []
            for place in range(EXCHANGES + 1):
                turns.append({"text": f"What about {place}?", "speaker": partner})
                turns.append({"text": f"I have heard of {place} in {number}.", "speaker": system})
            facts = {"scheme": "bipartite", "partner": partner, "opening": f"o{number // SYSTEMS}"}
            systems = {system: system, partner: partner}
            dialogues.write(json.dumps({"id": id, "turns": turns[: 2 * EXCHANGES], "systems": systems, **facts}) + "\n")
            for place in range(EXCHANGES):
                value = number % SYSTEMS / 10 + rng.normal()
                score = {"id": f"{id}#{2 * place + 1}", "metric": "relevance", "value": value, "system": system}
                scores.write(json.dumps(score) + "\n")


def write_pairs(path: Path) -> None:
    """Write pairs for the index, whose number does not grow."""
    rng = np.random.default_rng(1)
    with path.open("w") as file:
        for i in range(PAIRS):
            utterance, response = (" ".join(f"word{k}" for k in rng.zipf(1.3, 8) % 5_000) for _ in range(2))
            file.write(json.dumps({"id": str(i), "utterance": utterance, "response": response}) + "\n")


def run_verb(arguments: Sequence[str], folder: Path, limit: float) -> tuple[float, float]:
    """Return processor time in seconds and peak memory in MB; infinite time if it takes too long."""
    command = [sys.executable, "-m", "interloq.cli", *arguments, "--quiet"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with (folder / "printed").open("w") as printed:
        process = subprocess.Popen(command, cwd=folder, stdout=printed, stderr=printed, env=environment)  # noqa: S603
    resource.prlimit(process.pid, resource.RLIMIT_CPU, (math.ceil(limit), math.ceil(limit)))
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return math.inf, usage.ru_maxrss / 1e3
    if process.returncode:
        raise SystemExit(f"{' '.join(arguments)} failed: {(folder / 'printed').read_text().strip().splitlines()[-1]}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1e3


def measure(verbs: Sequence[str], sizes: Sequence[int], limit: float) -> dict[str, dict[int, tuple[float, float]]]:
    """Return time and memory of each verb by size."""
    measured: dict[str, dict[int, tuple[float, float]]] = {verb: {} for verb in verbs}
    with tempfile.TemporaryDirectory() as name:
        pairs = Path(name) / "pairs.jsonl"
        write_pairs(pairs)
        for n in sizes:
            folder = Path(name) / str(n)
            folder.mkdir()
            write_samples(folder / "samples.jsonl", n)
            write_dialogues(folder, n)
            if "extend" in verbs:
                run_verb(("index", "build", "-o", "index", str(pairs), "--retriever", "bm25"), folder, LIMIT)
            for verb, arguments in VERBS.items():
                late = any(math.isinf(seconds) for seconds, _ in measured.get(verb, {}).values())
                if verb == "score" or (verb in verbs and not late):
                    found = run_verb(arguments, folder, limit)
                    if verb in verbs:
                        measured[verb][n] = found
                        print(f"{verb}, {n:,}: {found[0]:.1f} s, {found[1]:,.0f} MB", file=sys.stderr, flush=True)
    return measured


def make_figures(measured: Mapping[str, Mapping[int, tuple[float, float]]]) -> list[Figure]:
    """Return the time and memory of each verb by size, and its slope."""
    figures = []
    for verb, by_size in measured.items():
        for n, (seconds, memory) in by_size.items():
            figures.append(Figure(f"{verb}, {n:,} samples, processor time", seconds, "s"))
            figures.append(Figure(f"{verb}, {n:,} samples, memory", memory, "MB"))
        (smaller, (less, _)), (larger, (more, _)) = list(by_size.items())[-2:]
        figures.append(Figure(f"{verb}, slope", math.log(more / less) / math.log(larger / smaller)))
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=MOST, help=f"samples of the largest size ({MOST:,})")
    parser.add_argument("--verbs", default=",".join(VERBS), help="(all)")
    parser.add_argument("--limit", type=float, default=LIMIT, metavar="SECONDS", help=f"of a verb ({LIMIT:g})")
    add_json_option(parser)
    args = parser.parse_args()
    sizes = [LEAST]
    while sizes[-1] * 10 <= args.most:
        sizes.append(sizes[-1] * 10)
    figures = make_figures(measure(args.verbs.split(","), sizes, args.limit))
    report(f"{sizes[0]:,} to {sizes[-1]:,} samples with two references, one thread", figures, args.json)


if __name__ == "__main__":
    main()
