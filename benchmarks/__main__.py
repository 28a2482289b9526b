"""Run every benchmark of this folder; list those that failed, with their reasons, at the end.

python benchmarks              # all of them
python benchmarks bleu meta    # some
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path


def main() -> None:
    """Run scripts one after the other; exit with 1 if one failed."""
    here = Path(__file__).parent
    names = sorted(path.stem for path in here.glob("[!_]*.py"))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(names))
    failures = {}
    for name in parser.parse_args().names or names:
        print(f"\n==> benchmarks/{name}.py", flush=True)
        if reason := failure(here / f"{name}.py"):
            failures[name] = reason
    for name, reason in failures.items():
        print(f"benchmarks/{name}.py failed: {reason}", file=sys.stderr)
    sys.exit(1 if failures else 0)


def failure(script: Path) -> str:
    """Run a script; the last line it wrote to standard error if it failed, or its exit status."""
    last = ""
    command = [sys.executable, str(script)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, errors="replace") as running:  # noqa: S603
        for line in running.stderr or ():
            sys.stderr.write(line)
            last = line.strip() or last
    return (last or f"exit status {running.returncode}") if running.returncode else ""


if __name__ == "__main__":
    main()
