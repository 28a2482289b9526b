# SPDX-License-Identifier: Apache-2.0
"""`interloq reliability curve`: rated samples in, correlation with people by number of references out."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from interloq.cli.shared.arguments import add_common, add_list, add_map, add_samples
from interloq.cli.shared.options import add_options, make_options
from interloq.cli.shared.output import mark_incomplete, reading
from interloq.cli.shared.paths import OutputFile
from interloq.cli.shared.progress import stage_progress
from interloq.errors import InputError, count
from interloq.reliability.reliability_options import CurveOptions
from interloq.terminal.console import interval, number, print_json, print_line, print_table

if TYPE_CHECKING:
    from interloq.reliability.curve import AgreementCurve, AgreementPoint

LEVELS = {"query": "mean over queries", "all": "over all replies"}


def add_arguments(action: argparse.ArgumentParser) -> None:
    add_samples(action)
    add_list(action, "-m", "--metric", metavar="SPEC", help="a metric")
    action.add_argument("-o", "--output", type=OutputFile, metavar="FILE", help="file for the curves, for the report")
    add_options(action, CurveOptions)
    add_map(action)
    add_common(action)


def run(args: argparse.Namespace) -> int:
    from interloq.reliability.curve_file import curve_file

    if not args.metric:
        raise InputError("at least one metric is needed", hint="for example -m bleu_star")
    options, progress = make_options(CurveOptions, args), stage_progress(quiet=args.quiet)
    with reading(args) as read_options:
        curves = curve_file(args.samples, args.metric, args.output, options, reading=read_options, progress=progress)
    mark_incomplete(any(curve.skipped for curve in curves))
    if args.json:
        print_json(curves)
    elif args.output != "-":
        print_curves(curves)
    return 0


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
