"""What a recipe measured, as a file that `python recipes` collects into docs/reproduction.md.

A finding compares what a paper claims with what was measured: the value is a paired difference (or a correlation, which
is compared with 0), with its 95 % interval over independent units (contexts, dialogues, users), never over the replies
to one context. One rule gives the verdict of every finding:

- **holds**: the whole interval is above the `threshold`, 0 unless the claim says otherwise
- **does not hold**: the whole interval is below the threshold or, if the paper published the difference, below half of
  it
- **cannot be told here**: anything else, and every finding without an interval

A claim that two things are equally good is tested as "not worse by more than −threshold".

Items are named as in docs/papers.md: `002/39` is row 39 of the third paper, Sato et al. (2022).
"""

from __future__ import annotations

import argparse
import json
import platform
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from interloq import InputError
from interloq.data.files.durable import write_atomically
from interloq.statistics.resampling import cluster_counts, percentile_interval
from interloq.terminal.console import number, number_with_interval, print_table

Places = NDArray[np.int64]
Verdict = Literal["holds", "does not hold", "cannot be told here"]
Interval = tuple[float, float]
FOLDER = Path(__file__).with_name("measured")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One measurement of a published claim."""

    item: str  # row of docs/papers.md, such as 002/39
    way: str  # which metric, data set or setting, as shown in the table
    value: float | None  # None: could not be measured, for the reason in `note`
    ci: Interval | None
    units: int  # how many contexts, dialogues or users were resampled
    unit: str  # contexts, dialogues, users …
    data: str
    published: float | None = None  # the same difference in the paper
    threshold: float = 0.0
    decides: bool = False  # whether the verdict on the claim is the verdict on this finding
    note: str = ""

    @property
    def verdict(self) -> Verdict:
        """Return what the interval says about the claim."""
        if self.value is None or self.ci is None:
            return "cannot be told here"
        low, high = self.ci
        if low > self.threshold:
            return "holds"
        is_far_below = self.published is not None and self.published > 0 and high < self.published / 2
        return "does not hold" if high < self.threshold or is_far_below else "cannot be told here"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A figure of a published table, and ours."""

    published: float | None = None
    ours: float | None = None
    ci: Interval | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedTable:
    """A table or figure of a paper with our figures in the same places."""

    item: str
    title: str
    data: str
    columns: Sequence[str]
    rows: dict[str, Sequence[Cell]]
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """All that one stage measured, and how."""

    command: str
    seconds: float
    findings: Sequence[Finding] = ()
    tables: Sequence[PublishedTable] = ()
    machine: str = field(default_factory=lambda: f"{platform.machine()}, Python {platform.python_version()}")
    date: str = field(default_factory=lambda: datetime.now(UTC).date().isoformat())


def add_measured_option(parser: argparse.ArgumentParser) -> None:
    """Add `--measured FILE`, which every recipe that tests a claim has."""
    parser.add_argument("--measured", type=Path, metavar="FILE", help="write findings and tables for `python recipes`")


def report_measured(
    path: Path | None, findings: Sequence[Finding], tables: Sequence[PublishedTable], started: float
) -> None:
    """Print the findings with their verdicts; write them and the tables if `--measured` was given.

    `started` is `time.monotonic()` at the start of the recipe.
    """
    if findings:
        print_findings(findings)
    if path is not None:
        command = shlex.join(["python", f"recipes/{Path(sys.argv[0]).name}", *_arguments_to_repeat(sys.argv[1:])])
        seconds = round(time.monotonic() - started, 1)
        save_measured(path, Measured(command=command, seconds=seconds, findings=findings, tables=tables))


def _arguments_to_repeat(arguments: Sequence[str]) -> list[str]:
    """Return the arguments without `--measured FILE`; the name of an option stands for a path of this machine."""
    repeated: list[str] = []
    for argument in arguments:
        option, equals, value = argument.partition("=")
        follows = repeated[-1] if repeated else ""
        if follows == "--measured":
            repeated.pop()
        elif equals and Path(value).is_absolute():
            repeated.append(f"{option}={option.lstrip('-').upper()}")
        elif Path(argument).is_absolute():
            repeated.append(follows.lstrip("-").upper() or "FILE")
        else:
            repeated.append(argument)
    return repeated


def print_findings(findings: Sequence[Finding]) -> None:
    """Print one line per finding, with its verdict."""
    rows = []
    for finding in findings:
        ours = number_with_interval(finding.value, finding.ci)
        units = f"{finding.units:,} {finding.unit}"
        rows.append([finding.item, finding.way, finding.data, units, ours, number(finding.published), finding.verdict])
    print_table("findings", ["item", "way", "data", "units", "measured", "published", "verdict"], rows)


def interval_by_unit(
    units: Sequence[str] | Places, statistic: Callable[[Places], float], *, resamples: int = 1000, seed: int = 0
) -> tuple[float, Interval, int]:
    """Return a statistic of all rows, its 95 % interval from resampled units, and the number of units.

    `units` names the context, dialogue or user of each row; `statistic` takes the places of the rows to use, in which
    rows of a resampled unit stand as often as the unit was drawn. A difference of two figures over the same places is
    paired.
    """
    _, cluster = np.unique(np.asarray(units), return_inverse=True)
    rows = np.arange(len(cluster))
    resampled: list[float] = []
    for block in cluster_counts(cluster, resamples, seed):
        resampled += [statistic(np.repeat(rows, counts)) for counts in block]
    return statistic(rows), percentile_interval(np.array(resampled)), int(cluster.max()) + 1


def save_measured(path: Path, measured: Measured) -> None:
    """Write what a stage measured."""
    text = json.dumps(asdict(measured), ensure_ascii=False, indent=1, allow_nan=False) + "\n"
    write_atomically(path, text.encode())


def load_measured(path: Path) -> Measured:
    """Read what a stage measured."""
    try:
        stored: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        findings = [Finding(**{**one, "ci": _interval(one["ci"])}) for one in stored.pop("findings")]
        tables = [PublishedTable(**{**one, "rows": _rows(one["rows"])}) for one in stored.pop("tables")]
        return Measured(findings=findings, tables=tables, **stored)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path} does not contain the measurements of a recipe: {error}") from error


def _rows(stored: dict[str, list[dict[str, Any]]]) -> dict[str, Sequence[Cell]]:
    rows: dict[str, Sequence[Cell]] = {}
    for name, cells in stored.items():
        rows[name] = [Cell(**{**cell, "ci": _interval(cell["ci"])}) for cell in cells]
    return rows


def _interval(stored: list[float] | None) -> Interval | None:
    return None if stored is None else (stored[0], stored[1])


def all_measured(folder: Path = FOLDER) -> Iterator[tuple[str, Measured]]:
    """Return each stage that has been measured, by name."""
    for path in sorted(folder.glob("*.json")):
        yield path.stem, load_measured(path)
