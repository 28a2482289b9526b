"""Public data sets written as files of records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from interloq.data.corpus.dialogues import group_of, pairs_of_dialogue
from interloq.data.corpus.outputs import SUFFIXES
from interloq.data.jsonl import write
from interloq.data.sets import registry
from interloq.data.summary import Summary
from interloq.records import Dialogue, Pair


def import_dataset(
    name: str, output: str | Path, *, path: str | Path | None = None, subset: str = ""
) -> dict[str, Any]:
    """Write a rated data set, or one `subset` of it, as records; returns the counts.

    `path` is its folder, archive or file; the default is to look in $INTERLOQ_DATA.
    """
    chosen = registry.dataset(name)
    kind = chosen.kind(subset)
    path = path or registry.locate(chosen.name)
    summary = Summary()
    records = summary.watch(registry.read_dataset(chosen.name, path, subset=subset))
    source = registry.source_fingerprint(chosen.name, path)
    write(output, records, kind=kind, dataset=chosen.name, subset=subset, source=source)
    return {"dataset": chosen.name, "subset": subset, "kind": kind, **summary.facts(), "source": source}


def import_corpus(
    name: str, output: str | Path, *, path: str | Path | None = None, compress: str = "zst"
) -> dict[str, Any]:
    """Write a dialogue corpus as dialogues and pairs, one folder per part below `output`; returns the counts.

    `path` is its folder or archive; the default is to look in $INTERLOQ_DATA. `compress` is zst, gz or none.
    """
    name = registry.corpus(name).name
    path = Path(path) if path else registry.locate(name)
    by_part: dict[str, list[Dialogue]] = {}
    for part, dialogue in registry.read_parts(name, path):
        by_part.setdefault(part, []).append(dialogue)
    source = registry.source_fingerprint(name, path)
    parts = {}
    for part, dialogues in by_part.items():
        folder = Path(output) / ("" if part == "all" else part)
        found, groups = pairs(name, dialogues)
        kinds: dict[str, Sequence[Any]] = {"dialogues": dialogues, "pairs": found}
        kinds |= {"groups": groups} if groups else {}
        for holds, records in kinds.items():
            kind = "pairs" if holds == "groups" else holds
            file = folder / f"{holds}{SUFFIXES[compress]}"
            write(file, records, kind=kind, holds=holds, corpus=name, part=part, source=source)
        turns = sum(len(dialogue.turns) for dialogue in dialogues)
        parts[part] = {"dialogues": len(dialogues), "turns": turns, "pairs": len(found), "group_pairs": len(groups)}
    return {"corpus": name, "source": source, "parts": parts}


def pairs(name: str, dialogues: Sequence[Dialogue]) -> tuple[list[Pair], list[Pair]]:
    """The pairs of dialogues, and groups of several answers to one question if the corpus has such."""
    found = [pair for dialogue in dialogues for pair in pairs_of_dialogue(dialogue)]
    if not registry.dataset(name).questions:
        return found, []
    answers: dict[tuple[str, str], list[Pair]] = {}
    for pair in found:
        language = pair.id.split("/")[1]
        answers.setdefault((language, pair.utterance), []).append(pair)
    asked = [[replace(pair, to=group[0].to) for pair in group] for group in answers.values()]
    return [pair for group in asked for pair in group], [pair for group in asked for pair in group_of(group)]
