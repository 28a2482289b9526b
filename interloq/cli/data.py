# SPDX-License-Identifier: Apache-2.0
"""`interloq data`: import published datasets; check and convert files."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

from interloq.cli.shared import arguments
from interloq.cli.shared.output import BadLineReporter, mark_incomplete, reading, stage_progress
from interloq.data.pseudonyms import UserIdOptions
from interloq.data.records.convert_file import KINDS, convert_file
from interloq.data.records.line_files import LineFiles, lines_file
from interloq.data.records.read_options import ReadOptions
from interloq.data.tool_logs.import_logs import LogOptions, import_logs
from interloq.errors import InputError, count
from interloq.records import format_key
from interloq.score.score_options import CheckOptions, ScoreExportOptions
from interloq.terminal.console import print_json, print_line, print_notes, print_stderr, print_table
from interloq.web.studies.label_studio_tasks import LabelStudioOptions, label_studio_file

EXAMPLES = """\
  interloq data list
  interloq data import usr usr.tar.gz --subset topical -o samples.jsonl
  INTERLOQ_DATA=datasets interloq data import fed --subset dialogue -o dialogues.jsonl.gz
  interloq data import traces.jsonl scores.json -o dialogues.jsonl --redact
  interloq data import runs.jsonl --from langsmith --map response=outputs.answer,user=inputs.who -o dialogues.jsonl
  interloq data export scores.jsonl --to otel --samples samples.jsonl -o events.jsonl
  interloq data check samples.csv -m bleu
  interloq data convert samples.tsv.xz -o samples.jsonl
  interloq data merge samples.jsonl ratings.csv -o rated.jsonl
  interloq data to-label-studio samples.jsonl -o tasks.json
  interloq data from-label-studio export.json --key tasks.key.json -o rated.jsonl
  interloq data join parts -o scores.jsonl
  interloq data lines old=a.txt new=b.txt --contexts contexts.txt --references gold.txt -o samples.jsonl"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="list the published datasets and the tools' logs that can be imported")
    arguments.add_json(listing)

    importing = actions.add_parser("import", help="convert a published dataset, or logs of another tool, to records")
    help = "grade, usr, fed, … (see: interloq data list), or a file with a log"
    arguments.add_input(importing, "dataset", "NAME|LOG", help)
    help = "a dataset's folder, archive or file (default: looked up in $INTERLOQ_DATA), or further files of the log"
    arguments.add_input(importing, "path", "PATH", help, nargs="*")
    arguments.add_output(importing, "JSONL, also .gz .xz .zst; - for a pipe")
    importing.add_argument("--subset", default="", metavar="PART", help="only this part (see: interloq data list)")
    importing.add_argument("--json", action="store_true", help="print the counts as JSON")
    arguments.add_options(importing, UserIdOptions)
    arguments.add_options(importing, LogOptions)
    arguments.add_quiet(importing)

    exporting = actions.add_parser("export", help="write scores for another tool: events, or a table to import")
    arguments.add_input(exporting, "scores", "SCORES", "scores by interloq score")
    arguments.add_output(exporting, "events of OpenTelemetry (.jsonl), or a dataset for Langfuse or LangSmith (.csv)")
    arguments.add_options(exporting, ScoreExportOptions)
    arguments.add_options(exporting, ReadOptions, only=("strict",))
    arguments.add_json(exporting, "a line")

    checking = actions.add_parser("check", help="read a file and report its bad lines, counts and notes")
    arguments.add_options(checking, CheckOptions)
    converting = actions.add_parser("convert", help="convert CSV, TSV or compressed records to JSONL")
    arguments.add_output(converting, "JSONL, also .gz .xz .zst; - for a pipe")
    for action in (checking, converting):
        arguments.add_input(action, "file", "FILE", "JSONL, CSV or TSV, also .gz .xz .zst; - for a pipe")
        action.add_argument(
            "--kind", choices=KINDS, help="kind of record (default: from the file's header, or else from its fields)"
        )
        arguments.add_map(action, of="records")
        arguments.add_common(action)

    merging = actions.add_parser("merge", help="add ratings from other files to samples or dialogues")
    arguments.add_input(merging, "file", "FILE", "samples or dialogues")
    arguments.add_input(merging, "ratings", "RATINGS", "ratings with their item: CSV, TSV or JSONL", nargs="+")
    arguments.add_output(merging, "JSONL, also .gz .xz .zst; - for a pipe")
    arguments.add_common(merging)

    shards = actions.add_parser("join", help="write the output of a long job from its finished shards (--parts)")
    arguments.add_input(shards, "parts", "DIR", "folder of shards that interloq VERB --shard I/N --parts DIR wrote")
    arguments.add_output(shards, "the job's output (default: the one of its command)", required=False)
    shards.add_argument("--trust", action="store_true", help="trust the files that the job's command trusted")
    arguments.add_quiet(shards)

    _add_label_studio(actions)
    joining = actions.add_parser("lines", help="join text files line by line: replies, contexts, references")
    help = "replies of one system, one per line; it is named after the file unless a name is given"
    arguments.add_input(joining, "responses", "[NAME=]FILE", help, nargs="+")
    arguments.add_options(joining, LineFiles)
    joining.add_argument("--json", action="store_true", help="print the counts as JSON")
    arguments.add_output(joining, "JSONL, also .gz .xz .zst; - for a pipe")


