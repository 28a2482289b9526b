"""What a benchmark reports: our figures beside those of others, as a table and, with `--json FILE`, for `all.py`.

parser = argparse.ArgumentParser(description=__doc__)
add_json_option(parser)
args = parser.parse_args()
…
figures = [Figure("from text, 13a", 0.41, "s", 8.4, peer="NLTK"), Figure("peak memory", 52, "MB")]
report("10,000 replies × 17 references, one core", figures, args.json)
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import math
import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from interloq.terminal.console import print_table

os.environ["INTERLOQ_ROW_CACHE"] = "off"  # scores of an earlier run would be measured
VERSIONS = ("numpy", "scipy", "torch", "transformers", "nltk", "sacrebleu", "faiss-cpu", "bm25s", "bert-score")
RATES = ("/s", "/min")  # how units end of which more is better


@dataclass(frozen=True)
class Figure:
    """What was measured of ours and, if something else does the same, of that.

    `name` is unique among the figures of a benchmark. `unit` says whether more is better: it is if the unit ends in
    `/s` or `/min`. A figure that is not a speed or a size, such as the largest difference of two scores, has no unit.
    """

    name: str
    ours: float
    unit: str = ""
    other: float | None = None
    peer: str = ""  # whose figure `other` is

    @property
    def ratio(self) -> float | None:
        """How many times better ours is; None without a unit or another figure."""
        if self.other is None or not (self.unit and self.ours and self.other):
            return None
        return self.ours / self.other if self.unit.endswith(RATES) else self.other / self.ours

    def cells(self) -> list[str]:
        """Return a row of a table."""
        other = "" if self.other is None else _with_unit(self.other, self.unit)
        ratio = "" if self.ratio is None else f"{self.ratio:,.2g} ×" if self.ratio < 10 else f"{self.ratio:,.0f} ×"
        return [self.name, _with_unit(self.ours, self.unit), other, self.peer, ratio]


COLUMNS = ["", "Interloq", "other", "which", "ratio"]


def add_json_option(parser: argparse.ArgumentParser) -> None:
    """Let a benchmark write its figures to a file."""
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures as JSON")


def report(title: str, figures: Sequence[Figure], path: Path | None = None) -> None:
    """Print figures as a table, and write them with the machine to a file if one is named.

    `title` says what was measured: how many replies, which device, how many threads.
    """
    if len({figure.name for figure in figures}) != len(figures):
        raise ValueError(f"two figures have the same name: {[figure.name for figure in figures]}")
    print(title)
    print_table("", COLUMNS, [figure.cells() for figure in figures])
    if path is None:
        return
    rows = []
    for figure in figures:
        row = {**asdict(figure), "ratio": figure.ratio}
        rows.append({name: None if _is_nan(value) else value for name, value in row.items()})
    script = Path(sys.argv[0])
    facts = {
        "benchmark": script.stem,
        "options": _options(sys.argv[1:]),
        "title": title,
        "date": datetime.now(UTC).date().isoformat(),
        "machine": describe_machine(),
        "rows": rows,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def describe_machine() -> dict[str, Any]:
    """Return the processor, cores, memory in GiB, load, versions and, if torch uses one, the GPU."""
    versions = {"python": platform.python_version()}
    for name in VERSIONS:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    machine = {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "load": round(os.getloadavg()[0], 1),
        "versions": versions,
    }
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        machine["gpu"] = torch.cuda.get_device_name()
    return machine


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else platform.processor()} ({platform.machine()})"


def _options(arguments: Sequence[str]) -> str:
    """Return the options of a benchmark without `--json FILE`."""
    kept = []
    skip = False
    for argument in arguments:
        if not (skip or argument.startswith("--json")):
            kept.append(argument)
        skip = argument == "--json"
    return " ".join(kept)


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


def _with_unit(value: float, unit: str) -> str:
    size = abs(value)
    if value and size < 0.001:
        number = f"{value:.1e}"
    elif size < 10:
        number = f"{value:.3g}"
    else:
        number = f"{value:,.0f}" if size >= 1000 else f"{value:.1f}"
    return f"{number} {unit}".strip()
