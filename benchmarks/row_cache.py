"""`compare` and then `gate` on the same replies of two versions, with and without the cache of networks' scores.

Replies and contexts are drawn from the embedded log. Both run in this process, after a warm-up that loads the network;
seconds are processor time. With the cache, `compare` finds it empty. Results must be equal.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np
from _figures import Figure, add_json_option, report

from interloq import Sample, evaluate, load, write
from interloq.compare.compare_file import compare_file
from interloq.compare.compare_options import CompareOptions, GateOptions
from interloq.compare.gate.gate_file import gate_file
from interloq.data.embedded import embedded_log_path
from interloq.score.row_cache import VARIABLE

PERMUTATIONS = 1000


def write_versions(folder: Path, replies: int) -> tuple[str, str]:
    """Write two files of replies to the same contexts."""
    pairs = list(load(embedded_log_path("en"), kind="pairs"))
    rng = np.random.default_rng(0)
    paths = []
    for version in ("old", "new"):
        samples = []
        for i in range(replies):
            context = [pairs[i % len(pairs)].utterance, f"well, number {i}"]
            reply = " ".join(pairs[j].response for j in rng.integers(len(pairs), size=2))
            samples.append(Sample(f"{i}", context, reply, system=version))
        paths.append(str(folder / f"{version}.jsonl"))
        write(paths[-1], samples, kind="samples")
    return paths[0], paths[1]


def compare_and_gate(old: str, new: str, metric: str) -> tuple[list[float], list[str]]:
    """Return the seconds of both, and their results."""
    seconds, results = [], []
    start = time.process_time()
    comparison = compare_file(old, new, CompareOptions(metrics=[metric], n_permutations=PERMUTATIONS))
    results.append(repr(asdict(comparison)))
    seconds.append(time.process_time() - start)
    start = time.process_time()
    options = GateOptions(metrics=[metric], n_permutations=PERMUTATIONS)
    results.append(repr(asdict(gate_file(new, options, margin={"": 0.1}, old=old))))
    seconds.append(time.process_time() - start)
    return seconds, results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replies", type=int, default=500, help="replies of each version")
    parser.add_argument("--metric", default="judge(model='ready')")
    add_json_option(parser)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        old, new = write_versions(Path(folder), args.replies)
        evaluate(args.metric, load(old, kind="samples"), n_bootstrap=0)
        without, expected = compare_and_gate(old, new, args.metric)
        os.environ |= {"INTERLOQ_CACHE": str(Path(folder, "cache")), VARIABLE: ""}
        cached, results = compare_and_gate(old, new, args.metric)
        kilobytes = Path(folder, "cache", "rows.db").stat().st_size / 1e3
    if results != expected:
        raise SystemExit("the results differ with the cache")
    figures = []
    for name, ours, other in zip(("compare, empty cache", "gate after compare"), cached, without, strict=True):
        figures.append(Figure(name, ours, "s", other, peer="without the cache"))
    figures.append(Figure("cache", kilobytes / 1e3, "MB"))
    report(f"{args.replies:,} replies of each of two versions, {args.metric}", figures, args.json)


if __name__ == "__main__":
    main()