def run(args: argparse.Namespace) -> None:
    actions = {
        "list": _list,
        "import": _import,
        "export": _export,
        "check": _check,
        "convert": _convert,
        "lines": _lines,
        "join": _join,
        "merge": _merge,
        "to-label-studio": _write_tasks,
        "from-label-studio": _read_annotations,
    }
    actions[args.action](args)


def _list(args: argparse.Namespace) -> None:
    from interloq.data.sets.registry import DATASETS
    from interloq.data.tool_logs.formats import listing

    logs = [{"name": name, "what": what, "kept": kept} for name, what, kept in listing()]
    if args.json:
        facts = []
        for known in DATASETS.values():
            entry = {"name": known.name, "aliases": known.aliases, "subsets": known.subsets}
            facts.append(entry | {"holds": known.holds, "paper": known.paper})
        print_json({"datasets": facts, "logs": logs})
        return
    aliases = []
    for known in DATASETS.values():
        print_line(f"{known.name}: {known.holds} ({known.paper})")
        if known.subsets:
            print_line(f"    --subset {' | '.join(known.subsets)}")
        aliases += [f"{alias} = {known.name}" for alias in known.aliases]
    print_line(f"\nAlso known as: {', '.join(aliases)}\n\nLogs of other tools (--from NAME, or recognised):")
    for log in logs:
        print_line(f"{log['name']}: {log['what']}\n    kept: {log['kept']}")


def _import(args: argparse.Namespace) -> None:
    from interloq.data.sets.imports import import_dataset, import_names
    from interloq.data.sets.registry import NAMES

    looks_like_file = Path(args.dataset).is_file() or Path(args.dataset).suffix
    if args.format or (args.dataset not in NAMES and looks_like_file):
        _import_logs(args)
        return
    if len(args.path) > 1:
        raise InputError(f"{len(args.path)} paths for the dataset {args.dataset}", hint="name its folder or archive")
    names = import_names(args.dataset, arguments.make_options(UserIdOptions, args))
    facts = import_dataset(args.dataset, args.output, path=next(iter(args.path), None), subset=args.subset, names=names)
    _show(facts, args, f"of {facts['dataset']} {args.subset}".strip())


def _import_logs(args: argparse.Namespace) -> None:
    bad = BadLineReporter()
    names = arguments.make_options(UserIdOptions, args).pseudonyms()
    options = arguments.make_options(LogOptions, args, on_reject=bad)
    progress = stage_progress(quiet=args.quiet)
    facts = import_logs([args.dataset, *args.path], args.output, options, names=names, progress=progress)
    bad.close()
    _show({**facts, "bad_lines": bad.count}, args, f"of {facts['imported']}")
    if not args.json and args.output != "-":
        print_line(", ".join(f"{kind} {n:,}" for kind, n in {**facts["turns"], **facts["redacted"]}.items()))
    for note in facts["notes"]:
        print_stderr(f"interloq: {note}")


def _export(args: argparse.Namespace) -> None:
    from interloq.score.export_scores import export_scores

    with reading(args) as read_options:
        options = arguments.make_options(ScoreExportOptions, args)
        counts = export_scores(args.scores, args.output, options, reading=read_options)
    mark_incomplete(counts["unknown"])
    if counts["unknown"]:
        print_stderr(f"interloq: {count(counts['unknown'], 'score')} of replies that are in no file of samples")
    if args.output == "-":
        return
    if args.json:
        print_json(counts)
    else:
        print_line(
            f"{args.output}: {count(counts['scores'], 'score')} of {count(counts['replies'], 'reply', 'replies')}"
        )


def _check(args: argparse.Namespace) -> None:
    from interloq.score.check_file import check_file

    bad = BadLineReporter()
    counts, notes = check_file(
        args.file,
        arguments.make_options(CheckOptions, args),
        kind=args.kind,
        reading=arguments.make_options(ReadOptions, args, on_reject=bad),
        progress=stage_progress(quiet=args.quiet),
    )
    bad.close()
    _show({**counts, "bad_lines": bad.count, "notes": [asdict(note) for note in notes]}, args, f"in {args.file}")
    if not args.json:
        print_notes(notes)


def _convert(args: argparse.Namespace) -> None:
    bad = BadLineReporter()
    counts = convert_file(
        args.file,
        args.output,
        kind=args.kind,
        reading=arguments.make_options(ReadOptions, args, on_reject=bad),
        progress=stage_progress(quiet=args.quiet),
    )
    bad.close()
    _show({**counts, "bad_lines": bad.count}, args, f"of {args.file}")


