# SPDX-License-Identifier: Apache-2.0
"""The content of `corpus.json`: counts and examples of every filter, replies, threads and parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from interloq.data.corpus import threads
from interloq.data.corpus.clean import REASONS
from interloq.data.corpus.settings import Settings
from interloq.data.corpus.shards import Logs
from interloq.data.jsonl import SCHEMA


def corpus_facts(
    settings: Settings,
    logs: Logs,
    source: str,
    cleaned: Sequence[dict[str, Any]],
    found: dict[str, Any],
    parts: dict[str, Any],
) -> dict[str, Any]:
    """The content of `corpus.json` for a build."""
    read = summed(cleaned, "read")
    return {
        "kind": "corpus",
        "schema": SCHEMA,
        "signature": settings.signature(source),
        "settings": settings.plain(),
        "sources": [
            {"name": name, "posts": read[name], "fingerprint": print_} for name, print_ in logs.fingerprints.items()
        ],
        "passed_over": logs.passed_over,
        "posts": {
            "read": sum(read.values()),
            "bad_lines": sum(count["rejected"] for count in cleaned),
            "dropped": _dropped(cleaned, settings.examples) | _named(found["dropped"]),
            "kept": found["kept"],
            "users": found["users"],
        },
        "bots": found["bots"],
        "replies": {"all": found["replies"], "broken": found["broken"]},
        "unanswered": found["unanswered"],
        "threads": found["threads"],
        "thread_posts": found["thread_posts"],
        "parts": parts,
    }


def _dropped(cleaned: Sequence[dict[str, Any]], examples: int) -> dict[str, Any]:
    """Posts dropped by the filters of single posts; the examples do not depend on how logs were split into shards."""
    total = summed(cleaned, "dropped")
    dropped = {}
    for reason, what in REASONS.items():
        found = [example for count in cleaned for example in count["examples"].get(reason, [])]
        found.sort(key=lambda example: (example["id"], example["user"], example["text"]))
        dropped[reason] = {"count": total[reason], "what": what, "examples": found[:examples]}
    return dropped


def _named(dropped: Mapping[str, Any]) -> dict[str, Any]:
    return {
        reason: {"count": found["count"], "what": threads.DROPPED[reason], "examples": found["examples"]}
        for reason, found in dropped.items()
    }


def summed(cleaned: Sequence[dict[str, Any]], name: str) -> Counter[str]:
    """The counts of one name, summed over all shards."""
    total: Counter[str] = Counter()
    for count in cleaned:
        total.update(count[name])
    return total


def part_facts(total: Counter[str], users: int) -> dict[str, Any]:
    """Counts of a part of the corpus."""
    dialogues, turns = total["dialogues"], total["turns"]
    return {
        **{name: total[name] for name in ("threads", "posts")},
        "users": users,
        **{name: total[name] for name in ("dialogues", "turns", "pairs", "groups", "group_pairs")},
        "turns_per_dialogue": round(turns / dialogues, 3) if dialogues else None,
        "characters_per_turn": round(total["turn_characters"] / turns, 3) if turns else None,
    }
