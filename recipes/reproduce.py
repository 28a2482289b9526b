"""Measure the claims and tables of the five papers, and write docs/reproduction.md from what was measured.

    python recipes                                          # write the pages from the results in recipes/measured
    python recipes --list                                   # the stages, when they were measured, and what they need
    python recipes --data DATA --work WORK --again NAME     # measure a stage again, or several (or: --again all)
    python recipes --data DATA --work WORK --results MINE [--only 004]  # measure all yourself: MINE/reproduction.md

A stage is one recipe, whose result is a file in the folder of results. Stages whose file exists are not run, so a run
that was interrupted resumes where it stopped. Intermediate files go to WORK. Beside the page, one page per paper with
all measurements is written to a folder of the same name. Stages that need more than data, such as a GPU, are only run
with `--all-needs`; `--list` says what each needs. Papers: 000 is υBLEU and vBERTScore (2023), 001 υBLEU (2020), 002
bipartite-play, 003 the interlocutor's view, 004 REAM#. The exit code is 1 if a stage fails (the others are still run),
and 2 if options or data are missing.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from paper_items import PAPERS, read_papers
from reproduction import write_pages
from results import FOLDER, all_measured
from stages import STAGES, Stage

from interloq import InputError, InterloqError
from interloq.data.files.durable import write_atomically
from interloq.terminal.console import print_table

RECIPES = Path(__file__).parent
PAGE = RECIPES.parent / "docs" / "reproduction.md"


def main(argv: Sequence[str] | None = None) -> int:
    args = _parser().parse_args(argv)
    if args.page is None:
        args.page = PAGE if args.results == FOLDER else args.results / PAGE.name
    try:
        stages = list(_chosen(args.only))
        if args.list:
            _print_stages(stages, args.results)
            return 0
        failed = [stage.name for stage in _to_run(stages, args) if not _run(stage, args)]
        for name, text in write_pages(read_papers(), dict(all_measured(args.results)), args.page.stem).items():
            place = args.page.parent / name
            place.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(place, text.encode())
    except InterloqError as error:
        print(f"recipes: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("recipes: interrupted; the same command resumes from here", file=sys.stderr)
        return 130
    print(f"wrote {args.page} and {args.page.with_suffix('')}/")
    if failed:
        print(f"recipes: not measured: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python recipes", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="folder of public data (default: $INTERLOQ_DATA)")
    parser.add_argument("--work", type=Path, help="folder for intermediate files; kept")
    parser.add_argument("--results", type=Path, default=FOLDER, help="folder of results (default: recipes/measured)")
    parser.add_argument(
        "--page", type=Path, help="page to write (default: docs/reproduction.md, or RESULTS/reproduction.md)"
    )
    parser.add_argument(
        "--only", action="append", metavar="NAME", help="a stage, or all of a paper (000 to 004); repeatable"
    )
    parser.add_argument("--again", action="append", metavar="STAGE", help="measure again, or: all; repeatable")
    parser.add_argument("--all-needs", action="store_true", help="also run stages that need more than data")
    parser.add_argument("--list", action="store_true", help="print the stages and stop")
    return parser


def _chosen(only: Sequence[str] | None) -> Iterator[Stage]:
    """Return the stages of the named papers, and those named themselves."""
    if only is None:
        yield from STAGES
        return
    known = {*PAPERS, *(stage.name for stage in STAGES)}
    unknown = [name for name in only if name not in known]
    if unknown:
        raise InputError(f"neither a paper nor a stage: {', '.join(unknown)}", hint="--list prints the stages")
    for stage in STAGES:
        if stage.name in only or any(paper in only for paper in stage.papers):
            yield stage


def _to_run(stages: Sequence[Stage], args: argparse.Namespace) -> list[Stage]:
    """Return the stages without a result, and those to measure again."""
    again = set(args.again or ())
    if unknown := again - {"all", *(stage.name for stage in stages)}:
        raise InputError(f"not a stage: {', '.join(sorted(unknown))}", hint="--list prints the stages")
    to_run: list[Stage] = []
    for stage in stages:
        is_asked = stage.name in again or "all" in again
        if not is_asked and _result(stage, args.results).exists():
            continue
        if stage.needs and not args.all_needs and stage.name not in again:
            print(f"{stage.name}: left out, needs {stage.needs} (--all-needs runs it)")
            continue
        to_run.append(stage)
    if to_run and args.work is None:
        raise InputError(f"{to_run[0].name} must be measured", hint="add --work FOLDER for intermediate files")
    if to_run and args.data is None:
        if not os.environ.get("INTERLOQ_DATA"):
            raise InputError("no data folder given", hint="add --data FOLDER or set INTERLOQ_DATA")
        args.data = Path(os.environ["INTERLOQ_DATA"])
    return to_run


def _run(stage: Stage, args: argparse.Namespace) -> bool:
    """Run the recipe of a stage; its output is shown."""
    args.work.mkdir(parents=True, exist_ok=True)
    args.results.mkdir(parents=True, exist_ok=True)
    result = _result(stage, args.results)
    folders = {"data": args.data.resolve(), "work": args.work.resolve()}
    words = [word.format(**folders) for word in shlex.split(stage.arguments)]
    for option in stage.optional:
        flag, _, folder = option.format(**folders).partition(" ")
        words += [flag, folder] if Path(folder).exists() else []
    print(f"{stage.name}: about {stage.minutes} min on two cores", flush=True)
    started = time.monotonic()
    command = [sys.executable, str(RECIPES / stage.recipe), *words, "--measured", str(result.resolve())]
    code = subprocess.run(command, check=False).returncode  # noqa: S603 - a file of this folder
    print(f"{stage.name}: exit code {code} after {(time.monotonic() - started) / 60:.1f} min", flush=True)
    return code == 0 and result.exists()


def _result(stage: Stage, results: Path) -> Path:
    return results / f"{stage.name}.json"


def _print_stages(stages: Sequence[Stage], results: Path) -> None:
    measured = dict(all_measured(results))
    rows: list[list[str]] = []
    for stage in stages:
        date = measured[stage.name].date if stage.name in measured else "not yet"
        rows.append([stage.name, " ".join(stage.papers), str(stage.minutes), date, stage.needs])
    print_table("stages", ["stage", "papers", "minutes", "measured", "needs"], rows)
