# SPDX-License-Identifier: Apache-2.0
"""`interloq rate`: samples in, the same samples with weights on their references out."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from interloq.agree.meta_options import RaterAgreementOptions
from interloq.cli.meta import estimate_cell, print_annotators, size_cell
from interloq.cli.shared.arguments import (
    InputPath,
    add_common,
    add_map,
    add_options,
    add_output,
    add_samples,
    make_options,
    shard_options,
)
from interloq.cli.shared.output import add_limits, limit_spending, mark_incomplete, reading, stage_progress
from interloq.errors import InputError, count
from interloq.rate.rate_options import RateOptions
from interloq.shards.shard_options import ShardOptions
from interloq.signature import Signature
from interloq.terminal.console import (
    MISSING,
    number,
    number_with_interval,
    print_json,
    print_line,
    print_signatures,
    print_table,
)

if TYPE_CHECKING:
    from interloq.agree.rater_agreement import RaterAgreement

EXAMPLES = """\
  interloq rate extended.jsonl --rater "gru(model='rater')" -o rated.jsonl
  interloq rate extended.jsonl --rater "gru(model='rater',mode='signed_max',gold='rated')" -o rated.jsonl
  interloq rate extended.jsonl --rater "by(judge(model='ready'))" --best 5 --no-weights -o best.jsonl
  interloq rate extended.jsonl --rater "human(ratings='ratings.jsonl',low=1,high=5)" -o rated.jsonl
  interloq rate extended.jsonl --rater "gru(model='rater')" --workers 8 -o rated.jsonl
  interloq rate extended.jsonl --rater "gru(model='rater')" --compare ratings.jsonl -o rated.jsonl"""
SHOWN = 12  # people in the table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_samples(parser)
    add_output(parser, "the rated samples; - for a pipe")
    add_options(parser, RateOptions)
    add_options(parser, ShardOptions)
    parser.add_argument(
        "--compare",
        type=InputPath,
        metavar="RATINGS",
        help="people's ratings of the references (interloq serve): print how well the weights agree with them",
    )
    add_options(parser, RaterAgreementOptions)
    add_limits(parser)
    add_map(parser)
    add_common(parser)


def run(args: argparse.Namespace) -> None:
    from interloq.rate.rate_file import rate_file

    options, progress = make_options(RateOptions, args), stage_progress(quiet=args.quiet)
    if args.compare:
        _check_comparable(args)
    with reading(args) as read_options, limit_spending(args):
        facts = rate_file(
            args.samples,
            args.output,
            options,
            shards=shard_options(args),
            reading=read_options,
            progress=progress,
        )
    mark_incomplete(facts["counts"].get("unknown_items"))
    if args.output == "-":
        return
    agreement = _compare(args) if args.compare else None
    if args.json:
        print_json({"output": args.output, **facts, **({"agreement": asdict(agreement)} if agreement else {})})
        return
    print_rated(args.output, facts)
    if agreement:
        print_rater_agreement(agreement)


def _check_comparable(args: argparse.Namespace) -> None:
    """Refuse what could not be compared before anything is rated, which may take hours."""
    from interloq.rate.human import read_votes

    read_votes(args.compare, args.aspect)
    if args.output == "-" or args.best is not None or not args.weigh:
        raise InputError("--compare needs all weights in a file", hint="name one with -o, without --best, --no-weights")


def _compare(args: argparse.Namespace) -> RaterAgreement:
    from interloq.agree.rater_agreement import compare_with_people
    from interloq.rate.rater import as_rater

    options = make_options(RaterAgreementOptions, args)
    return compare_with_people(args.output, as_rater(args.rater), args.compare, options)


def print_rater_agreement(agreement: RaterAgreement) -> None:
    """Print how well the weights agree with people, together and one by one, and people with each other."""
    table = agreement.table
    names = table.coefficients
    (row,) = table.rows
    rows = [["mean of people", *(estimate_cell(row.with_mean[name]) for name in names), size_cell(row.with_mean)]]
    for person, estimates in list(agreement.people.items())[:SHOWN]:
        rows.append([person, *(estimate_cell(estimates[name]) for name in names), size_cell(estimates)])
    contexts, references = count(agreement.contexts, "context"), count(table.counted.rated, "reference")
    title = f"{table.aspect}: correlation of the weights with people, {references} of {contexts}"
    print_table(
        f"{title} (95 % interval, resampling contexts)",
        ["weights against", *(name.capitalize() for name in names), "references"],
        rows,
    )
    if len(agreement.people) > SHOWN:
        print_line(f"and {len(agreement.people) - SHOWN:,} more people (--json)")
    print_annotators(table, [name.capitalize() for name in names])
    if table.human:
        alpha = number_with_interval(table.human.alpha.value, table.human.alpha.ci)
        print_line(f"Krippendorff's α of people: {alpha}")
    for what, n in (("not rated by people", agreement.unrated), ("with a default weight", agreement.unjudged)):
        if n:
            print_line(f"not compared: {count(n, 'reference')} {what}")


def print_rated(output: str, facts: dict[str, Any]) -> None:
    """Print how many references were rated, by source."""
    counts, replaced = facts["counts"], facts["replaced"]
    resumed = f"; {facts['resumed']:,} of them rated by an earlier run" if facts["resumed"] else ""
    judged, total = sum(row["judged"] for row in counts["sources"].values()), counts["references"]
    rated = count(total, "rated reference")
    if judged < total:
        rated = f"{count(total, 'reference')}: {judged:,} judged, {total - judged:,} with a default weight"
    print_line(f"{output}: {count(counts['samples'], 'sample')} with {rated}{resumed}")
    rows = []
    for source, row in counts["sources"].items():
        positive = MISSING if row["positive"] is None else f"{100 * row['positive']:.1f} %"
        rows.append([source, f"{row['references']:,}", f"{row['judged']:,}", number(row["mean"]), positive])
    print_table("", ["source", "references", "judged", "mean weight", "above 0"], rows)
    for name, what in NOTES.items():
        if counts.get(name):
            print_line(f"{what}: {counts[name]:,}")
    if "kept" in facts:
        print_line(f"kept: {count(facts['kept'], 'reference')}")
    if replaced["signature"]:
        print_line(f"replaced: the weights of {Signature.from_json(replaced['signature'])}")
    elif replaced["weights"]:
        print_line(f"replaced: {count(replaced['weights'], 'weight')} other than 1 in the input")
    for warning in facts["warnings"]:
        print_line(f"note: {warning}")
    print_signatures(facts["signature"])


NOTES = {
    "without_references": "samples without references",
    "without_gold": "samples without a gold reply",
    "without_positive": "samples without a weight above 0 (ΔBLEU leaves them unscored)",
    "unrated_gold": "unrated gold replies (weight 1)",
    "unrated": "unrated references (weight 0)",
    "unknown_items": "ratings of other items, which were ignored",
}
