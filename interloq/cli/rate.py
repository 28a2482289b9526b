"""`interloq rate`: samples in, the same samples with weights on their references out."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from interloq.cli.mapping import add_map
from interloq.cli.output import (
    MISSING,
    BadLines,
    add_common,
    left_out,
    number,
    print_json,
    print_table,
    say,
    say_signatures,
)
from interloq.cli.paths import InputPath, OutputPath
from interloq.cli.progress import progress
from interloq.rate.rater import BATCH

EXAMPLES = """\
  interloq rate extended.jsonl --rater "gru(model='rater')" -o rated.jsonl
  interloq rate extended.jsonl --rater "gru(model='rater',mode='signed_max',gold='rated')" -o rated.jsonl
  interloq rate extended.jsonl --rater "human(ratings='ratings.jsonl',low=1,high=5)" -o rated.jsonl"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "samples", type=InputPath, metavar="SAMPLES", help="JSONL, CSV or TSV, also .gz .xz .zst; - for a pipe"
    )
    parser.add_argument("--rater", required=True, metavar="SPEC", help="who rates: gru(…), bert(…) or human(…)")
    parser.add_argument(
        "-o", "--output", type=OutputPath, required=True, metavar="FILE", help="the rated samples; - for a pipe"
    )
    parser.add_argument(
        "--batch", type=int, default=BATCH, metavar="N", help=f"samples rated and kept at a time (default {BATCH})"
    )
    parser.add_argument("--force", action="store_true", help="throw an unfinished run of another job away")
    add_map(parser)
    add_common(parser)


def run(args: argparse.Namespace) -> int:
    from interloq.registry import create

    rater = create(args.rater, kind="rater")
    with tempfile.TemporaryDirectory() as folder:
        facts = _write(args, rater, Path(folder))
    left_out(facts["counts"].get("unknown_items"))
    if args.output == "-":
        return 0
    if args.json:
        print_json({"output": args.output, **facts})
    else:
        _print(args.output, facts)
    return 0


def _write(args: argparse.Namespace, rater: Any, folder: Path) -> dict[str, Any]:
    """Through a part file: the run may be killed, and the counts belong in the header."""
    from interloq.data.jsonl import header, read, write
    from interloq.errors import InputError
    from interloq.rate.spool import Spool, rate_into
    from interloq.rate.summary import summary

    before = {} if args.samples == "-" else header(args.samples)
    resumable = "-" not in (args.samples, args.output)
    part = Path(f"{args.output}.part") if resumable else folder / "rated.jsonl"
    signature = rater.signature()
    spool = Spool(part, _job(args, signature), afresh=args.force)
    bad, replaced, finished = BadLines(), _Replaced(), False
    try:
        with progress("rating", _lines(args), quiet=args.quiet) as step:
            samples = replaced.watch(read(args.samples, strict=args.strict, on_reject=bad, columns=args.columns))
            rate_into(spool, samples, rater, batch=args.batch, progress=step)
        bad.close(args.samples)
        try:
            facts = {"signature": signature, "counts": summary(spool.samples(), rater)}
        except InputError:  # the ratings are of something else: what was rated with them is worth nothing
            finished = True
            raise
        kept = {name: value for name, value in before.items() if name not in ("kind", "schema", "rated")}
        write(args.output, spool.samples(), kind="samples", **kept, rated=[*before.get("rated", []), facts])
        finished = True
    finally:
        spool.close(finished=finished)
    return {**facts, "resumed": spool.done, "replaced": replaced.facts(before)}


def _job(args: argparse.Namespace, signature: str) -> dict[str, str]:
    from interloq.signature import file_fingerprint

    job = {
        "rater": signature,
        "samples": args.samples if args.samples == "-" else file_fingerprint(Path(args.samples)),
    }
    return job | ({"map": ",".join(f"{field}={name}" for field, name in args.columns.items())} if args.columns else {})


def _lines(args: argparse.Namespace) -> int | None:
    """How much there is to do, for the estimate; a pipe does not tell."""
    from interloq.data.files import lines

    return None if args.samples == "-" else sum(1 for _ in lines(args.samples))


class _Replaced:
    """What the weights in the input were, as they are gone in the output."""

    def __init__(self) -> None:
        self.weights = 0

    def watch(self, samples: Iterable[Any]) -> Iterator[Any]:
        for sample in samples:
            self.weights += sum(reference.weight != 1 for reference in sample.references)
            yield sample

    def facts(self, before: dict[str, Any]) -> dict[str, Any]:
        last = before.get("rated", [])[-1:]
        return {"weights": self.weights, "signature": last[0]["signature"] if last else ""}


def _print(output: str, facts: dict[str, Any]) -> None:
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
    if replaced["signature"]:
        say(f"replaced: the weights of {replaced['signature']}")
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
