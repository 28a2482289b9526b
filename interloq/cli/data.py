"""`interloq data`: published datasets in, files checked and converted."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from interloq.cli.mapping import add_map
from interloq.cli.output import BadLines, add_common, print_json, print_table, say, say_notes
from interloq.cli.paths import InputPath, OutputPath
from interloq.cli.progress import progress
from interloq.data.summary import Summary

EXAMPLES = """\
  interloq data list
  interloq data import usr usr.tar.gz --subset topical -o samples.jsonl
  INTERLOQ_DATA=datasets interloq data import fed --subset dialogue -o dialogues.jsonl.gz
  interloq data check samples.csv -m bleu
  interloq data convert samples.tsv.xz -o samples.jsonl"""
KINDS = ("samples", "dialogues", "scores", "ratings")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="list the published datasets that can be imported")
    listing.add_argument("--json", action="store_true", help="print JSON instead of a table")

    importing = actions.add_parser("import", help="write a published dataset as records")
    importing.add_argument("dataset", metavar="NAME", help="grade, usr, fed, … (see: interloq data list)")
    importing.add_argument(
        "path", nargs="?", type=InputPath, metavar="PATH", help="its folder, archive or file; else in $INTERLOQ_DATA"
    )
    importing.add_argument(
        "-o", "--output", type=OutputPath, required=True, metavar="FILE", help="JSONL, also .gz .xz .zst; - for a pipe"
    )
    importing.add_argument("--subset", default="", metavar="PART", help="only this part (see: interloq data list)")
    importing.add_argument("--json", action="store_true", help="print the counts as JSON")

    checking = actions.add_parser("check", help="read a file, name its bad lines, print counts and notes")
    checking.add_argument(
        "-m", "--metric", action="append", default=[], metavar="SPEC", help="note what this metric cannot deal with"
    )
    converting = actions.add_parser("convert", help="write CSV, TSV or compressed records as JSONL")
    converting.add_argument(
        "-o", "--output", type=OutputPath, required=True, metavar="FILE", help="JSONL, also .gz .xz .zst; - for a pipe"
    )
    for action in (checking, converting):
        action.add_argument(
            "file", type=InputPath, metavar="FILE", help="JSONL, CSV or TSV, also .gz .xz .zst; - for a pipe"
        )
        action.add_argument(
            "--kind", choices=KINDS, help="kind of record (default: what its header says, else what its fields show)"
        )
        add_map(action, of="records")
        add_common(action)


def run(args: argparse.Namespace) -> int:
    actions = {"list": _list, "import": _import, "check": _check, "convert": _convert}
    return actions[args.action](args)


def _list(args: argparse.Namespace) -> int:
    from interloq.data.sets.registry import DATASETS

    if args.json:
        facts = [
            {"name": d.name, "aliases": d.aliases, "subsets": d.subsets, "holds": d.holds, "paper": d.paper}
            for d in DATASETS.values()
        ]
        print_json({"datasets": facts})
        return 0
    for d in DATASETS.values():
        say(f"{d.name}: {d.holds} ({d.paper})")
        if d.subsets:
            say(f"    --subset {' | '.join(d.subsets)}")
    say("\nAlso known as: " + ", ".join(f"{alias} = {d.name}" for d in DATASETS.values() for alias in d.aliases))
    return 0


def _import(args: argparse.Namespace) -> int:
    from interloq.data.jsonl import write
    from interloq.data.sets.registry import dataset, locate, read_dataset, source_fingerprint

    chosen = dataset(args.dataset)
    kind = chosen.kind(args.subset)
    path = args.path or locate(chosen.name)
    summary = Summary()
    records = summary.watch(read_dataset(chosen.name, path, subset=args.subset))
    source = source_fingerprint(chosen.name, path)
    write(args.output, records, kind=kind, dataset=chosen.name, subset=args.subset, source=source)
    facts = {"dataset": chosen.name, "subset": args.subset, "kind": kind, **summary.facts(), "source": source}
    _show(facts, args, f"of {chosen.name} {args.subset}".strip())
    return 0


def _check(args: argparse.Namespace) -> int:
    from dataclasses import asdict

    from interloq.metrics.checks import Checks
    from interloq.metrics.chosen import choose
    from interloq.records import Sample

    kind = args.kind or _kind(args.file)
    bad, summary, checks = BadLines(), Summary(), Checks([one.metric for one in choose(args.metric)[0]])
    for record in summary.watch(_records(args, kind, bad)):
        if isinstance(record, Sample):
            checks.add((record,))
    bad.close(args.file)
    notes = checks.notes()
    facts = {"kind": kind, **summary.facts(), "bad_lines": bad.count, "notes": [asdict(note) for note in notes]}
    _show(facts, args, f"in {args.file}")
    if not args.json:
        say_notes(notes)
    return 0


def _convert(args: argparse.Namespace) -> int:
    from interloq.data.files import plain_suffix
    from interloq.data.jsonl import write
    from interloq.errors import InputError

    if plain_suffix(args.output) in (".csv", ".tsv"):
        raise InputError(f"cannot write {args.output}: records are written as JSONL", cure="name a .jsonl file")
    facts = _header(args.file)
    kind = args.kind or _kind(args.file)
    kept = {name: value for name, value in facts.items() if name not in ("kind", "schema")}
    bad, summary = BadLines(), Summary()
    write(args.output, summary.watch(_records(args, kind, bad)), kind=kind, **kept)
    bad.close(args.file)
    _show({"kind": kind, **summary.facts(), "bad_lines": bad.count}, args, f"of {args.file}")
    return 0


def _kind(path: str) -> str:
    """What the file says, or shows, that it holds."""
    from interloq.data.texts import kind_of

    kind = kind_of(path)
    return kind if kind in KINDS else "samples"


def _header(path: str) -> dict[str, Any]:
    """What the header says; nothing for a pipe, which cannot be read twice, or a bad line, which reading will name."""
    from interloq.data.jsonl import header
    from interloq.errors import InputError

    try:
        return {} if path == "-" else header(path)
    except InputError:
        return {}


def _records(args: argparse.Namespace, kind: str, bad: BadLines) -> Iterator[Any]:
    from interloq.data.jsonl import read

    with progress("reading", quiet=args.quiet) as step:
        for record in read(args.file, kind=kind, strict=args.strict, on_reject=bad, columns=args.columns):
            step(1)
            yield record


def _show(facts: dict[str, Any], args: argparse.Namespace, source: str) -> None:
    """The counts, unless standard output carries the records."""
    if getattr(args, "output", None) == "-":
        return
    if args.json:
        print_json(facts)
        return
    kind = facts["kind"] if facts["records"] != 1 else facts["kind"].removesuffix("s")
    say(f"{facts['records']} {kind} {source}")
    for name in ("systems", "metrics"):
        if facts.get(name):
            say(f"{name}: " + ", ".join(f"{key} {count}" for key, count in facts[name].items()))
    if facts.get("references"):
        say("references: " + ", ".join(f"{count} samples with {n}" for n, count in facts["references"].items()))
    if facts["ratings"]:
        say(f"raters: {facts['raters']} named; {facts['ratings_without_rater']} ratings without a rater")
    rows = [
        [aspect, str(counts["ratings"]), str(counts["not_applicable"])] for aspect, counts in facts["aspects"].items()
    ]
    if rows:
        print_table("", ["aspect", "ratings", "not applicable"], rows)
    if facts.get("bad_lines"):
        say(f"bad lines: {facts['bad_lines']}")
