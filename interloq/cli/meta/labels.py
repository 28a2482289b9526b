# SPDX-License-Identifier: Apache-2.0
"""`interloq meta --labels`: scores as predictions of 0/1 ratings."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from interloq.agree.labels.continuity_table import BY_GROUP, MEASURES, ContinuityRow, ContinuityTable
from interloq.agree.meta_options import LabelOptions, MetaOptions
from interloq.cli.shared.options import add_options, make_options
from interloq.cli.shared.output import reading
from interloq.errors import InputError, count
from interloq.options import flags_of
from interloq.terminal.console import interval, number, print_json, print_line, print_signatures, print_table

DEFAULTS = MetaOptions()
NOT_WITH_LABELS = ("by", "role", "dialogues", "without", "drop_own_replies")  # options that have no effect on labels


def add_labels(parser: argparse.ArgumentParser) -> None:
    """Add the options of the evaluation of labels."""
    parser.add_argument(
        "--labels",
        action="store_true",
        help="evaluate scores as predictions of 0/1 ratings, e.g. of aspect continued: accuracy, macro-F1, AUC and "
        "calibration instead of correlations",
    )
    add_options(parser, LabelOptions, only=("train", "dev", "groups"))


def evaluate_labels(args: argparse.Namespace) -> int:
    """Print how well scores predict labels."""
    for flag in flags_of(make_options(MetaOptions, args)):
        if flag.name in NOT_WITH_LABELS and flag.default != getattr(DEFAULTS, flag.name):
            raise InputError(f"{flag.flag} cannot be combined with --labels", hint="omit one of them")
    if len(args.aspects) > 1:
        raise InputError(f"--labels takes one aspect, got {len(args.aspects)}", hint="name one")
    from interloq.agree.labels.continuity_file import evaluate_continuity_file

    options = LabelOptions(
        samples=args.samples,
        train=args.train,
        dev=args.dev,
        groups=args.groups,
        aspect=args.aspects[0] if args.aspects else "overall",
        lower_is_better=args.lower_is_better,
        n_bootstrap=args.n_bootstrap,
        seed=args.seed,
    )
    with reading(args) as read_options:
        table = evaluate_continuity_file(args.scores, options, reading=read_options)
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
