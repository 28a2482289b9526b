"""Logs for a rater of references: all English logs, and DailyDialog++'s contexts with several good replies.

    interloq train rater $(python recipes/rater_logs.py --data DATA --work WORK) --without WORK/samples.jsonl …

Each good reply makes a dialogue with its context: a rater learns from several replies to the same turns. Of
DailyDialog++ the test part is not used. The files' names are printed, one per line; `samples.jsonl` in the work folder
has all test samples, which the training must exclude (see ready_logs.py).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson
from rated_sets import PLUSPLUS, data_folder
from ready_logs import ENGLISH, training_logs, write_objects, write_samples

from interloq import InterloqError
from interloq.data.files.opening import lines


def rater_logs(data: Path, work: Path) -> list[str]:
    """Names of the files; `samples.jsonl` is written next to them."""
    logs = training_logs(data, ENGLISH, work / "logs")
    write_samples(data, work / "samples.jsonl")
    several = [Path(path) for path in logs.written if Path(path).name.startswith(PLUSPLUS)]
    talks = (talk for path in sorted(several) for talk in _talks(path))
    return [*logs.files, str(write_objects(work / f"{PLUSPLUS}.jsonl", talks))]


def _talks(path: Path) -> Iterator[dict[str, Any]]:
    """One dialogue per good reply; its speakers take turns."""
    for number, line in lines(path):
        item = orjson.loads(line)
        for i, reply in enumerate(item["positive_responses"]):
            turns = [{"speaker": str(place % 2), "text": text} for place, text in enumerate([*item["context"], reply])]
            yield {"id": f"{path.stem}/{number - 1}/{i}", "turns": turns}


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Write the logs for a rater of references, and print their names.")
    parser.add_argument("--data", metavar="FOLDER", help="data folder (default: $INTERLOQ_DATA)")
    parser.add_argument("--work", default="out/rater", metavar="FOLDER", help="files that are written (out/rater)")
    args = parser.parse_args(argv)
    try:
        files = rater_logs(data_folder(args.data), Path(args.work))
    except InterloqError as error:
        print(f"rater_logs: {error}", file=sys.stderr)
        return 2
    print("\n".join(files))
    return 0


if __name__ == "__main__":
    sys.exit(main())
