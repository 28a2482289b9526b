"""`interloq data`: published datasets in, files checked and converted."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

from interloq.cli.mapping import add_map
from interloq.cli.output import BadLines, add_common
from interloq.cli.paths import InputPath, OutputPath
from interloq.cli.progress import told
from interloq.data.convert_file import KINDS, convert_file
from interloq.report.console import print_json, print_table, say, say_notes

EXAMPLES = """\
  interloq data list
  interloq data import usr usr.tar.gz --subset topical -o samples.jsonl
  INTERLOQ_DATA=datasets interloq data import fed --subset dialogue -o dialogues.jsonl.gz
  interloq data check samples.csv -m bleu
  interloq data convert samples.tsv.xz -o samples.jsonl"""


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
    from interloq.data.sets.imports import import_dataset

    facts = import_dataset(args.dataset, args.output, path=args.path, subset=args.subset)
    _show(facts, args, f"of {facts['dataset']} {args.subset}".strip())
    return 0


def _check(args: argparse.Namespace) -> int:
    from interloq.metrics.check_file import check_file

    bad = BadLines()
    counts, notes = check_file(args.file, metrics=args.metric, **_reading(args, bad))
    bad.close()
    _show({**counts, "bad_lines": bad.count, "notes": [asdict(note) for note in notes]}, args, f"in {args.file}")
    if not args.json:
        say_notes(notes)
    return 0


def _convert(args: argparse.Namespace) -> int:
    bad = BadLines()
    counts = convert_file(args.file, args.output, **_reading(args, bad))
    bad.close()
    _show({**counts, "bad_lines": bad.count}, args, f"of {args.file}")
    return 0


def _reading(args: argparse.Namespace, bad: BadLines) -> dict[str, Any]:
    """What `check` and `convert` have in common."""
    return {
        "kind": args.kind,
        "strict": args.strict,
        "on_reject": bad,
        "columns": args.columns,
        "progress": told(quiet=args.quiet),
    }


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
