"""Build corpora from two public logs: posts dropped by each filter, and the resulting threads, dialogues and pairs.

`reddit_posts` is 9,037 posts of Change My View in Interloq's own format. Texts are Markdown, and many first posts are
missing from the sample, so a reply to a missing post may start a thread. `ubuntu_irc` is 173 logs of #ubuntu with reply
links (Kummerfeld et al., 2019). All other settings are the defaults of `interloq corpus build`.

    python recipes/corpus_statistics.py --data FOLDER      # or INTERLOQ_DATA=FOLDER; --json; -o keeps the corpora

`--measured` writes the same statistics beside those of the papers' own logs, which are private (Tsuta et al., 2023,
Table 2; 2020, Table 1).

The exit code is 2 if data are missing.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from results import Cell, PublishedTable, add_measured_option, report_measured

from interloq import InterloqError
from interloq.data.corpus.build import build
from interloq.data.corpus.clean import Cleaning
from interloq.data.corpus.dialogues import DialogueShape
from interloq.data.corpus.settings import CorpusSettings
from interloq.data.corpus.threads import Joining
from interloq.data.files.archives import ARCHIVES
from interloq.errors import InputError

LOGS: Mapping[str, tuple[tuple[str, ...], CorpusSettings]] = {
    "reddit_posts": (
        ("reddit_posts.jsonl.gz", "reddit_posts.jsonl"),
        CorpusSettings(
            Cleaning(lang="en", markdown=True), joining=Joining(orphans=True), shape=DialogueShape(pairs="all")
        ),
    ),
    "ubuntu_irc": (
        ("ubuntu_irc", *(f"ubuntu_irc{suffix}" for suffix in ARCHIVES)),
        CorpusSettings(Cleaning(lang="en"), shape=DialogueShape(pairs="all")),
    ),
}


def find(folder: str | None, names: Sequence[str]) -> Path:
    """Path of the first of these names that exists in the data folder."""
    folder = folder or os.environ.get("INTERLOQ_DATA", "")
    if not folder:
        raise InputError("no data folder given", hint="add --data FOLDER, or set INTERLOQ_DATA")
    found = next((Path(folder) / name for name in names if (Path(folder) / name).exists()), None)
    if found is None:
        raise InputError(f"none of {', '.join(names)} in {folder!r}", hint="put one of them there")
    return found


def statistics(facts: Mapping[str, Any]) -> dict[str, float | None]:
    """The rows of the table."""
    posts, parts = facts["posts"], facts["parts"]
    turns = sum(part["turns"] for part in parts.values())
    dialogues = sum(part["dialogues"] for part in parts.values())
    characters = sum((part["characters_per_turn"] or 0) * part["turns"] for part in parts.values())
    return {
        "posts read": posts["read"],
        "bad lines": posts["bad_lines"],
        **{f"dropped: {reason}": found["count"] for reason, found in posts["dropped"].items()},
        "posts kept": posts["kept"],
        "users": posts["users"],
        "replies": facts["replies"]["all"],
        **{f"broken link: {reason}": count for reason, count in facts["replies"]["broken"].items()},
        "threads dropped: start with a reply": facts["threads"]["orphan"],
        "threads dropped: cross a border": facts["threads"]["crosses"],
        "threads kept": facts["threads"]["kept"],
        **{f"{kind} ({name})": part[kind] for kind in ("dialogues", "pairs", "groups") for name, part in parts.items()},
        "mean turns per dialogue": round(turns / dialogues, 2) if dialogues else None,
        "mean characters per turn": round(characters / turns, 1) if turns else None,
    }


Facts = Mapping[str, Mapping[str, Any]]  # log → what `build` found
PARTS = ("train", "dev", "test")
PAIRS: Mapping[str, tuple[float | None, ...]] = {
    "pairs, for systems": (2_400_000, 10_000, 100),
    "pairs, for the rater": (5_600_000, 10_000, None),
    "pairs, to retrieve from": (16_000_000, None, None),
}
NOTE = "One corpus serves all uses here. Larger pools, without posts and their links, are on the pages of measurements."


def published_tables(facts: Facts) -> list[PublishedTable]:
    """Return the papers' statistics of their data with those of our logs."""
    title, logs, rows = "Pairs by use", " and ".join(facts), _pairs(facts)
    return [
        PublishedTable(item=item, title=title, data=logs, columns=PARTS, rows=rows, note=NOTE)
        for item in ("000/65", "001/27")
    ]


def _pairs(facts: Facts) -> dict[str, Sequence[Cell]]:
    ours = [sum(found["parts"][part]["pairs"] for found in facts.values()) for part in PARTS]
    rows: dict[str, Sequence[Cell]] = {}
    for row, published in PAIRS.items():
        rows[row] = [
            Cell(published=one, ours=None if one is None else count) for one, count in zip(published, ours, strict=True)
        ]
    return rows


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Statistics of two public logs as corpora.")
    parser.add_argument("--data", metavar="FOLDER", help="with reddit_posts and ubuntu_irc (default: $INTERLOQ_DATA)")
    parser.add_argument("-o", "--output", metavar="FOLDER", help="keep the corpora here")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    add_measured_option(parser)
    args = parser.parse_args(argv)
    started = time.monotonic()
    try:
        paths = {name: find(args.data, names) for name, (names, _) in LOGS.items()}
        with tempfile.TemporaryDirectory() as place:
            folder = Path(args.output or place)
            facts = {name: build([path], folder / name, LOGS[name][1]) for name, path in paths.items()}
        if args.measured:
            report_measured(args.measured, [], published_tables(facts), started)
    except InterloqError as error:
        print(f"corpus_statistics: {error}", file=sys.stderr)
        return 2
    tables = {name: statistics(found) for name, found in facts.items()}
    if args.json:
        print(json.dumps({name: tables[name] | {"signature": facts[name]["signature"]} for name in tables}, indent=2))
        return 0
    print(f"{'':<40}" + "".join(f"{name:>16}" for name in tables))
    for row in next(iter(tables.values())):
        print(f"{row:<40}" + "".join(f"{_shown(table[row]):>16}" for table in tables.values()))
    for name, found in facts.items():
        print(f"{name}: {found['signature']}")
    return 0


def _shown(value: float | None) -> str:
    return "n/a" if value is None else f"{value:,}"


if __name__ == "__main__":
    sys.exit(main())
