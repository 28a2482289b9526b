"""`interloq rate`: samples in, the same samples with weights on their references out."""

from __future__ import annotations

import argparse
from typing import Any

from interloq.cli.mapping import add_map
from interloq.cli.output import BadLines, add_common, left_out
from interloq.cli.paths import InputPath, OutputPath
from interloq.cli.progress import told
from interloq.errors import count
from interloq.rate.rater import BATCH
from interloq.report.console import MISSING, number, print_json, print_table, say, say_signatures
from interloq.signature import Signature

EXAMPLES = """\
  interloq rate extended.jsonl --rater "gru(model='rater')" -o rated.jsonl
  interloq rate extended.jsonl --rater "gru(model='rater',mode='signed_max',gold='rated')" -o rated.jsonl
  interloq rate extended.jsonl --rater "by(relevance(model='relevance'))" --best 5 --no-weights -o best.jsonl
  interloq rate extended.jsonl --rater "human(ratings='ratings.jsonl',low=1,high=5)" -o rated.jsonl"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "samples", type=InputPath, metavar="SAMPLES", help="JSONL, CSV or TSV, also .gz .xz .zst; - for a pipe"
    )
    parser.add_argument(
        "-r", "--rater", required=True, metavar="SPEC", help="who rates: gru(…), bert(…), by(METRIC) or human(…)"
    )
    parser.add_argument(
        "-o", "--output", type=OutputPath, required=True, metavar="FILE", help="the rated samples; - for a pipe"
    )
    parser.add_argument(
        "--best", type=int, metavar="N", help="keep gold replies and the N other references with the largest weights"
    )
    parser.add_argument(
        "--no-weights", dest="weigh", action="store_false", help="give every reference that is kept the weight 1"
    )
    parser.add_argument(
        "--batch", type=int, default=BATCH, metavar="N", help=f"samples rated and kept at a time (default {BATCH})"
    )
    parser.add_argument("--force", action="store_true", help="throw an unfinished run of another job away")
    add_map(parser)
    add_common(parser)


def run(args: argparse.Namespace) -> int:
    from interloq.pipelines.rate_file import rate_file

    bad = BadLines()
    facts = rate_file(
        args.samples,
        args.output,
        rater=args.rater,
        best=args.best,
        weigh=args.weigh,
        batch=args.batch,
        force=args.force,
        strict=args.strict,
        on_reject=bad,
        columns=args.columns,
        progress=told(quiet=args.quiet),
    )
    bad.close()
    left_out(facts["counts"].get("unknown_items"))
    if args.output == "-":
        return 0
    if args.json:
        print_json({"output": args.output, **facts})
    else:
        print_rated(args.output, facts)
    return 0


def print_rated(output: str, facts: dict[str, Any]) -> None:
    """How many references were rated, by source."""
    counts, replaced = facts["counts"], facts["replaced"]
    again = f"; {facts['resumed']:,} samples were rated by the run before" if facts["resumed"] else ""
    judged, total = sum(row["judged"] for row in counts["sources"].values()), counts["references"]
    rated = f"{total:,} rated references"
    if judged < total:
        rated = f"{total:,} references: {judged:,} judged, {total - judged:,} with a default weight"
    say(f"{output}: {counts['samples']:,} samples with {rated}{again}")
    rows = [
        [source, f"{row['references']:,}", f"{row['judged']:,}", number(row["mean"]), _share(row["positive"])]
        for source, row in counts["sources"].items()
    ]
    print_table("", ["source", "references", "judged", "mean weight", "above 0"], rows)
    for name, what in NOTES.items():
        if counts.get(name):
            say(f"{counts[name]:,} {what}")
    if "kept" in facts:
        say(f"kept: {count(facts['kept'], 'reference')}")
    if replaced["signature"]:
        say(f"replaced: the weights of {Signature.from_json(replaced['signature'])}")
    elif replaced["weights"]:
        say(f"replaced: {replaced['weights']:,} weights other than 1 that stood in the file")
    say_signatures(facts["signature"])


def _share(value: float | None) -> str:
    return MISSING if value is None else f"{100 * value:.1f} %"


NOTES = {
    "without_references": "samples have no references",
    "without_gold": "samples have no gold reply",
    "without_positive": "samples have no weight above 0: ΔBLEU leaves them unscored",
    "unrated_gold": "gold replies nobody rated: weight 1",
    "unrated": "references nobody rated: weight 0",
    "unknown_items": "rated items are not references of these samples: left out",
}
