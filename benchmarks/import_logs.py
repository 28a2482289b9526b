"""Import a log of 300 MiB as an array and as lines, and one of a tenth of that: memory does not grow with the file.

The logs have the form of traces of Langfuse: three requests per conversation, 400 words each, and a rating. `--redact`
is on. Each import is a process of its own; time is processor time.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from _figures import Figure, add_json_option, report

WORDS = ("train", "late", "when", "does", "the", "leave", "platform", "please", "ticket", "help")
MIB = 2**20


def write_log(path: Path, size: int, *, as_array: bool) -> None:
    """Write traces until the file has this size."""
    rng = random.Random(0)
    with path.open("w") as file:
        number = 0
        while file.tell() < size:
            id = f"t{number}"
            thumb = {"id": f"s{number}", "traceId": id, "name": "thumbs", "value": number % 2, "source": "API"}
            trace = {
                "id": id, "timestamp": f"2026-11-19T10:{number // 60 % 60:02}:{number % 60:02}Z",
                "sessionId": f"c{number // 3}", "userId": f"u{number % 5_000}", "release": "v1", "public": False,
                "input": [{"role": "user", "content": " ".join(rng.choices(WORDS, k=150))}],
                "output": " ".join(rng.choices(WORDS, k=250)), "latency": 0.5, "totalCost": 0.001,
                "scores": [{**thumb, "dataType": "NUMERIC"}],
            }  # fmt: skip
            start = ("," if number else "[") if as_array else ""
            file.write(f"{start}{json.dumps(trace)}\n")
            number += 1
        file.write("]" if as_array else "")


def import_log(path: Path) -> tuple[float, float]:
    """Import a log, and return the processor time in s and the largest memory in MiB of all imports so far."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    options = ["--from", "langfuse", "--keep-user-ids", "--redact", "--quiet", "-o", str(path.with_name("out.jsonl"))]
    command = [sys.executable, "-m", "interloq.cli", "data", "import", str(path), *options]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # noqa: S603
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, after.ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, default=300)
    add_json_option(parser)
    args = parser.parse_args()
    figures = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "log.json")
        for share, as_array in ((10, True), (1, True), (1, False)):
            write_log(path, args.mib * MIB // share, as_array=as_array)
            seconds, memory = import_log(path)
            name = f"{args.mib // share} MiB, {'an array' if as_array else 'lines'}"
            figures += [Figure(f"{name}: time", seconds, "s"), Figure(f"{name}: memory", memory, "MiB")]
    report(f"a log of {args.mib} MiB", figures, args.json)


if __name__ == "__main__":
    main()
