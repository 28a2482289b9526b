# SPDX-License-Identifier: Apache-2.0
"""`interloq reliability curve`: rated samples in, correlation with people by number of references out."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from interloq.cli.shared.arguments import add_common, add_list, add_map, add_samples
from interloq.cli.shared.output import BadLineReporter, mark_incomplete
from interloq.cli.shared.paths import OutputFile
from interloq.cli.shared.progress import stage_progress
from interloq.errors import InputError, count
from interloq.terminal.console import interval, number, print_json, print_line, print_table

if TYPE_CHECKING:
    from interloq.reliability.curve import AgreementCurve, AgreementPoint

LEVELS = {"query": "mean over queries", "all": "over all replies"}


def add_arguments(action: argparse.ArgumentParser) -> None:
    add_samples(action)
    add_list(action, "-m", "--metric", metavar="SPEC", help="a metric")
    action.add_argument("-o", "--output", type=OutputFile, metavar="FILE", help="file for the curves, for the report")
    action.add_argument(
        "--sizes", default="1,2,3,4,5,6,7,8,9,10", metavar="N,N,…", help="numbers of references (default 1 to 10)"
    )
    action.add_argument(
        "--own", type=int, default=5, metavar="N", help="own references before foreign ones are added (default 5)"
    )
    action.add_argument("--aspect", default="overall", help="the rated aspect (default overall)")
    action.add_argument(
        "--coefficient", choices=("pearson", "spearman", "kendall"), default="pearson", help="default pearson"
    )
    action.add_argument("--draws", type=int, default=10, metavar="N", help="random orders per query (default 10)")
    action.add_argument(
        "--bootstrap", type=int, default=1000, metavar="N", help="resamples of queries for intervals (default 1000)"
    )
    action.add_argument("--seed", type=int, default=0, help="seed of orders and resamples (default 0)")
    action.add_argument(
        "--without-copies", action="store_true", help="exclude replies that equal a reference of their query"
    )
    add_map(action)
    add_common(action)


def run(args: argparse.Namespace) -> int:
    from interloq.reliability.curve_file import curve_file

    if not args.metric:
        raise InputError("at least one metric is needed", hint="for example -m bleu_star")
    bad = BadLineReporter()
    curves = curve_file(
        args.samples,
        args.metric,
        args.output,
        sizes=_sizes(args.sizes),
        own=args.own,
        aspect=args.aspect,
        coefficient=args.coefficient,
        draws=args.draws,
        n_bootstrap=args.bootstrap,
        seed=args.seed,
        without_copies=args.without_copies,
        strict=args.strict,
        on_reject=bad,
        columns=args.columns,
        progress=stage_progress(quiet=args.quiet),
    )
    bad.close()
    mark_incomplete(any(curve.skipped for curve in curves))
    if args.json:
        print_json(curves)
    elif args.output != "-":
        print_curves(curves)
    return 0


def _sizes(text: str) -> list[int]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise InputError(f"sizes must be whole numbers, got {text!r}", hint="for example 1,2,3,5")
    return [int(part) for part in parts]


def print_curves(curves: Sequence[AgreementCurve]) -> None:
    """Print both arms of each metric's curve at both levels."""
    for curve in curves:
        _print(curve)


def _print(curve: AgreementCurve) -> None:
    for level, name in LEVELS.items():
        title = f"{curve.metric}: {curve.coefficient.capitalize()} correlation with people, {name} (95 % interval)"
        columns = ["references", "of other queries", "correlation", "interval", "gain", "interval", "queries"]
        print_table(title, columns, [_row(point) for point in curve.points if point.level == level])
    print_line(
        f"{count(curve.queries, 'query', 'queries')} with {count(curve.replies, 'rated reply', 'rated replies')}"
    )
    for note in curve.notes():
        print_line(f"note: {note}")
    for reason, n in curve.skipped.items():
        print_line(f"skipped: {count(n, 'query', 'queries')} with {reason}")


def _row(point: AgreementPoint) -> list[str]:
    counts = [str(point.references), str(point.foreign)]
    values = [number(point.value), interval(point.ci), number(point.gain), interval(point.gain_ci)]
    return [*counts, *values, str(point.queries)]
