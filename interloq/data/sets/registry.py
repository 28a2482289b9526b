# SPDX-License-Identifier: Apache-2.0
"""Published datasets by name: a description, file names, and their records.

Some have rated replies; others are corpora of dialogues, most of them unrated.

`INTERLOQ_DATA` names the folder with the datasets: `usr/`, `usr.tar.gz`, `predictive_engagement.csv` and so on.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from interloq.data.files.archives import ARCHIVES, read_files
from interloq.data.files.compression import COMPRESSED
from interloq.errors import InputError, nearest
from interloq.signature import fingerprint

VARIABLE = "INTERLOQ_DATA"


@dataclass(frozen=True, slots=True)
class Dataset:
    """A dataset. The module of the same name has its file names (FILES) and a function for each kind of record.

    `subsets` maps a subset to its kind of record. Subsets are parts of the records, or the kinds themselves.
    """

    name: str
    holds: str
    paper: str
    subsets: Mapping[str, str] = field(default_factory=dict)
    aliases: tuple[str, ...] = ()
    alone: str = ""  # the file name if the dataset is a single file
    corpus: bool = False  # a dialogue corpus: `dialogues` yields each dialogue with the subset it belongs to
    questions: bool = False  # equal utterances of a corpus are one question with several answers
    people: bool = False  # speakers and raters are ids of people, which imports replace by pseudonyms

    def kind(self, subset: str = "") -> str:
        """Return the kind of record in a subset; by default, in the first."""
        if subset and subset not in self.subsets:
            raise InputError(f"{self.name} has no subset {subset!r}{nearest(subset, self.subsets)}")
        if subset:
            return self.subsets[subset]
        default = "dialogues" if self.corpus else "samples"
        return next(iter(self.subsets.values()), default)

    def module(self) -> Any:
        """Return the module that reads the dataset."""
        return import_module(f"interloq.data.sets.{self.name}")

    def records(self, path: Path, subset: str) -> Iterator[tuple[str, Any]]:
        """Yield each record with its part, as the module reads it."""
        read = getattr(self.module(), self.kind(subset))
        if self.corpus:
            for part, record in read(path):
                if subset in ("", part):
                    yield part, record
            return
        options = {}
        if len(self.subsets) > len(set(self.subsets.values())):  # several subsets of the same kind
            options["subset"] = subset
        for record in read(path, **options):
            yield subset, record


RATED = (
    Dataset(
        "grade",
        "1,200 replies (4 systems on ConvAI2, 2 on each of the others), 8-11 scores each, 1 reference",
        "Huang et al., 2020",
        dict.fromkeys(("convai2", "dailydialog", "empatheticdialogues"), "samples"),
    ),
    Dataset(
        "usr",
        "660 replies, 6 qualities, 3 named annotators each, 1 reference",
        "Mehri and Eskenazi, 2020 (USR)",
        dict.fromkeys(("topical", "persona"), "samples"),
    ),
    Dataset(
        "fed",
        "375 replies with 9 qualities and 125 dialogues with 11, 5 judgments each, no references",
        "Mehri and Eskenazi, 2020 (FED)",
        {"turn": "samples", "dialogue": "dialogues"},
    ),
    Dataset(
        "multiref_dailydialog",
        "500 replies of 4 systems and people, mean scores only, 4 references",
        "Gupta et al., 2019",
        aliases=("gupta",),
    ),
    Dataset(
        "predictive_engagement",
        "600 query and reply pairs, 3 scores each, no references; with automatic scores",
        "Ghazarian et al., 2020",
        {"pairs": "samples", "scores": "scores"},
        alone="predictive_engagement.csv",
    ),
    Dataset(
        "hazumi",
        "30 Japanese dialogues with a Wizard of Oz, each exchange rated by the interlocutor and 5 outsiders",
        "Komatani and Okada, 2021",
        aliases=("hazumi1902", "hazumi1911"),
        people=True,
    ),
)
CORPORA = (
    Dataset(
        "dailydialog",
        "13,118 English dialogues, in train, dev and test",
        "Li et al., 2017",
        dict.fromkeys(("train", "dev", "test"), "dialogues"),
        corpus=True,
    ),
    Dataset(
        "real_persona_chat",
        "13,583 Japanese dialogues with both partners' ratings; 150 with systems",
        "Yamashita et al., 2023",
        dict.fromkeys(("human", "system"), "dialogues"),
        corpus=True,
        people=True,
    ),
    Dataset(
        "byu_chitchat",
        "7,168 English conversations of 1,315 students, with user ids, times and natural ends",
        "BYU Perception, Control and Cognition Lab, 2018",
        corpus=True,
        people=True,
        alone="logs/byu_chitchat.jsonl",
    ),
    Dataset(
        "kokorochat",
        "6,589 Japanese counselling sessions, rated by the client: a score from 0 to 100 and 20 items",
        "Qi et al., 2025",
        corpus=True,
        people=True,
        alone="logs/kokorochat_ja.jsonl",
    ),
    Dataset("japanese_daily_dialogue", "5,256 Japanese dialogues on five topics", "Akama et al., 2023", corpus=True),
    Dataset(
        "kdconv",
        "Chinese dialogues about films, music and travel, in train, dev and test",
        "Zhou et al., 2020",
        dict.fromkeys(("train", "dev", "test"), "dialogues"),
        corpus=True,
    ),
    Dataset(
        "chatterbot",
        "questions and answers in some twenty languages",
        "ChatterBot project",
        corpus=True,
        questions=True,
    ),
)
DATASETS = {known.name: known for known in (*RATED, *CORPORA)}
NAMES = {name: known for known in DATASETS.values() for name in (known.name, *known.aliases)}


def dataset(name: str) -> Dataset:
    """Return a dataset by its name or alias."""
    if name not in NAMES:
        raise InputError(f"unknown dataset {name!r}{nearest(name, NAMES)}")
    return NAMES[name]


def corpus(name: str) -> Dataset:
    """Return a corpus of dialogues by its name."""
    chosen = dataset(name)
    if not chosen.corpus:
        hint = f"import its replies with: interloq data import {name}"
        raise InputError(f"{name} is not a corpus of dialogues", hint=hint)
    return chosen


def read_dataset(name: str, path: str | Path | None = None, *, subset: str = "") -> Iterator[Any]:
    """Return the records of a dataset, from `path` or from the folder named by INTERLOQ_DATA."""
    return (record for _, record in read_parts(name, path, subset=subset))


def read_parts(name: str, path: str | Path | None = None, *, subset: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each record with the part of the dataset that it belongs to."""
    chosen = dataset(name)
    unique = chosen.kind(subset) != "scores"
    path = locate(name) if path is None else Path(path)
    seen: set[object] = set()
    for part, record in chosen.records(path, subset):
        key = getattr(record, "key", record.id)
        if unique and key in seen:
            hint = "compare it with the published files"
            raise InputError(f"{record.id} was found twice", hint=hint, where=str(path))
        seen.add(key)
        yield part, record


