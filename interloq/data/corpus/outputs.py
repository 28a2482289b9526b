# SPDX-License-Identifier: Apache-2.0
"""What a build writes: dialogues, pairs and groups of ranges of threads, and the counts in `corpus.json`.

The ranges are written as compressed pieces, which are concatenated without decompression.
"""

from __future__ import annotations

import gzip
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import orjson

from interloq.data.corpus import threads
from interloq.data.corpus.clean import NO_TIME, REASONS
from interloq.data.corpus.dialogues import DialogueShape, Thread, ThreadPost, dialogues_of, group_of, pairs_of
from interloq.data.corpus.settings import CorpusSettings
from interloq.data.corpus.shards import Logs
from interloq.data.files.durable import atomic_file, write_atomically
from interloq.data.records.jsonl import SCHEMA
from interloq.records import Pair

SUFFIXES = {"zst": ".jsonl.zst", "gz": ".jsonl.gz", "none": ".jsonl"}
KINDS = ("dialogues", "pairs", "groups")
COUNTED = ("threads", "posts", "dialogues", "turns", "turn_characters", "pairs", "groups", "group_pairs")


def pack(data: bytes, compression: str) -> bytes:
    """Return one compressed piece; several concatenated pieces are a valid compressed file."""
    if compression == "zst":
        import zstandard

        return zstandard.ZstdCompressor(level=3).compress(data)
    if compression == "gz":
        return gzip.compress(data, mtime=0)
    return data


def assemble(path: Path, first: bytes, pieces: Sequence[Path]) -> None:
    """Write a file atomically from its first bytes and the content of other files."""
    with atomic_file(path) as file:
        file.write(first)
        for piece in pieces:
            with piece.open("rb") as source:
                shutil.copyfileobj(source, file, 2**20)


@dataclass(frozen=True, slots=True)
class ThreadRange:
    """Complete threads of one part: lines of the ordered table from `first` up to `end`."""

    number: int
    part: int
    first: int
    end: int

    def path(self, folder: Path, kind: str) -> Path:
        """Return the file for its records of one kind."""
        return folder / f"{self.part}-{self.number:06}.{kind}"


def write_range(chunk: ThreadRange, ordered: Path, folder: Path, shape: DialogueShape, compression: str) -> int:
    """Write the records of a range, then the counts, and return the number of posts."""
    lines: dict[str, list[bytes]] = {kind: [] for kind in KINDS}
    counts: Counter[str] = Counter(dict.fromkeys(COUNTED, 0))
    rows = threads.read_lines(ordered, chunk.first, chunk.end)
    for _, rows_of_thread in groupby(rows, key=itemgetter(0)):
        posts = []
        for _, place, parent, id, user, text, time in rows_of_thread:
            posts.append(ThreadPost(place, parent, id, user, text, NO_TIME if time is None else time))
        _walk(Thread(posts), shape, lines, counts)
    for kind in KINDS:
        write_atomically(chunk.path(folder, kind), pack(b"".join(lines[kind]), compression))
    write_atomically(chunk.path(folder, "json"), orjson.dumps(counts))
    return chunk.end - chunk.first


def _walk(thread: Thread, shape: DialogueShape, lines: dict[str, list[bytes]], counts: Counter[str]) -> None:
    counts["threads"] += 1
    counts["posts"] += len(thread.posts)
    for dialogue in dialogues_of(thread, shape):
        # in the format of `jsonl.write`, several times faster
        turns = [_compact({"text": turn.text, "speaker": turn.speaker, "time": turn.time}) for turn in dialogue.turns]
        lines["dialogues"].append(orjson.dumps({"id": dialogue.id, "turns": turns}) + b"\n")
        counts["dialogues"] += 1
        counts["turns"] += len(dialogue.turns)
        counts["turn_characters"] += sum(len(turn.text) for turn in dialogue.turns)
    for pairs in pairs_of(thread, shape):
        group = group_of(pairs)
        lines["pairs"] += map(_pair_line, pairs)
        lines["groups"] += map(_pair_line, group)
        counts["pairs"] += len(pairs)
        counts["groups"] += bool(group)
        counts["group_pairs"] += len(group)


def _pair_line(pair: Pair) -> bytes:
    fields = {"id": pair.id, "utterance": pair.utterance, "response": pair.response}
    fields |= {"to": pair.to, "thread": pair.thread, "time": pair.time}
    return orjson.dumps(_compact(fields)) + b"\n"


def _compact(fields: dict[str, str]) -> dict[str, str]:
    """Remove an empty time."""
    if not fields["time"]:
        del fields["time"]
    return fields


def corpus_facts(
    settings: CorpusSettings,
    logs: Logs,
    source: str,
    cleaned: Sequence[dict[str, Any]],
    joined: dict[str, Any],
    parts: dict[str, Any],
) -> dict[str, Any]:
    """Return the content of `corpus.json` for a build; `joined` are the counts of the joins."""
    read = sum_counts(cleaned, "read")
    sources = []
    for name, fingerprint in logs.fingerprints.items():
        sources.append({"name": name, "posts": read[name], "fingerprint": fingerprint})
    return {
        "kind": "corpus",
        "schema": SCHEMA,
        "signature": settings.signature(source),
        "settings": settings.plain(),
        "sources": sources,
        "passed_over": logs.passed_over,
        "posts": {
            "read": sum(read.values()),
            "bad_lines": sum(count["rejected"] for count in cleaned),
            "dropped": _summarise_dropped_posts(cleaned, joined["dropped"], settings.examples),
            "kept": joined["kept"],
            "users": joined["users"],
        },
        "bots": joined["bots"],
        "replies": {"all": joined["replies"], "broken": joined["broken"]},
        "unanswered": joined["unanswered"],
        "threads": joined["threads"],
        "thread_posts": joined["thread_posts"],
        "parts": parts,
    }


def _summarise_dropped_posts(
    cleaned: Sequence[dict[str, Any]], dropped_by_joins: Mapping[str, Any], most_examples: int
) -> dict[str, Any]:
    """Return the posts dropped by each filter; the examples do not depend on how logs were split into shards."""
    total = sum_counts(cleaned, "dropped")
    dropped = {}
    for reason, what in REASONS.items():
        examples: list[dict[str, str]] = []
        for counts in cleaned:
            examples += counts["examples"].get(reason, [])
        examples.sort(key=lambda example: (example["id"], example["user"], example["text"]))
        dropped[reason] = {"count": total[reason], "what": what, "examples": examples[:most_examples]}
    for reason, by_join in dropped_by_joins.items():
        what = threads.DROPPED[reason]
        dropped[reason] = {"count": by_join["count"], "what": what, "examples": by_join["examples"]}
    return dropped


def sum_counts(cleaned: Sequence[dict[str, Any]], name: str) -> Counter[str]:
    """Return the counts of one name, summed over all shards."""
    total: Counter[str] = Counter()
    for count in cleaned:
        total.update(count[name])
    return total


def part_facts(total: Counter[str], users: int) -> dict[str, Any]:
    """Return the counts of a part of the corpus."""
    facts: dict[str, Any] = {"threads": total["threads"], "posts": total["posts"], "users": users}
    for name in ("dialogues", "turns", "pairs", "groups", "group_pairs"):
        facts[name] = total[name]
    facts["turns_per_dialogue"] = _mean(total["turns"], total["dialogues"])
    facts["characters_per_turn"] = _mean(total["turn_characters"], total["turns"])
    return facts


def _mean(total: int, number: int) -> float | None:
    if not number:
        return None
    return round(total / number, 3)