def _merge(args: argparse.Namespace) -> None:
    from interloq.data.records.merge_file import merge_file

    with reading(args) as read_options:
        facts = merge_file(args.file, args.ratings, args.output, reading=read_options)
    mark_incomplete(facts["unknown"])
    if facts["unknown"]:
        named = ", ".join(format_key((unknown["item"], unknown["system"])) for unknown in facts["unknown_items"])
        what = f"{count(facts['unknown'], 'rating')} of unknown items or systems not added"
        print_stderr(f"interloq: {what}, such as {named}")
    if args.output == "-":
        return
    if args.json:
        print_json(facts)
    else:
        added = f"{count(facts['added'], 'rating')} added, {facts['repeated']:,} there already"
        print_line(f"{args.output}: {count(facts['records'], facts['kind'].removesuffix('s'))}, {added}")


def _join(args: argparse.Namespace) -> None:
    """Run the job's command again, with these shards and without computing any."""
    from interloq.cli.main import VERBS, run_verb, verb_parser
    from interloq.shards.parts import read_manifest

    verb, *words = read_manifest(args.parts)["command"] or [""]
    hint = "call the same function again with these parts"
    if verb not in VERBS:
        raise InputError("its shards were computed from Python", hint=hint, where=args.parts)
    job = verb_parser(verb, next(iter(words), "")).parse_args(words)
    if not hasattr(job, "shard"):
        raise InputError(f"interloq {verb} has no shards", hint=hint, where=args.parts)
    if getattr(job, "trust", None) and not args.trust:
        raise InputError("its command trusts files that run code", hint="if you do, add --trust", where=args.parts)
    job.workers, job.shard, job.parts, job.only_join, job.quiet = None, None, args.parts, True, args.quiet
    job.output = args.output or getattr(job, "output", None)
    run_verb(verb, job)


def _lines(args: argparse.Namespace) -> None:
    facts = lines_file(args.responses, args.output, arguments.make_options(LineFiles, args))
    _show(facts, args, f"of {count(len(args.responses), 'file')}")


def _show(facts: dict[str, Any], args: argparse.Namespace, source: str) -> None:
    """Print the counts, unless the records go to standard output."""
    if getattr(args, "output", None) == "-":
        return
    if args.json:
        print_json(facts)
        return
    print_line(f"{count(facts['records'], facts['kind'].removesuffix('s'))} {source}")
    for name in ("systems", "metrics"):
        if facts.get(name):
            print_line(f"{name}: " + ", ".join(f"{key} {n}" for key, n in facts[name].items()))
    if facts.get("references"):
        sizes = [f"{count(n, 'sample')} with {size}" for size, n in facts["references"].items()]
        print_line(f"references: {', '.join(sizes)}")
    if facts["ratings"]:
        print_line(f"raters: {facts['raters']} named; ratings without a rater: {facts['ratings_without_rater']}")
    rows = []
    for aspect, counts in facts["aspects"].items():
        rows.append([aspect, str(counts["ratings"]), str(counts["not_applicable"])])
    if rows:
        print_table("", ["aspect", "ratings", "not applicable"], rows)
    if facts.get("bad_lines"):
        print_line(f"bad lines: {facts['bad_lines']}")


def _add_label_studio(actions: Any) -> None:
    writing = actions.add_parser("to-label-studio", help="write samples or dialogues as tasks for Label Studio")
    arguments.add_input(writing, "file", "FILE", "samples or dialogues")
    arguments.add_output(
        writing, "tasks (.json); a configuration (.xml) and a key file (.key.json) are written next to it"
    )
    arguments.add_options(writing, LabelStudioOptions)
    importing = actions.add_parser("from-label-studio", help="read annotations that Label Studio exported as JSON")
    arguments.add_input(importing, "file", "FILE", "JSON export of Label Studio")
    arguments.add_output(importing, "JSONL, also .gz .xz .zst; - for a pipe")
    importing.add_argument(
        "--key", type=arguments.InputPath, metavar="FILE", help="the tasks' key file, if Interloq wrote the tasks"
    )
    arguments.add_map(importing)
    arguments.add_options(importing, UserIdOptions)
    for action in (writing, importing):
        arguments.add_json(action, "a line")


def _write_tasks(args: argparse.Namespace) -> None:
    facts = label_studio_file(args.file, args.output, arguments.make_options(LabelStudioOptions, args))
    if args.json:
        print_json(facts)
    else:
        print_line(f"{args.output}: {count(facts['tasks'], 'task')}; configuration in {facts['config']}")
        print_line(f"keep {facts['key']} from annotators: it names the systems")


def _read_annotations(args: argparse.Namespace) -> None:
    from interloq.web.studies.label_studio_answers import label_studio_answers

    names = arguments.make_options(UserIdOptions, args).pseudonyms()
    facts = label_studio_answers(args.file, args.output, key=args.key, names=names, columns=args.columns)
    for type, n in facts["skipped"].items():
        print_stderr(f"interloq: {count(n, 'result')} of type {type!r} not imported")
    mark_incomplete(facts["skipped"])
    if args.output == "-":
        return
    if args.json:
        print_json(facts)
    else:
        text = f"{args.output}: {count(facts['records'], facts['kind'].removesuffix('s'))}"
        if facts["cancelled"]:
            text += f"; {count(facts['cancelled'], 'annotation')} skipped as cancelled"
        print_line(text)
