"""The eight public sets of rated replies and dialogues that the recipes judge scorers by.

GRADE (ConvAI2, DailyDialog, EmpatheticDialogues), USR (PersonaChat, Topical-Chat; aspect Overall, without the original
replies, as in the published figures), Gupta et al.'s 500 replies to DailyDialog, and FED's replies and dialogues. A
dialogue is judged through the system's turns in it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from interloq import InputError, Sample
from interloq.data.files.archives import DataFile, read_files
from interloq.data.sets.registry import VARIABLE, locate, read_dataset
from interloq.data.sets.usr import GROUND_TRUTH
from interloq.records import Dialogue

Floats = NDArray[np.float64]
PLUSPLUS = "dailydialog_plusplus"
SYSTEM = "System"  # FED's name of the judged speaker


@dataclass(frozen=True, slots=True)
class Known:
    """What is published about a set."""

    dataset: str
    part: str
    best: tuple[str, float]  # highest published Spearman of a metric with at most about a billion weights
    ceiling: float | None  # Spearman that a perfect metric could reach, from split halves of the annotators
    kin: tuple[str, ...] = ()  # sets with ratings of the same dialogues: never learned from when this one is tested


KNOWN: Mapping[str, Known] = {
    "GRADE ConvAI2": Known("grade", "convai2", ("DSTC10 team 8", 0.604), 0.79),
    "GRADE DailyDialog": Known("grade", "dailydialog", ("DSTC10 team 9", 0.419), 0.73),
    "GRADE EmpatheticDialogues": Known("grade", "empatheticdialogues", ("DEB", 0.395), 0.51),
    "USR PersonaChat": Known("usr", "persona", ("USL-H", 0.523), 0.92),
    "USR Topical-Chat": Known("usr", "topical", ("UniEval", 0.605), 0.93),
    "multi-reference DailyDialog": Known("multiref_dailydialog", "", ("DSTC10 team 5", 0.633), None),
    "FED turn": Known("fed", "turn", ("FULL", 0.506), 0.80, ("FED dialogue",)),
    "FED dialogue": Known("fed", "dialogue", ("FULL", 0.695), 0.84, ("FED turn",)),
}


@dataclass(frozen=True, slots=True)
class RatedSet:
    """Samples to score, the item that each belongs to, and the mean rating of each item."""

    samples: Sequence[Sample]
    items: NDArray[np.int64]
    human: Floats

    def by_item(self, values: Floats) -> Floats:
        """Mean score of the samples of each item; NaN if none was scored."""
        scored = np.isfinite(values)
        count = np.bincount(self.items[scored], minlength=len(self.human))
        total = np.bincount(self.items[scored], values[scored], minlength=len(self.human))
        mean: Floats = np.divide(total, count, out=np.full(len(self.human), np.nan), where=count > 0)
        return mean

    def contexts(self) -> list[str]:
        """The context of each item, or the whole dialogue: replies to one context are not independent."""
        texts = [""] * len(self.human)
        for item, sample in zip(self.items.tolist(), self.samples, strict=True):
            texts[item] = texts[item] or sample.dialogue or "\n".join(turn.text for turn in sample.context)
        return texts


def data_folder(given: str | None) -> Path:
    """The folder of the data sets: as given, or as named by the environment."""
    data = given or os.environ.get(VARIABLE, "")
    if not data:
        raise InputError("no data folder given", hint=f"add --data FOLDER or set {VARIABLE}")
    return Path(data)


def plusplus_files(data: Path, *names: str) -> list[DataFile]:
    """Files of DailyDialog++."""
    path = next((p for p in (data / PLUSPLUS, data / f"{PLUSPLUS}.tar.gz") if p.exists()), None)
    if path is None:
        raise InputError(f"no {PLUSPLUS} in {str(data)!r}", hint=f"put {PLUSPLUS}.tar.gz there")
    return list(read_files(path, names))


def rated_sets(data: Path) -> dict[str, RatedSet]:
    """Every set that the folder has, in the order of KNOWN; a missing data set is an error."""
    found = {name: _read(known, data) for name, known in KNOWN.items()}
    return {name: rated for name, rated in found.items() if len(rated.human)}


def _read(known: Known, data: Path) -> RatedSet:
    options = {"subset": known.part} if known.part else {}
    records = list(read_dataset(known.dataset, locate(known.dataset, data), **options))
    kept = [record for record in records if getattr(record, "system", "") != GROUND_TRUTH and _overall(record)]
    groups = [_turns(r) if isinstance(r, Dialogue) else [_without_blank_turns(r)] for r in kept]
    return RatedSet(
        [sample for group in groups for sample in group],
        np.repeat(np.arange(len(groups)), [len(group) for group in groups]),
        np.array([np.mean(_overall(record)) for record in kept]),
    )


def _overall(record: Sample | Dialogue) -> list[float]:
    return [r.value for r in record.ratings if r.aspect == "overall" and r.value is not None]


def _without_blank_turns(sample: Sample) -> Sample:
    return replace(sample, context=tuple(turn for turn in sample.context if turn.text.strip()))


def _turns(dialogue: Dialogue) -> list[Sample]:
    """One sample for each turn of the system that answers something."""
    turns = [turn for turn in dialogue.turns if turn.text.strip()]
    return [
        Sample(f"{dialogue.id}#{i}", turns[:i], turn.text, dialogue=dialogue.id)
        for i, turn in enumerate(turns)
        if i and turn.speaker == SYSTEM
    ]
