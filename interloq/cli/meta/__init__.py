# SPDX-License-Identifier: Apache-2.0
"""`interloq meta`: scores and rated samples in, agreement with people out."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest

from interloq.agree.meta_options import MetaOptions
from interloq.agree.table import HumanRow, MetaTable, MetricComparison, Spread
from interloq.cli.meta.labels import add_labels, evaluate_labels
from interloq.cli.shared import preferences
from interloq.cli.shared.arguments import add_common, add_list, add_map
from interloq.cli.shared.options import add_options, make_options
from interloq.cli.shared.output import reading
from interloq.cli.shared.paths import InputPath
from interloq.cli.shared.progress import stage_progress
from interloq.errors import InputError, count
from interloq.statistics.estimate import COEFFICIENTS, Estimate
from interloq.terminal.console import interval, number, p_value, print_json, print_line, print_signatures, print_table

EXAMPLES = """\
  interloq meta scores.jsonl --samples samples.jsonl
  interloq meta bleu.jsonl rouge.jsonl --samples samples.csv --aspect Engaging --by system
  interloq meta scores.jsonl --samples samples.jsonl --bootstrap 0 --no-compare --json
  interloq meta scores.jsonl --samples test.jsonl --aspect continued --labels --train train.jsonl
  interloq meta scores.jsonl --dialogues rated_dialogues.jsonl --aspect all
  interloq meta --samples samples.jsonl --list-aspects"""

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
    add_labels(parser)
    parser.add_argument(
        "--list-aspects", action="store_true", help="list the rated aspects and their numbers of ratings"
    )
    add_map(parser)
    add_common(parser)


def run(args: argparse.Namespace) -> int:
    if args.preferences and args.scores:
        _refuse_beside_preferences(args)
        return preferences.agree(args)
    if not (args.samples or args.dialogues):
        raise InputError("no rated samples or dialogues given", hint="add --samples FILE or --dialogues FILE")
    if args.list_aspects:
        return _list_aspects(args)
    if not args.scores:
        raise InputError("no score file given", hint="make one: interloq score SAMPLES -m METRIC -o scores.jsonl")
    if args.labels:
        return evaluate_labels(args)
    if args.train or args.dev:
        raise InputError("--train and --dev are only used with --labels", hint="add --labels, or omit them")
    from interloq.agree.meta_file import meta_file

    options = make_options(MetaOptions, args)
    with reading(args) as read_options:
        tables = meta_file(args.scores, options, reading=read_options, progress=stage_progress(quiet=args.quiet))
    if args.json:
        from dataclasses import asdict

        facts = [asdict(table) for table in tables.values()]
        print_json(facts[0] if len(facts) == 1 else {"tables": facts})
    else:
        for table in tables.values():
            print_agreement(table, args.adjust, args.coefficient, sort=args.sort)
    return 0


# ---- tables ----------------------------------------------------------------------------------------------------------


def print_agreement(table: MetaTable, adjust: str, coefficient: str, *, sort: str = "agreement") -> None:
    """Print agreement with people as several tables and notes."""
    if sort == "agreement":
        table = table.ordered("spearman" if coefficient == "all" else coefficient)
    table, level = table.labelled(), LEVELS[table.by]
    names = [name.capitalize() for name in table.coefficients]
    rows = [
        [
            row.metric,
            *(_estimate(row.with_mean[name]) for name in table.coefficients),
            _sizes(row.with_mean),
            str(row.unscored),
        ]
        for row in table.rows
    ]
    if table.human:
        halves = table.human.split_half
        rows.append(
            ["people: half vs. half", *(_estimate(halves[name]) for name in table.coefficients), _sizes(halves), ""]
        )
        rows.append([CEILING, *_ceilings(table.human, table.coefficients), _sizes(halves), ""])
    columns = ["metric", *names, "n", "unscored"]
    if table.by == "system":
        names_of_kinds = {"value": "value over its samples", "mean": "mean of sample scores"}
        kinds = [names_of_kinds[row.system_score] if row.system_score else "" for row in table.rows]
        rows = [[*row, kind] for row, kind in zip_longest(rows, kinds, fillvalue="")]
        columns.append("system score")
    title = f"{table.aspect}: correlation with the mean judgment, {level} (95 % interval, p adjusted by {adjust})"
    print_table(title, columns, rows)
    _print_users(table)
    _print_annotators(table, names)
    shown = [c for c in table.comparisons if coefficient in (c.coefficient, "all") and not math.isnan(c.difference)]
    _print_comparisons(shown, adjust)
    _print_facts(table)


def _print_users(table: MetaTable) -> None:
    """The split between and within users, one row per metric and coefficient."""
    parts = ("overall", "between users", "within users", "mean of users")
    rows = []
    for split in table.users:
        splits = (split.overall, split.between, split.within, split.averaged)
        for name in table.coefficients:
            values = (f"{number(part[name].value)} {interval(part[name].ci)}".rstrip() for part in splits)
            rows.append([split.metric, name.capitalize(), *values, split.users(name)])
    if rows:
        title = "correlation between users and within them (95 % interval, resampling users)"
        print_table(title, ["metric", "coefficient", *parts, "users"], rows)


def _print_annotators(table: MetaTable, names: Sequence[str]) -> None:
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
    partial = (
        f" ({counted.partial_annotators} of them rated only some {table.unit}s)" if counted.partial_annotators else ""
    )
    units, judgments = count(counted.samples, table.unit), count(counted.judgments, "judgment")
    print_line(
        f"{units}, {counted.rated} rated, {counted.unrated} unrated; {judgments}, "
        f"{counted.not_applicable} not applicable; {count(counted.annotators, 'annotator')}{partial}"
    )
    if table.human:
        print_line(_alphas(table.human))
    for note in [*_reasons(table), *table.notes]:
        print_line(f"note: {note}")
    print_signatures(table.signature)


def _ceilings(human: HumanRow, coefficients: Sequence[str]) -> list[str]:
    return [number(human.ceiling[name].value if name in human.ceiling else None) for name in coefficients]


def _alphas(human: HumanRow) -> str:
    parts = [("interval", human.alpha), ("ordinal", human.alpha_ordinal)]
    alphas = [f"{number(alpha.value)} {interval(alpha.ci)} ({name})".replace("  ", " ") for name, alpha in parts]
    return f"Krippendorff's α {', '.join(alphas)} over {count(human.alpha.n, 'sample')}"


def _reasons(table: MetaTable) -> Iterator[str]:
    """Notes of the estimates, without repetitions."""
    for row in table.rows:
        yield from dict.fromkeys(f"{row.metric}: {e.note}" for e in row.with_mean.values() if e.note)
    halves = next(iter(table.human.split_half.values())) if table.human else None
    if halves and halves.note:
        yield f"people: {halves.note}"


def _estimate(estimate: Estimate) -> str:
    parts = [number(estimate.value), interval(estimate.ci)]
    if estimate.p_adjusted is not None:
        p = p_value(estimate.p_adjusted)
        parts.append(f"p{p}" if p.startswith("<") else f"p={p}")
    return " ".join(part for part in parts if part)


def _sizes(estimates: Mapping[str, Estimate]) -> str:
    sizes = sorted({estimate.n for estimate in estimates.values()})
    return "–".join(str(n) for n in dict.fromkeys((sizes[0], sizes[-1])))


def _spreads(spreads: Mapping[str, Spread], coefficients: Sequence[str], *, unit: str = "") -> list[str]:
    listed_spreads = [spreads.get(name) for name in coefficients]
    cells = [f"{number(s.max)} / {number(s.min)} / {number(s.mean)}" if s else number(None) for s in listed_spreads]
    n = max(s.annotators for s in listed_spreads if s)
    return [*cells, count(n, unit) if unit else str(n)]


def _list_aspects(args: argparse.Namespace) -> int:
    from interloq.agree.judgments import aspects

    with reading(args) as read_options:
        if args.dialogues:
            records = read_options.read_beside(args.dialogues, kind="dialogues")
        else:
            records = read_options.read(args.samples)
        counts_by_aspect = aspects(records)
    if args.json:
        keys = ("samples", "judgments", "not_applicable")
        print_json(
            {"aspects": {name: dict(zip(keys, counts, strict=True)) for name, counts in counts_by_aspect.items()}}
        )
    elif counts_by_aspect:
        rows = [[name, *map(str, counts)] for name, counts in counts_by_aspect.items()]
        print_table("", ["aspect", "samples", "judgments", "not applicable"], rows)
    else:
        print_line("no ratings")
    return 0


def _refuse_beside_preferences(args: argparse.Namespace) -> None:
    """Options about ratings would have no effect on preferences."""
    for name in ("samples", "dialogues", "aspects", "role", "labels", "list_aspects", "train", "dev"):
        if getattr(args, name):
            option = "--aspect" if name == "aspects" else f"--{name.replace('_', '-')}"
            raise InputError(f"{option} has no effect beside --preferences", hint=f"omit {option} or --preferences")
