# SPDX-License-Identifier: Apache-2.0
"""`interloq meta`: scores and rated samples in, agreement with people out."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict

from interloq.agree.continuity_table import BY_GROUP, MEASURES, ContinuityRow, ContinuityTable
from interloq.agree.meta_options import LabelOptions, MetaOptions
from interloq.agree.table import MetaTable, MetricComparison, Spread
from interloq.cli.shared.arguments import InputPath, add_common, add_list, add_map, add_options, make_options
from interloq.cli.shared.output import reading, stage_progress
from interloq.errors import InputError, count
from interloq.options import flags_of
from interloq.statistics.estimate import COEFFICIENTS, Estimate
from interloq.terminal.console import (
    MISSING,
    interval,
    number,
    number_with_interval,
    p_value,
    print_json,
    print_line,
    print_signatures,
    print_table,
)

EXAMPLES = """\
  interloq meta scores.jsonl --samples samples.jsonl
  interloq meta bleu.jsonl rouge.jsonl --samples samples.csv --aspect Engaging --by system
  interloq meta scores.jsonl --samples samples.jsonl --bootstrap 0 --no-compare --json
  interloq meta scores.jsonl --samples test.jsonl --aspect continued --labels --train train.jsonl
  interloq meta scores.jsonl --dialogues rated_dialogues.jsonl --aspect all
  interloq meta --samples samples.jsonl --list-aspects"""

NOT_WITH_LABELS = ("by", "role", "dialogues", "without", "drop_own_replies")  # options that have no effect on labels
SYSTEM_SCORES = {None: "", "value": "value over its samples", "mean": "mean of sample scores"}
CEILING = "people: ceiling (√reliability)"
LEVELS = {
    "none": "over samples",
    "system": "over systems",
    "sample": "within contexts, averaged",
    "user": "within users, averaged",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("scores", nargs="*", type=InputPath, metavar="SCORES", help="score files; - for a pipe")
    add_options(parser, MetaOptions)
    add_list(
        parser,
        "--preferences",
        metavar="FILE",
        help="people's preferences: print how often each metric prefers the winner",
        type=InputPath,
    )
    parser.add_argument(
        "--coefficient",
        choices=(*COEFFICIENTS, "all"),
        default="spearman",
        help="coefficient of the printed comparisons and of the order of metrics (default spearman; --json prints all)",
    )
    parser.add_argument(
        "--sort", choices=("agreement", "name"), default="agreement", help="order of the metrics (default agreement)"
    )
    parser.add_argument(
        "--labels",
        action="store_true",
        help="evaluate scores as predictions of 0/1 ratings, e.g. of aspect continued: accuracy, macro-F1, AUC and "
        "calibration instead of correlations",
    )
    add_options(parser, LabelOptions, only=("train", "dev", "groups"))
    parser.add_argument(
        "--list-aspects", action="store_true", help="list the rated aspects and their numbers of ratings"
    )
    add_map(parser)
    add_common(parser)


def run(args: argparse.Namespace) -> None:
    if args.preferences and args.scores:
        # options about ratings have no effect on preferences
        for name in ("samples", "dialogues", "aspects", "role", "labels", "list_aspects", "train", "dev"):
            if getattr(args, name):
                option = "--aspect" if name == "aspects" else f"--{name.replace('_', '-')}"
                raise InputError(f"{option} has no effect beside --preferences", hint=f"omit {option} or --preferences")
        _agree_with_preferences(args)
        return
    if not (args.samples or args.dialogues):
        raise InputError("no rated samples or dialogues given", hint="add --samples FILE or --dialogues FILE")
    if args.list_aspects:
        _list_aspects(args)
        return
    if not args.scores:
        raise InputError("no score file given", hint="make one: interloq score SAMPLES -m METRIC -o scores.jsonl")
    if args.labels:
        _evaluate_labels(args)
        return
    if args.train or args.dev:
        raise InputError("--train and --dev are only used with --labels", hint="add --labels, or omit them")
    from interloq.agree.meta_file import meta_file

    options = make_options(MetaOptions, args)
    with reading(args) as read_options:
        tables = meta_file(args.scores, options, reading=read_options, progress=stage_progress(quiet=args.quiet))
    if args.json:
        facts = [asdict(table) for table in tables.values()]
        print_json(facts[0] if len(facts) == 1 else {"tables": facts})
    else:
        for table in tables.values():
            print_agreement(table, args.adjust, args.coefficient, sort=args.sort)


def print_agreement(table: MetaTable, adjust: str, coefficient: str, *, sort: str = "agreement") -> None:
    """Print agreement with people as several tables and notes."""
    if sort == "agreement":
        table = table.sort_by("spearman" if coefficient == "all" else coefficient)
    table, level = table.with_labels(), LEVELS[table.by]
    names = [name.capitalize() for name in table.coefficients]
    rows = []
    for row in table.rows:
        estimates = [estimate_cell(row.with_mean[name]) for name in table.coefficients]
        rows.append(
            [row.metric, *estimates, size_cell(row.with_mean), str(row.unscored), SYSTEM_SCORES[row.system_score]]
        )
    if table.human:
        halves, ceiling = table.human.split_half, table.human.ceiling
        estimates = [estimate_cell(halves[name]) for name in table.coefficients]
        rows.append(["people: half vs. half", *estimates, size_cell(halves), "", ""])
        ceilings = [number(ceiling[name].value) if name in ceiling else MISSING for name in table.coefficients]
        rows.append([CEILING, *ceilings, size_cell(halves), "", ""])
    columns = ["metric", *names, "n", "unscored", "system score"]
    if table.by != "system":
        columns.pop()
        rows = [row[:-1] for row in rows]
    title = f"{table.aspect}: correlation with the mean judgment, {level} (95 % interval, p adjusted by {adjust})"
    print_table(title, columns, rows)
    _print_systems(table, names)
    _print_users(table)
    print_annotators(table, names)
    shown = [c for c in table.comparisons if coefficient in (c.coefficient, "all") and not math.isnan(c.difference)]
    _print_comparisons(shown, adjust)
    _print_facts(table)


def _print_systems(table: MetaTable, names: Sequence[str]) -> None:
    """Print the correlations over systems, which are often high when those over single samples are low."""
    rows = []
    for row in table.rows:
        if row.over_systems:
            estimates = [estimate_cell(row.over_systems[name]) for name in table.coefficients]
            rows.append([row.metric, *estimates, size_cell(row.over_systems)])
    if rows:
        title = f"{table.aspect}: the same over systems, mean score with mean judgment (95 % interval)"
        print_table(title, ["metric", *names, "systems"], rows)


def _print_users(table: MetaTable) -> None:
    """Print the split between and within users, one row per metric and coefficient."""
    parts = ("overall", "between users", "within users", "mean of users")
    rows = []
    for split in table.users:
        splits = (split.overall, split.between, split.within, split.averaged)
        for name in table.coefficients:
            values = [number_with_interval(part[name].value, part[name].ci) for part in splits]
            rows.append([split.metric, name.capitalize(), *values, split.users(name)])
    if rows:
        title = "correlation between users and within them (95 % interval, resampling users)"
        print_table(title, ["metric", "coefficient", *parts, "users"], rows)


def print_annotators(table: MetaTable, names: Sequence[str]) -> None:
    """Print coefficients against single annotators, and of annotators against each other."""
    coefficients = table.coefficients
    rows = [[row.metric, *_spreads(row.with_annotators, coefficients)] for row in table.rows if row.with_annotators]
    if table.human and table.human.pairwise:
        rows.append(["people: one vs. one", *_spreads(table.human.pairwise, coefficients, unit="pair")])
    if table.human and table.human.with_others:
        rows.append(["people: one vs. the others", *_spreads(table.human.with_others, coefficients)])
    if rows:
        print_table("correlation with single annotators: max / min / mean", ["metric", *names, "annotators"], rows)


def _print_comparisons(comparisons: Sequence[MetricComparison], adjust: str) -> None:
    if not comparisons:
        return
    columns = ["higher > lower", "coefficient", "difference", "Williams p", "permutation p", f"p ({adjust})", "n"]
    rows = []
    for c in comparisons:
        p_values = [p_value(p) for p in (c.williams_p, c.permutation_p, c.permutation_p_adjusted)]
        relation = "?"
        if c.difference > 0:
            relation = ">"
        elif c.difference == 0:
            relation = "="
        pair = f"{c.first} {relation} {c.second}"
        rows.append([pair, c.coefficient.capitalize(), number(c.difference), *p_values, str(c.n)])
    print_table("does one metric agree better with people than another?", columns, rows)


def _print_facts(table: MetaTable) -> None:
    counted = table.counted
    partial = ""
    if counted.partial_annotators:
        partial = f" ({counted.partial_annotators} of them rated only some {table.unit}s)"
    units, judgments = count(counted.samples, table.unit), count(counted.judgments, "judgment")
    print_line(
        f"{units}, {counted.rated} rated, {counted.unrated} unrated; {judgments}, "
        f"{counted.not_applicable} not applicable; {count(counted.annotators, 'annotator')}{partial}"
    )
    if table.human:
        interval_alpha = number_with_interval(table.human.alpha.value, table.human.alpha.ci)
        ordinal_alpha = number_with_interval(table.human.alpha_ordinal.value, table.human.alpha_ordinal.ci)
        rated = count(table.human.alpha.n, "sample")
        print_line(f"Krippendorff's α {interval_alpha} (interval), {ordinal_alpha} (ordinal) over {rated}")
    notes: list[str] = []
    for row in table.rows:
        notes += dict.fromkeys(f"{row.metric}: {e.note}" for e in row.with_mean.values() if e.note)
    if table.human:
        halves = next(iter(table.human.split_half.values()))
        if halves.note:
            notes.append(f"people: {halves.note}")
    for note in [*notes, *table.notes]:
        print_line(f"note: {note}")
    print_signatures(table.signature)


def estimate_cell(estimate: Estimate) -> str:
    """Return value, interval and p-value in one cell."""
    parts = [number(estimate.value), interval(estimate.ci)]
    if estimate.p_adjusted is not None:
        p = p_value(estimate.p_adjusted)
        parts.append(f"p{p}" if p.startswith("<") else f"p={p}")
    return " ".join(part for part in parts if part)


def size_cell(estimates: Mapping[str, Estimate]) -> str:
    """Return the number of points, or the range if it differs between coefficients."""
    sizes = sorted({estimate.n for estimate in estimates.values()})
    return "–".join(str(n) for n in dict.fromkeys((sizes[0], sizes[-1])))


def _spreads(spreads: Mapping[str, Spread], coefficients: Sequence[str], *, unit: str = "") -> list[str]:
    cells, n = [], 0
    for name in coefficients:
        spread = spreads.get(name)
        if spread is None:
            cells.append(MISSING)
        else:
            cells.append(f"{number(spread.max)} / {number(spread.min)} / {number(spread.mean)}")
            n = max(n, spread.annotators)
    return [*cells, count(n, unit) if unit else str(n)]


def _list_aspects(args: argparse.Namespace) -> None:
    from interloq.agree.judgments import aspects

    with reading(args) as read_options:
        if args.dialogues:
            records = read_options.read_beside(args.dialogues, kind="dialogues")
        else:
            records = read_options.read(args.samples)
        counts_by_aspect = aspects(records)
    if args.json:
        facts = {}
        for name, (samples, judgments, not_applicable) in counts_by_aspect.items():
            facts[name] = {"samples": samples, "judgments": judgments, "not_applicable": not_applicable}
        print_json({"aspects": facts})
    elif counts_by_aspect:
        rows = [[name, *map(str, counts)] for name, counts in counts_by_aspect.items()]
        print_table("", ["aspect", "samples", "judgments", "not applicable"], rows)
    else:
        print_line("no ratings")


def _agree_with_preferences(args: argparse.Namespace) -> None:
    """Print how often metrics prefer the reply that people preferred."""
    from interloq.rank.human_preferences import preference_agreement_files

    with reading(args) as read_options:
        agreements = preference_agreement_files(
            args.scores, args.preferences, lower_is_better=args.lower_is_better, reading=read_options
        )
    if args.json:
        print_json([asdict(agreement) for agreement in agreements])
        return
    rows = []
    for agreement in agreements:
        counts = [str(n) for n in (agreement.n, agreement.ties, agreement.unscored)]
        rows.append([agreement.metric, agreement.aspect, number(agreement.share), interval(agreement.ci), *counts])
    columns = ["metric", "aspect", "prefers the winner", "95 % interval", "n", "ties", "unscored"]
    print_table("agreement with people's preferences", columns, rows)


def _evaluate_labels(args: argparse.Namespace) -> None:
    """Print how well scores predict labels."""
    for flag in flags_of(make_options(MetaOptions, args)):
        if flag.name in NOT_WITH_LABELS and flag.default != getattr(MetaOptions(), flag.name):
            raise InputError(f"{flag.flag} cannot be combined with --labels", hint="omit one of them")
    if len(args.aspects) > 1:
        raise InputError(f"--labels takes one aspect, got {len(args.aspects)}", hint="name one")
    from interloq.agree.continuity import evaluate_continuity_file

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
        print_json(asdict(table))
    else:
        print_labels(table.with_labels())


def print_labels(table: ContinuityTable) -> None:
    """Print one table of all samples, and three measures by group of users."""
    title = f"prediction of {table.aspect} (95 % interval, resampling dialogues)"
    rows = [[row.metric, _threshold(row), *_cells(row, MEASURES), str(row.unscored)] for row in table.rows]
    print_table(title, ["metric", "threshold", *MEASURES.values(), "unscored"], rows)
    if table.groups:
        for measure in BY_GROUP:
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
        cells: list[str] = []
        for group in table.groups:
            cells += _cells(group.rows[i], (measure,))
        rows.append([row.metric, _threshold(row), *cells])
    title = f"{MEASURES[measure]} by training samples per user"
    print_table(title, ["metric", "threshold", *columns], rows)


def _threshold(row: ContinuityRow) -> str:
    return f"{row.threshold} ({number(row.cut)})"


def _cells(row: ContinuityRow, measures: Iterable[str]) -> list[str]:
    return [number_with_interval(row.measures[name].value, row.measures[name].ci) for name in measures]
