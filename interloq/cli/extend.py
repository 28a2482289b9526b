"""`interloq extend`: samples in, samples with further references from logs out."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from interloq.cli.mapping import add_map
from interloq.cli.output import BadLines, add_common, add_drop_own_replies, print_json, print_table, say
from interloq.cli.paths import InputPath, OutputPath
from interloq.cli.progress import progress

EXAMPLES = """\
  interloq extend samples.jsonl --index index -o extended.jsonl
  interloq extend samples.jsonl --index index -k 10 --no-parrot --diversity 0.3 -o extended.jsonl
  interloq extend samples.jsonl --index index --near-duplicates 0.9 --exclude threads.txt -o extended.jsonl"""
REASONS = {
    "id": "from the sample's own thread, or excluded by name",
    "utterance": "utterance is a turn of the test item",
    "gold": "reply is a gold reply",
    "near gold": "reply is nearly a gold reply",
    "own": "reply is the one that is judged",
    "repeated": "reply stands among the references already",
    "empty": "reply is empty",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "samples", type=InputPath, metavar="SAMPLES", help="JSONL, CSV or TSV, also .gz .xz .zst; - for a pipe"
    )
    parser.add_argument(
        "-o", "--output", type=OutputPath, required=True, metavar="FILE", help="the extended samples; - for a pipe"
    )
    parser.add_argument(
        "--index", required=True, type=InputPath, metavar="INDEX", help="where to look (see: interloq index)"
    )
    parser.add_argument("-k", type=int, default=15, metavar="N", help="replies to retrieve (default 15)")
    parser.add_argument("--turns", type=int, default=1, metavar="N", help="last turns that are looked for (default 1)")
    parser.add_argument("--no-parrot", action="store_true", help="do not add the utterance itself")
    parser.add_argument("--no-gold", action="store_true", help="drop the references that came with the samples")
    parser.add_argument(
        "--diversity", type=float, default=0.0, metavar="D", help="0 (default): nearest replies; up to 1: unlike ones"
    )
    parser.add_argument(
        "--near-duplicates", type=float, default=0.0, metavar="J", help="drop replies this similar to a gold reply"
    )
    parser.add_argument(
        "--exclude", type=InputPath, metavar="FILE", help="ids of pairs, posts or threads to leave out, one a line"
    )
    add_drop_own_replies(parser)
    add_map(parser)
    add_common(parser)


def run(args: argparse.Namespace) -> int:
    from interloq.retrieve.extend import Tally

    tally, bad = Tally(), BadLines()
    with tempfile.TemporaryDirectory() as folder, progress("extending", quiet=args.quiet) as step:
        facts = _write(args, Path(folder) / "extended.jsonl", tally, bad, step)
    bad.close(args.samples)
    if args.output == "-":
        return 0
    if args.json:
        print_json({"output": args.output, **facts})
    else:
        _print(args.output, facts["counts"], args.k)
    return 0


def _write(args: argparse.Namespace, spool: Path, tally: Any, bad: BadLines, step: Any) -> dict[str, Any]:
    """Through a file of its own: the counts belong in the header, and are known only in the end."""
    from interloq.data.jsonl import header, read, write
    from interloq.retrieve.index import open_index

    samples = read(args.samples, strict=args.strict, on_reject=bad, columns=args.columns)
    index = open_index(args.index)
    before = {} if args.samples == "-" else header(args.samples)
    write(spool, _extended(args, index, samples, tally, step), kind="samples")
    kept = {name: value for name, value in before.items() if name not in ("kind", "schema", "extended")}
    facts = {"signature": _signature(args, index), "counts": tally.facts()}
    history = [*before.get("extended", []), facts]  # samples may be extended from several indexes in turn
    write(args.output, read(spool, strict=True), kind="samples", **kept, extended=history)
    return facts


def _extended(args: argparse.Namespace, index: Any, samples: Iterator[Any], tally: Any, step: Any) -> Iterator[Any]:
    from interloq.retrieve.extend import extend

    return extend(
        samples,
        index,
        **_options(args),
        excluded=_excluded(args.exclude),
        tally=tally,
        progress=step,
    )


def _options(args: argparse.Namespace) -> dict[str, Any]:
    return {
        "k": args.k,
        "parrot": not args.no_parrot,
        "gold": not args.no_gold,
        "turns": args.turns,
        "diversity": args.diversity,
        "near": args.near_duplicates,
        "own": not args.drop_own_replies,
    }


def _excluded(path: str | None) -> frozenset[str]:
    from interloq.data.files import lines

    ids = (line.decode("utf-8", "replace").strip() for _, line in lines(path)) if path else ()
    return frozenset(id for id in ids if id)


def _signature(args: argparse.Namespace, index: Any) -> str:
    from interloq.retrieve.extend import extend_signature, searched_in
    from interloq.signature import file_fingerprint

    options = _options(args)
    if args.exclude:
        options["exclude"] = file_fingerprint(Path(args.exclude))
    return extend_signature(index.retriever, searched_in(index), options)


def _print(output: str, counts: dict[str, Any], k: int) -> None:
    say(f"{output}: {counts['samples']} samples with {counts['retrieved']} retrieved replies")
    for name, what in (
        ("fewer", f"have fewer than {k}: the index holds no more that can be used"),
        ("without_context", "have no utterance to look for: nothing was added to them"),
        ("without_gold", "have no gold reply: copies of it cannot be told by it"),
        ("own", "have the very reply that is judged among them (--drop-own-replies drops it)"),
    ):
        if counts[name]:
            say(f"{counts[name]} samples {what}")
    rows = [[REASONS[r], str(n["pairs"]), str(n["samples"])] for r, n in counts["dropped"].items()]
    if rows:
        print_table("", ["dropped", "pairs", "samples"], rows)
