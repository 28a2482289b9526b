# SPDX-License-Identifier: Apache-2.0
"""The content of `corpus.json`: counts and examples of every filter, replies, threads and parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from interloq.data.corpus import threads
from interloq.data.corpus.clean import REASONS
from interloq.data.corpus.settings import CorpusSettings
from interloq.data.corpus.shards import Logs
from interloq.data.records.jsonl import SCHEMA


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
            "dropped": _dropped(cleaned, joined["dropped"], settings.examples),
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


def _dropped(
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
