"""Published dialogue corpora, one loader a file: `dialogues(path)` yields each dialogue with the part it belongs to."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path

from interloq.data.archives import ARCHIVES, read_files
from interloq.data.corpus.dialogues import group_of, pairs_of_dialogue
from interloq.data.sets.registry import VARIABLE
from interloq.errors import InputError, nearest
from interloq.records import Dialogue, Pair
from interloq.signature import fingerprint


@dataclass(frozen=True, slots=True)
class Corpus:
    """A published corpus; its module here is named like it."""

    name: str
    holds: str
    paper: str
    questions: bool = False  # equal utterances are one question with several answers


CORPORA = {
    corpus.name: corpus
    for corpus in (
        Corpus("dailydialog", "13,118 English dialogues, in train, dev and test", "Li et al., 2017"),
        Corpus(
            "real_persona_chat",
            "13,583 Japanese dialogues with both partners' ratings; 150 with systems",
            "Yamashita et al., 2023",
        ),
        Corpus("japanese_daily_dialogue", "5,256 Japanese dialogues on five topics", "Akama et al., 2023"),
        Corpus(
            "kdconv", "Chinese dialogues about films, music and travel, in train, dev and test", "Zhou et al., 2020"
        ),
        Corpus("chatterbot", "questions and answers in some twenty languages", "ChatterBot project", questions=True),
    )
}


def corpus(name: str) -> Corpus:
    found = CORPORA.get(name)
    if found is None:
        raise InputError(f"unknown corpus {name!r}{nearest(name, CORPORA)}")
    return found


def read_corpus(name: str, path: str | Path | None = None) -> Iterator[tuple[str, Dialogue]]:
    """Part and dialogue, one by one, from `path` or from the folder named by INTERLOQ_DATA."""
    module = import_module(f"interloq.data.sets.{corpus(name).name}")
    seen: set[str] = set()
    for part, dialogue in module.dialogues(locate(name) if path is None else Path(path)):
        if dialogue.id in seen:
            raise InputError(
                f"{dialogue.id} is there twice", cure="compare it with the published files", where=str(path)
            )
        seen.add(dialogue.id)
        yield part, dialogue


def pairs(name: str, dialogues: Sequence[Dialogue]) -> tuple[list[Pair], list[Pair]]:
    """The pairs of dialogues, and the groups of several answers to one question where a corpus has such."""
    found = [pair for dialogue in dialogues for pair in pairs_of_dialogue(dialogue)]
    if not corpus(name).questions:
        return found, []
    answers: dict[tuple[str, str], list[Pair]] = {}
    for pair in found:
        language = pair.id.split("/")[1]
        answers.setdefault((language, pair.utterance), []).append(pair)
    asked = [[replace(pair, to=group[0].to) for pair in group] for group in answers.values()]
    return [pair for group in asked for pair in group], [pair for group in asked for pair in group_of(group)]


def locate(name: str) -> Path:
    """Where a corpus lies: in the folder named by INTERLOQ_DATA, or in a package of its own."""
    module = import_module(f"interloq.data.sets.{corpus(name).name}")
    folder = os.environ.get(VARIABLE, "")
    names = [name, *(name + suffix for suffix in ARCHIVES)]
    found = next((Path(folder) / entry for entry in names if folder and (Path(folder) / entry).exists()), None)
    found = found or (module.installed() if hasattr(module, "installed") else None)
    if found is None:
        cure = f"name its folder or archive, or set {VARIABLE} to the folder that holds it"
        raise InputError(f"no path given for {name}" if not folder else f"no {name} in {folder!r}", cure=cure)
    return found


def source_fingerprint(name: str, path: str | Path) -> str:
    """One name for the files that were read, the same for a folder and its archive."""
    files = read_files(path, import_module(f"interloq.data.sets.{corpus(name).name}").FILES)
    return fingerprint(*(part for file in files for part in (file.name, file.data)))
