"""Published datasets by name: what each holds, where it is looked for, and its records.

`INTERLOQ_DATA` names the folder that holds them: `usr/`, `usr.tar.gz`, `predictive_engagement.csv` and so on.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from interloq.data.archives import ARCHIVES, read_files
from interloq.errors import InputError, nearest
from interloq.signature import fingerprint

VARIABLE = "INTERLOQ_DATA"


@dataclass(frozen=True, slots=True)
class Dataset:
    """A dataset; its module is named like it, with a function for each kind of record.

    `subsets` maps a subset to its kind of record. Subsets are parts of the samples, or the kinds themselves.
    """

    name: str
    holds: str
    paper: str
    subsets: Mapping[str, str]
    alone: str = ""  # the file's name where the dataset is a single file

    def kind(self, subset: str = "") -> str:
        """The kind of record in a subset; without one, that of the first."""
        if subset and subset not in self.subsets:
            raise InputError(f"{self.name} has no subset {subset!r}{nearest(subset, self.subsets)}")
        return self.subsets[subset] if subset else next(iter(self.subsets.values()), "samples")


DATASETS = {
    dataset.name: dataset
    for dataset in (
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
            {},
        ),
        Dataset(
            "predictive_engagement",
            "600 query and reply pairs, 3 scores each, no references; automatic scores stored beside them",
            "Ghazarian et al., 2020",
            {"pairs": "samples", "scores": "scores"},
            alone="predictive_engagement.csv",
        ),
    )
}
ALIASES = {"gupta": "multiref_dailydialog"}


def dataset(name: str) -> Dataset:
    """A dataset by its name or alias."""
    found = DATASETS.get(ALIASES.get(name, name))
    if found is None:
        raise InputError(f"unknown dataset {name!r}{nearest(name, [*DATASETS, *ALIASES])}")
    return found


def read_dataset(name: str, path: str | Path | None = None, *, subset: str = "") -> Iterator[Any]:
    """The records of a dataset, from `path` or from the folder named by INTERLOQ_DATA."""
    chosen = dataset(name)
    kind = chosen.kind(subset)
    path = locate(name) if path is None else Path(path)
    function = getattr(import_module(f"interloq.data.sets.{chosen.name}"), kind)
    parts = len(chosen.subsets) > len(set(chosen.subsets.values()))
    seen: set[object] = set()
    for record in function(path, subset=subset) if parts else function(path):
        key = getattr(record, "key", record.id)
        if kind != "scores" and key in seen:
            raise InputError(f"{record.id} is there twice", cure="compare it with the published file", where=str(path))
        seen.add(key)
        yield record


def locate(name: str, folder: str | Path | None = None) -> Path:
    """Where a dataset lies in `folder`, or in the folder named by INTERLOQ_DATA."""
    chosen = dataset(name)
    folder = os.environ.get(VARIABLE, "") if folder is None else folder
    if not str(folder):
        cure = f"name its folder, archive or file, or set {VARIABLE} to the folder that holds it"
        raise InputError(f"no path given for {chosen.name}", cure=cure)
    names = [chosen.name, *(chosen.name + suffix for suffix in ARCHIVES)]
    if chosen.alone:
        names = [chosen.alone, f"{chosen.alone}.gz", *names]
    for candidate in names:
        if (Path(folder) / candidate).exists():
            return Path(folder) / candidate
    raise InputError(f"no {chosen.name} in {str(folder)!r}", cure=f"put one of these there: {', '.join(names)}")


def source_fingerprint(name: str, path: str | Path) -> str:
    """One name for the files that were read, the same for a folder and its archive."""
    files = read_files(path, import_module(f"interloq.data.sets.{dataset(name).name}").FILES)
    return fingerprint(*(part for file in files for part in (file.name, file.data)))
