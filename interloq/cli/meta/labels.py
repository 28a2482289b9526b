# SPDX-License-Identifier: Apache-2.0
"""`interloq meta --labels`: scores as predictions of 0/1 ratings."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence

from interloq.agree.labels.continuity_table import BY_GROUP, MEASURES, ContinuityRow, ContinuityTable
from interloq.cli.shared.output import BadLineReporter
from interloq.cli.shared.paths import InputPath
from interloq.errors import InputError, count
from interloq.terminal.console import interval, number, print_json, print_line, print_signatures, print_table

NOT_WITH_LABELS = {
    "by": "none",
    "role": "",
    "dialogues": [],
    "without_system": [],
    "drop_own_replies": False,
}  # option → default


def add_labels(parser: argparse.ArgumentParser) -> None:
    """Add the options of the evaluation of labels."""
    parser.add_argument(
        "--labels",
        action="store_true",
        help="evaluate scores as predictions of 0/1 ratings, e.g. of aspect continued: accuracy, macro-F1, AUC and "
        "calibration instead of correlations",
    )
    parser.add_argument(
        "--train",
        type=InputPath,
        metavar="SAMPLES",
        help="with --labels: training samples, for baselines and for groups of users by training size",
    )
    parser.add_argument(
        "--dev",
        type=InputPath,
        metavar="SAMPLES",
        help="with --labels: dev samples; give their scores too, to set thresholds by the reply ratio",
    )
    parser.add_argument("--groups", type=int, default=3, metavar="N", help="with --train: groups of users (default 3)")


def evaluate_labels(args: argparse.Namespace) -> int:
    """Print how well scores predict labels."""
    for name, default in NOT_WITH_LABELS.items():
        if getattr(args, name) != default:
            raise InputError(f"--{name.replace('_', '-')} cannot be combined with --labels", hint="omit one of them")
    from interloq.agree.labels.continuity_file import evaluate_continuity_file

    bad = BadLineReporter()
    table = evaluate_continuity_file(
        args.scores,
        args.samples,
        train=args.train,
        dev=args.dev,
        aspect=_only(args.aspect),
        groups=args.groups,
        lower_is_better=args.lower_is_better,
        n_bootstrap=args.bootstrap,
        seed=args.seed,
        strict=args.strict,
        on_reject=bad,
        columns=args.columns,
    )
    bad.close()
    if args.json:
        from dataclasses import asdict

        print_json(asdict(table))
    else:
        print_labels(table.labelled())
    return 0


def print_labels(table: ContinuityTable) -> None:
    """Print one table of all samples, and three measures by group of users."""
    title = f"prediction of {table.aspect} (95 % interval, resampling dialogues)"
    rows = [[row.metric, _threshold(row), *_cells(row, MEASURES), str(row.unscored)] for row in table.rows]
    print_table(title, ["metric", "threshold", *MEASURES.values(), "unscored"], rows)
    for measure in BY_GROUP if table.groups else ():
        _print_groups(table, measure)
    share = f"{table.replied / table.samples:.1%}" if table.samples else "none"
    who = f"{count(table.users, 'user')}, {count(table.dialogues, 'dialogue')}"
    print_line(f"{count(table.samples, 'sample')}, {share} with label 1; {who}")
    for note in table.notes:
        print_line(f"note: {note}")
    print_signatures(table.signature)


def _print_groups(table: ContinuityTable, measure: str) -> None:
    columns = [
        f"{group.sizes}: {count(group.users, 'user')}, {count(group.samples, 'sample')}" for group in table.groups
    ]
    rows = []
    for i, row in enumerate(table.rows):
        cells = [cell for group in table.groups for cell in _cells(group.rows[i], (measure,))]
        rows.append([row.metric, _threshold(row), *cells])
    title = f"{MEASURES[measure]} by training samples per user"
    print_table(title, ["metric", "threshold", *columns], rows)


def _threshold(row: ContinuityRow) -> str:
    return f"{row.threshold} ({number(row.cut)})"


def _cells(row: ContinuityRow, measures: Iterable[str]) -> list[str]:
    estimates = (row.measures[name] for name in measures)
    return [f"{number(each.value)} {interval(each.ci)}".rstrip() for each in estimates]


def _only(aspects: Sequence[str]) -> str:
    if len(aspects) > 1:
        raise InputError(f"--labels takes one aspect, got {len(aspects)}", hint="name one")
    return aspects[0] if aspects else "overall"
