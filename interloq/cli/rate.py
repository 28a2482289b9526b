# SPDX-License-Identifier: Apache-2.0
"""`interloq rate`: samples in, the same samples with weights on their references out."""

from __future__ import annotations

import argparse
from typing import Any

from interloq.cli.shared.arguments import add_common, add_map, add_options, add_output, add_samples, make_options
from interloq.cli.shared.output import add_limits, limit_spending, mark_incomplete, reading, stage_progress
from interloq.errors import count
from interloq.rate.rate_options import RateOptions
from interloq.signature import Signature
from interloq.terminal.console import MISSING, number, print_json, print_line, print_signatures, print_table

EXAMPLES = """\
  interloq rate extended.jsonl --rater "gru(model='rater')" -o rated.jsonl
  interloq rate extended.jsonl --rater "gru(model='rater',mode='signed_max',gold='rated')" -o rated.jsonl
  interloq rate extended.jsonl --rater "by(judge(model='ready'))" --best 5 --no-weights -o best.jsonl
  interloq rate extended.jsonl --rater "human(ratings='ratings.jsonl',low=1,high=5)" -o rated.jsonl"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_samples(parser)
    add_output(parser, "the rated samples; - for a pipe")
    add_options(parser, RateOptions)
    add_limits(parser)
    add_map(parser)
    add_common(parser)


def run(args: argparse.Namespace) -> None:
    from interloq.rate.rate_file import rate_file

    options, progress = make_options(RateOptions, args), stage_progress(quiet=args.quiet)
    with reading(args) as read_options, limit_spending(args):
        facts = rate_file(args.samples, args.output, options, reading=read_options, progress=progress)
    mark_incomplete(facts["counts"].get("unknown_items"))
    if args.output == "-":
        return
    if args.json:
        print_json({"output": args.output, **facts})
    else:
        print_rated(args.output, facts)


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