def locate(name: str, folder: str | Path | None = None) -> Path:
    """Return the path of a dataset in `folder` (default: the one named by INTERLOQ_DATA) or an installed package."""
    chosen = dataset(name)
    folder = os.environ.get(VARIABLE, "") if folder is None else folder
    called = dict.fromkeys((name, chosen.name, *chosen.aliases))
    names = [known + suffix for known in called for suffix in ("", *ARCHIVES)]
    if chosen.alone:
        names = [*(chosen.alone + suffix for suffix in ("", *COMPRESSED)), *names]
    for candidate in names:
        if str(folder) and (Path(folder) / candidate).exists():
            return Path(folder) / candidate
    module = chosen.module()
    if hasattr(module, "find_installed") and (installed := module.find_installed()):
        return Path(installed)
    if str(folder):
        raise InputError(f"no {chosen.name} in {str(folder)!r}", hint=f"put one of these there: {', '.join(names)}")
    hint = f"name its folder, archive or file, or set {VARIABLE} to the folder that contains it"
    raise InputError(f"no path given for {chosen.name}", hint=hint)


def source_fingerprint(name: str, path: str | Path) -> str:
    """Return the hash of the files that were read, the same for a folder and its archive."""
    parts: list[str | bytes] = []
    for file in read_files(path, dataset(name).module().FILES):
        parts += (file.name, file.data)
    return fingerprint(*parts)
