"""`interloq index`: pairs of an utterance and a response, stored so that the nearest are found."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from interloq.cli.output import BadLines, add_common, number, print_json, print_table, say
from interloq.cli.paths import InputPath, OutputPath
from interloq.cli.progress import progress

EXAMPLES = """\
  interloq index build pairs.jsonl.gz -o index --retriever bm25
  interloq index build pairs.jsonl -o index --retriever "dense(vectors='glove')" --without samples.jsonl
  interloq index add index more_pairs.jsonl
  interloq index search index "did you sleep well?" -k 5
  interloq index info index --json"""
SEGMENT, ENCODER_SEGMENT = 1_000_000, 50_000  # a transformer takes minutes for as many texts as others do in seconds


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    building = actions.add_parser("build", help="make an index of pairs, or go on where it was cut off")
    building.add_argument("pairs", nargs="+", type=InputPath, metavar="PAIRS", help="JSONL of pairs, also .gz .xz .zst")
    building.add_argument(
        "-o", "--output", type=OutputPath, required=True, metavar="INDEX", help="its folder, or a server's address"
    )
    building.add_argument("--retriever", required=True, metavar="SPEC", help="bm25, dense(vectors='FOLDER'), …")
    building.add_argument("--expected", type=int, default=0, metavar="N", help="pairs it will hold in the end")
    building.add_argument(
        "--exact-up-to", type=int, metavar="N", help="pairs up to which search is exact (in a folder: 200000)"
    )
    building.add_argument("--recall", type=float, default=0.95, metavar="R", help="wanted recall@15 beyond (.95)")

    adding = actions.add_parser("add", help="add further pairs")
    adding.add_argument("index", type=InputPath, metavar="INDEX", help="the index's folder, or a server's address")
    adding.add_argument("pairs", nargs="+", type=InputPath, metavar="PAIRS", help="JSONL of pairs, also .gz .xz .zst")
    for action in (building, adding):
        action.add_argument(
            "--segment", type=int, metavar="N", help="pairs stored at a time; a cut loses at most these"
        )
        action.add_argument(
            "--without",
            action="append",
            default=[],
            type=InputPath,
            metavar="SAMPLES",
            help="leave out what is shared with test items",
        )
        add_common(action)

    info = actions.add_parser("info", help="say what an index holds")
    searching = actions.add_parser("search", help="find the pairs nearest to a text")
    for action in (info, searching):
        action.add_argument("index", type=InputPath, metavar="INDEX", help="the index's folder, or a server's address")
        action.add_argument("--json", action="store_true", help="print JSON instead of a table")
    searching.add_argument("text", metavar="TEXT", help="the utterance to look for")
    searching.add_argument("--response", default="", metavar="TEXT", help="its response, where both sides count")
    searching.add_argument("-k", type=int, default=15, metavar="N", help="how many pairs (default 15)")


def run(args: argparse.Namespace) -> int:
    actions = {"build": _build, "add": _add, "info": _info, "search": _search}
    return actions[args.action](args)


# ---- building --------------------------------------------------------------------------------------------------------


def _build(args: argparse.Namespace) -> int:
    from interloq.retrieve.index import create_index

    _check_files(args)
    index = create_index(
        args.output, args.retriever, expected=args.expected, exact_up_to=args.exact_up_to, recall=args.recall
    )
    return _add_all(index, args)


def _add(args: argparse.Namespace) -> int:
    from interloq.retrieve.index import open_index

    _check_files(args)
    return _add_all(open_index(args.index), args)


def _check_files(args: argparse.Namespace) -> None:
    """Before anything is made: a pipe cannot be read again, so a build that was cut off could not go on."""
    from interloq.errors import InputError

    for path in [*args.pairs, *args.without]:
        if path == "-" or not Path(path).is_file():
            raise InputError(f"no file {path!r}", cure="name files: a pipe cannot be read again after an interruption")
    if args.segment is not None and args.segment < 1:
        raise InputError(f"--segment must be at least 1, got {args.segment}")


def _add_all(index: Any, args: argparse.Namespace) -> int:
    guard = _Without(args.without, args.strict)
    files = [_add_file(index, path, guard, args) for path in args.pairs]
    if args.json:
        print_json({"index": index.home.where, "pairs": len(index.home), "files": files})
        return 0
    for facts in files:
        say(_said(facts))
    say(f"{index.home.where}: {len(index.home):,} pairs")
    return 0


def _add_file(index: Any, path: str, guard: _Without, args: argparse.Namespace) -> dict[str, Any]:
    from interloq.signature import file_fingerprint

    source = guard.source(file_fingerprint(Path(path)), index.home.sources(), path)
    before = index.home.sources().get(source, 0)
    bad = BadLines()
    with progress(f"indexing {Path(path).name}", _total(path, args.quiet), quiet=args.quiet) as step:
        pairs = guard.kept(read_pairs(path, args.strict, bad))
        added = index.add(pairs, source=source, segment=args.segment or _segment(index), progress=step)
    bad.close(path)
    return {"file": path, "before": before, "added": added, "left_out": dict(guard.dropped), "bad_lines": bad.count}


def _said(facts: dict[str, Any]) -> str:
    """One line for a file."""
    if facts["before"] and not facts["added"]:
        text = f"{facts['file']}: its {facts['before']:,} pairs are in the index already; nothing added"
    elif facts["before"]:
        text = f"{facts['file']}: went on after {facts['before']:,} pairs, {facts['added']:,} added"
    else:
        text = f"{facts['file']}: {facts['added']:,} pairs added"
    left_out = sum(facts["left_out"].values())
    return text + (f", {left_out:,} left out that test items share" if left_out else "")


class _Without:
    """The pool filter, with a name of its own: a file filtered otherwise is another source."""

    def __init__(self, paths: Sequence[str], strict: bool) -> None:
        from collections import Counter

        from interloq.data.jsonl import read
        from interloq.signature import file_fingerprint, fingerprint

        self.samples = [sample for path in paths for sample in read(path, strict=strict)]
        self.name = "-without-" + fingerprint(*sorted(file_fingerprint(Path(p)) for p in paths)) if paths else ""
        self.dropped: Counter[str] = Counter()

    def source(self, fingerprint: str, sources: dict[str, int], path: str) -> str:
        from interloq.errors import InputError

        wanted = fingerprint + self.name
        for known in sources:
            if known.split("-")[0] == fingerprint and known != wanted:
                raise InputError(
                    f"{path} is in the index already, with other samples left out",
                    cure="build a new index, or name the same samples with --without",
                )
        return wanted

    def kept(self, pairs: Iterator[Any]) -> Iterator[Any]:
        from interloq.retrieve.leaks import guarded

        self.dropped.clear()
        return guarded(pairs, self.samples, dropped=self.dropped) if self.samples else pairs


def read_pairs(path: str, strict: bool, bad: BadLines) -> Iterator[Any]:
    """The pairs of a file; where they have no ids, file and line name them."""
    from dataclasses import replace

    from interloq.data.jsonl import read

    pairs = read(path, kind="pairs", strict=strict, on_reject=bad)
    if _has_ids(path):
        return pairs
    stem = Path(path).name.split(".")[0]
    return (replace(pair, id=f"{stem}:{pair.id}") for pair in pairs)


def _has_ids(path: str) -> bool:
    """What the first record says; a line that is none will be named by the reading."""
    import orjson

    from interloq.data.files import lines

    for _, line in lines(path):
        try:
            value = orjson.loads(line)
        except orjson.JSONDecodeError:
            continue
        if isinstance(value, dict) and "utterance" in value:
            return "id" in value
    return True


def _total(path: str, quiet: bool) -> int | None:
    """Lines, for the time that is left."""
    from interloq.data.files import lines

    return None if quiet else sum(1 for _ in lines(path))


def _segment(index: Any) -> int:
    return ENCODER_SEGMENT if getattr(index.retriever, "encoder", "") else SEGMENT


# ---- looking ---------------------------------------------------------------------------------------------------------


def _info(args: argparse.Namespace) -> int:
    from interloq.registry import spec
    from interloq.retrieve.index import open_index

    index = open_index(args.index)
    manifest = getattr(index.home, "manifest", None)
    facts: dict[str, Any] = {
        "index": index.home.where,
        "pairs": len(index.home),
        "retriever": spec(index.retriever),
        "built_with": index.retriever.built_with(),
        "sources": index.home.sources(),
        "segments": len(getattr(manifest, "segments", ())),
        "recall": getattr(manifest, "recall", None),
        "wanted_recall": getattr(manifest, "wanted_recall", None),
        "bytes": _size(args.index),
    }
    if args.json:
        print_json(facts)
        return 0
    recall, wanted, size = facts["recall"], facts["wanted_recall"], facts["bytes"]
    say(f"{index.home.where}: {facts['pairs']:,} pairs" + (f", {size / 1e6:,.1f} MB" if size else ""))
    say(f"retriever: {facts['retriever']} ({facts['built_with']})")
    say(
        "search: exact"
        if recall is None
        else f"search: approximate, recall@15 {recall:.3f} as measured, {wanted} wanted"
    )
    print_table("", ["source", "pairs"], [[name, f"{n:,}"] for name, n in facts["sources"].items()])
    return 0


def _size(address: str) -> int:
    folder = Path(address)
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) if folder.is_dir() else 0


def _search(args: argparse.Namespace) -> int:
    from interloq.data.jsonl import to_json
    from interloq.retrieve.index import open_index
    from interloq.retrieve.retriever import Query

    (hits,) = open_index(args.index).search([Query(args.text, args.response)], args.k)
    if args.json:
        print_json({"hits": [{"score": hit.score, **to_json(hit.pair)} for hit in hits]})
        return 0
    for place, hit in enumerate(hits, start=1):
        utterance, response = (" ".join(text.split()) for text in (hit.pair.utterance, hit.pair.response))
        say(f"{place:>3}. {number(hit.score)}  {utterance}\n     → {response}  [{hit.pair.id}]")
    if not hits:
        say("nothing found: the text shares nothing with the index")
    return 0
