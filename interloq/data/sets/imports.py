# SPDX-License-Identifier: Apache-2.0
"""Public data sets written as files of records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from interloq.data.corpus.dialogues import group_of, pairs_of_dialogue
from interloq.data.corpus.outputs import SUFFIXES
from interloq.data.pseudonyms import HASHED, KEPT, Pseudonyms, UserIdOptions
from interloq.data.records.convert_file import RecordSummary
from interloq.data.records.jsonl import write
from interloq.data.records.profiles import NAME, write_profiles
from interloq.data.sets import registry
from interloq.records import Dialogue, Pair, Sample


def import_dataset(
    name: str, output: str | Path, *, path: str | Path | None = None, subset: str = "", names: Pseudonyms | None = None
) -> dict[str, Any]:
    """Write a rated data set, or one `subset` of it, as records, and return the counts.

    `path` is its folder, archive or file; the default is to look in $INTERLOQ_DATA. `names` replaces ids of people, if
    the data set has any.
    """
    chosen = registry.dataset(name)
    kind = chosen.kind(subset)
    path = path or registry.locate(name)
    if not chosen.people:
        names = None
    summary = RecordSummary()
    records = summary.watch(_with_pseudonyms(registry.read_dataset(chosen.name, path, subset=subset), names))
    source = registry.source_fingerprint(chosen.name, path)
    write(output, records, kind=kind, dataset=chosen.name, subset=subset, source=source, **_users(chosen, names))
    counts = {"dataset": chosen.name, "subset": subset, "kind": kind, **summary.facts(), "source": source}
    return counts | _users(chosen, names)


def import_names(name: str, options: UserIdOptions) -> Pseudonyms | None:
    """Return pseudonyms for an import; None, and no key is made, if ids are kept or there are none."""
    if not registry.dataset(name).people:
        return None
    return options.pseudonyms()


def _with_pseudonyms(records: Iterable[Any], names: Pseudonyms | None) -> Iterator[Any]:
    if names is None:
        yield from records
        return
    for record in records:
        if isinstance(record, Sample):
            yield names.sample(record)
        else:
            yield names.dialogue(record)


def _users(chosen: registry.Dataset, names: Pseudonyms | None) -> dict[str, str]:
    """Return the header's fact on whether ids of people were replaced."""
    if not chosen.people:
        return {}
    return {"users": KEPT if names is None else HASHED}


def import_corpus(
    name: str,
    output: str | Path,
    *,
    path: str | Path | None = None,
    compress: str = "zst",
    names: Pseudonyms | None = None,
) -> dict[str, Any]:
    """Write a dialogue corpus as dialogues and pairs, one folder per part below `output`, and return the counts.

    `path` is its folder or archive; the default is to look in $INTERLOQ_DATA. `compress` is zst, gz or none. `names`
    replaces ids of people, if the corpus has any. Profiles of people go to `profiles.json`.
    """
    chosen = registry.corpus(name)
    name = chosen.name
    if not chosen.people:
        names = None
    path = Path(path) if path else registry.locate(name)
    by_part: dict[str, list[Dialogue]] = {}
    for part, dialogue in registry.read_parts(name, path):
        by_part.setdefault(part, []).append(names.dialogue(dialogue) if names else dialogue)
    source, users = registry.source_fingerprint(name, path), _users(chosen, names)
    parts = {}
    for part, dialogues in by_part.items():
        folder = Path(output)
        if part != "all":
            folder /= part
        pairs_of_part, groups = pairs(name, dialogues)
        kinds: dict[str, Sequence[Any]] = {"dialogues": dialogues, "pairs": pairs_of_part}
        if groups:
            kinds["groups"] = groups
        for holds, records in kinds.items():
            kind = "pairs" if holds == "groups" else holds
            file = folder / f"{holds}{SUFFIXES[compress]}"
            write(file, records, kind=kind, holds=holds, corpus=name, part=part, source=source, **users)
        turns = sum(len(dialogue.turns) for dialogue in dialogues)
        counts = {"pairs": len(pairs_of_part), "group_pairs": len(groups)}
        parts[part] = {"dialogues": len(dialogues), "turns": turns, **counts}
    people = _write_profiles(chosen, path, Path(output), names)
    return {"corpus": name, "source": source, "parts": parts, **users, **people}


def _write_profiles(chosen: registry.Dataset, path: Path, output: Path, names: Pseudonyms | None) -> dict[str, int]:
    """Write the profiles of the people in a corpus, if it has any, and return their number."""
    module = chosen.module()
    if not hasattr(module, "profiles"):
        return {}
    profiles = {names(user) if names else user: text for user, text in module.profiles(path).items()}
    write_profiles(output / NAME, profiles, users=KEPT if names is None else HASHED)
    return {"profiles": len(profiles)}


def pairs(name: str, dialogues: Sequence[Dialogue]) -> tuple[list[Pair], list[Pair]]:
    """Return the pairs of dialogues, and groups of several answers to one question if the corpus has any."""
    all_pairs = list(chain.from_iterable(map(pairs_of_dialogue, dialogues)))
    if not registry.dataset(name).questions:
        return all_pairs, []
    answers: dict[tuple[str, str], list[Pair]] = {}
    for pair in all_pairs:
        language = pair.id.split("/")[1]
        answers.setdefault((language, pair.utterance), []).append(pair)
    by_question: list[Pair] = []
    groups: list[Pair] = []
    for pairs_of_question in answers.values():
        question = pairs_of_question[0].to
        same_question = [replace(pair, to=question) for pair in pairs_of_question]
        by_question += same_question
        groups += group_of(same_question)
    return by_question, groups
