"""`make fuzz`: a million variants, spread over all readers and verbs; prints how many of each, and how fast.

A seed names its input: `python -m tests.fuzz.fuzz --only "log irc" --seed 17 --inputs 1` repeats one, and so does
`--only "verb score"`.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
import time
import traceback
from math import ceil
from pathlib import Path

from tests.fuzz.fuzz_cases import Case, cases
from tests.fuzz.fuzz_run import lay_out, peak_mebibytes, try_seed
from tests.fuzz.fuzz_verbs import verb_cases

MOST_MEBIBYTES = 1024  # more than the process began with


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=1_000_000, help="variants in all (default: a million)")
    parser.add_argument(
        "--only", default="", help="readers and verbs whose name holds this; a verb's name begins with 'verb'"
    )
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as project:
        readers = [case for case in cases() if args.only in case.name]
        return _fuzz_all([*readers, *verb_cases(Path(project), args.only)], args.inputs, args.seed)


def _fuzz_all(chosen: list[Case], inputs: int, seed: int) -> int:
    each = ceil(inputs / sum(1 / case.cost for case in chosen))
    began, before, failures = time.monotonic(), peak_mebibytes(), 0
    for case in chosen:
        failures += _fuzzed(case, range(seed, seed + ceil(each / case.cost)))
    seconds, taken = time.monotonic() - began, peak_mebibytes() - before
    total = sum(ceil(each / case.cost) for case in chosen)
    print(
        f"{total:,} inputs of {len(chosen)} readers and verbs in {seconds:,.0f} s, {total / seconds:,.0f} per second, ",
        end="",
    )
    print(f"{failures} failures, {taken:,.0f} MiB")
    return 1 if failures or taken > MOST_MEBIBYTES else 0


def _fuzzed(case: Case, seeds: range) -> int:
    """Prints the first failure of each kind."""
    began, taken, seen = time.monotonic(), 0, dict[str, int]()
    with contextlib.ExitStack() as stack:
        folders = [Path(stack.enter_context(tempfile.TemporaryDirectory(dir=place))) for place in _places(case)]
        for folder in folders:
            lay_out(case, folder)
        for seed in seeds:
            try:
                taken += try_seed(case, folders[seed % len(folders)], seed)
            except Exception as error:
                _tell(case, seed, error, seen)
    seconds = time.monotonic() - began
    print(f"{case.name:<40} {len(seeds):>9,} inputs {taken:>9,} read {len(seeds) / seconds:>9,.0f}/s", flush=True)
    return sum(seen.values())


def _places(case: Case) -> list[Path | None]:
    """Return where to lay out the files, seed by seed; None is the usual temporary folder.

    Readers get theirs from memory, because files are written by the thousand. Verbs work where users do, and every
    fourth time in memory.
    """
    memory = Path("/dev/shm")  # noqa: S108
    if not memory.is_dir():
        return [None]
    return [memory, None, None, None] if case.on_disk else [memory]


def _tell(case: Case, seed: int, error: Exception, seen: dict[str, int]) -> None:
    where = traceback.extract_tb(error.__traceback__)[-1]
    kind = f"{type(error).__name__} at {where.filename}:{where.lineno}"
    seen[kind] = seen.get(kind, 0) + 1
    if seen[kind] == 1:
        print(f"\n{case.name}, seed {seed}: {kind}", file=sys.stderr)
        traceback.print_exception(error, limit=-8, chain=False)


if __name__ == "__main__":
    sys.exit(main())
