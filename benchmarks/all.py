"""Run the benchmarks of this folder, each in a process of its own; gather their figures in one table and on one page.

    python benchmarks/all.py                # all of them
    python benchmarks/all.py bleu meta      # some; the figures of the others stay as they were
    python benchmarks/all.py --page         # none: only write the page again

The figures of all benchmarks are in `benchmarks/figures.json`, each with its date, options and machine, and
`docs/measured/speed.md` shows them below its marks, `<!-- figures of NAME -->`. A benchmark that fails or takes longer
than `--limit` keeps its earlier figures; failures are listed at the end, with their reasons. `_figures.py` says how a
benchmark reports.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from _figures import COLUMNS, Figure, describe_machine

from interloq.tabular import markdown_text
from interloq.terminal.console import print_table

HERE = Path(__file__).parent
FIGURES = HERE / "figures.json"
PAGE = HERE.parent / "docs" / "measured" / "speed.md"
LIMIT = 600.0  # seconds
RATIOS, MACHINE = "all", "machine"  # marks of tables about all benchmarks
MARK = re.compile(r"<!-- figures of (?P<name>\w+) -->\n(?:\n(?:\|.*\n)+(?:\n_.*_\n)?)?")


def main() -> int:
    """Run scripts one after the other; return 1 if one failed."""
    names = sorted(path.stem for path in HERE.glob("[!_]*.py") if is_benchmark(path))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[*names, []], help=", ".join(names))
    parser.add_argument("--limit", type=float, default=LIMIT, metavar="SECONDS", help=f"for each ({LIMIT:g})")
    parser.add_argument("--page", action="store_true", help="run nothing, only write the page again")
    args = parser.parse_args()
    measured: dict[str, Any] = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
    failures = {}
    for name in [] if args.page else args.names or names:
        print(f"\n==> benchmarks/{name}.py", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "figures.json"
            if reason := run_benchmark(HERE / f"{name}.py", path, args.limit):
                failures[name] = reason
                continue
            measured[name] = json.loads(path.read_text())
        FIGURES.write_text(json.dumps(dict(sorted(measured.items())), indent=1, ensure_ascii=False) + "\n")
    if PAGE.exists():
        PAGE.write_text(fill_page(PAGE.read_text(), measured))
    print(f"\n{describe(describe_machine())}")
    print_table("", ["benchmark", *COLUMNS], ratio_rows(measured))
    for name, reason in failures.items():
        print(f"benchmarks/{name}.py failed: {reason}", file=sys.stderr)
    return 1 if failures else 0


def is_benchmark(path: Path) -> bool:
    """Return whether a script reports figures."""
    return path != Path(__file__) and "add_json_option(" in path.read_text()


def run_benchmark(script: Path, path: Path, limit: float) -> str:
    """Run a script; return the last line that it wrote to standard error if it failed, or what else went wrong."""
    last = ""
    command = [sys.executable, str(script), "--json", str(path)]
    with tempfile.TemporaryFile("w+", errors="replace") as errors:
        running = subprocess.Popen(command, stderr=errors, start_new_session=True)  # noqa: S603
        try:
            running.wait(limit)
        except subprocess.TimeoutExpired:
            last = f"it took longer than {limit:g} s"
        finally:
            if running.poll() is None:
                os.killpg(running.pid, signal.SIGKILL)  # with the processes that it started
                running.wait()
        errors.seek(0)
        text = errors.read()
    sys.stderr.write(text)
    if running.returncode:
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return last or (lines[-1] if lines else f"exit status {running.returncode}")
    return "" if path.exists() else "it wrote no figures"


def fill_page(text: str, measured: Mapping[str, Any]) -> str:
    """Return the page with the tables of these figures below its marks; marks without figures stay."""

    def replace(match: re.Match[str]) -> str:
        name = match["name"]
        if name == MACHINE:
            table = machine_table(measured)
        elif name == RATIOS:
            table = _table(["benchmark", *COLUMNS], ratio_rows(measured))
        elif name in measured:
            facts = measured[name]
            command = f"`{facts['options']}`, " if facts["options"] else ""
            caption = f"{markdown_text(facts['title'])}; {command}{facts['date']}, load {facts['machine']['load']:g}"
            rows = [figure.cells() for figure in _figures(facts)]
            table = f"{_table(COLUMNS, rows)}\n_{caption}_\n"
        else:
            return match[0]
        return f"<!-- figures of {name} -->\n\n{table}"

    return MARK.sub(replace, text)


def ratio_rows(measured: Mapping[str, Any]) -> list[list[str]]:
    """Return all figures that have a ratio, after the name of their benchmark."""
    return [
        [name, *figure.cells()]
        for name, facts in measured.items()
        for figure in _figures(facts)
        if figure.ratio is not None
    ]


def machine_table(measured: Mapping[str, Any]) -> str:
    """Return the machines that figures come from, with the benchmarks that ran on each."""
    ran: dict[str, list[str]] = {}
    for name, facts in measured.items():
        ran.setdefault(describe(facts["machine"]), []).append(name)
    return _table(["machine", "benchmarks"], [[machine, ", ".join(names)] for machine, names in ran.items()])


def describe(machine: Mapping[str, Any]) -> str:
    """Return a machine in a line, without its load."""
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    gpu = f", {machine['gpu']}" if "gpu" in machine else ""
    return f"{machine['processor']}{gpu}, {machine['cores']} cores, {machine['memory']} GiB; {versions}"


def _figures(facts: Mapping[str, Any]) -> list[Figure]:
    figures = []
    for row in facts["rows"]:
        ours = float("nan") if row["ours"] is None else row["ours"]
        figures.append(Figure(row["name"], ours, row["unit"], row["other"], row["peer"]))
    return figures


def _table(columns: list[str], rows: list[list[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *([markdown_text(cell) for cell in row] for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    sys.exit(main())
