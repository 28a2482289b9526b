# SPDX-License-Identifier: Apache-2.0
"""Samples and dialogues as tasks of Label Studio, with a labeling configuration.

Annotators can open all data of a task, so it has a random key instead of its id and system. A key file maps it back.
Keys, order and sides depend on a seed and all records, including ids and systems: the same file gives the same tasks
again, but without that file, nobody can tell where a task comes from.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

from interloq.data.files.opening import write_json, write_text
from interloq.data.files.overwriting import refuse_overwriting
from interloq.data.records.convert_file import detect_kind
from interloq.data.records.jsonl import read
from interloq.errors import InputError
from interloq.options import option
from interloq.signature import fingerprint
from interloq.web.studies.items import StudyItem, compare_items, rate_items

KEY = "interloq_key"  # field of a task's data
SIDES = ("left", "right")
TIE = "tie"


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelStudioOptions:
    """What annotators are asked; the keys, order and sides of the tasks depend on `seed`."""

    compare: bool = option(False, "compare two systems per task instead of rating one reply")
    aspects: Sequence[str] = option((), "what is rated or compared (default overall)", flag="--aspect", metavar="NAME")
    max_rating: int = option(5, "highest rating")
    seed: int = option(0, "seed of keys, order and sides")


RATE_OVERALL = LabelStudioOptions()


def label_studio_file(
    path: str | Path, output: str | Path, options: LabelStudioOptions = RATE_OVERALL
) -> dict[str, Any]:
    """Write the tasks to `output` (.json), with a configuration (.xml) and a key file (.key.json) next to it."""
    target = Path(output)
    if target.suffix != ".json":
        raise InputError(
            f"cannot write tasks to {str(output)!r}", hint="name a .json file; two more are written next to it"
        )
    config, key = target.with_suffix(".xml"), target.with_suffix(".key.json")
    refuse_overwriting([target, config, key], [path])
    kind = detect_kind(path)
    if kind not in ("samples", "dialogues"):
        raise InputError(f"{path} contains {kind}", hint="give samples or dialogues")
    records = read(path, kind=kind, strict=True)
    items = compare_items(records) if options.compare else rate_items(records, together=False)
    tasks, hidden = _tasks(items, secret=fingerprint(str(options.seed), *map(repr, items)))
    # first, because tasks without it cannot be read back
    write_json(key, {"kind": "preferences" if options.compare else kind, "tasks": hidden})
    write_text(config, labeling_config(kind, options))
    write_json(target, [{"data": data} for data in tasks])
    return {"tasks": len(tasks), "output": str(target), "config": str(config), "key": str(key)}


def _tasks(items: list[StudyItem], *, secret: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the data of each task, and what is hidden by key; order and sides are random."""
    tasks, hidden = [], {}
    drawn = random.Random(secret)  # noqa: S311
    drawn.shuffle(items)
    for number, item in enumerate(items):
        order = list(range(len(item.shown["units"])))
        drawn.shuffle(order)
        key = fingerprint(secret, str(number))  # not drawn: many draws together would tell all others
        hidden[key] = {**item.hidden, "units": [item.hidden["units"][i] for i in order]}
        units = [item.shown["units"][i] for i in order]
        names = SIDES if len(units) == len(SIDES) else ("reply",)
        data: dict[str, Any] = {KEY: key}
        if item.hidden["kind"] == "samples":
            data["context"] = _turns(item.shown["context"])
        for name, unit in zip(names, units, strict=True):
            data[name] = unit["text"] if "text" in unit else _turns(unit["turns"])
        tasks.append(data)
    return tasks, hidden


def _turns(turns: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Return turns as the tag Paragraphs reads them."""
    return [{"author": turn["speaker"], "text": turn["text"]} for turn in turns]


def labeling_config(kind: str, options: LabelStudioOptions) -> str:
    """Return the labeling configuration: one rating per aspect, or one choice per aspect and a reason."""
    compare = options.compare
    names = SIDES if compare else ("reply",)
    aspects = options.aspects or ("overall",)
    _check(aspects, options.max_rating)
    is_samples = kind == "samples"
    tags = []
    if is_samples:
        tags.append(_paragraphs("context"))
    for name in names:
        if compare or is_samples:
            tags.append(f"<Header value={quoteattr(name)}/>")
        if is_samples:
            tags.append(f'<Text name="shown_{name}" value="${name}"/>')
        else:
            tags.append(_paragraphs(name))
    for aspect in aspects:
        tags += _question(aspect, names[0], compare=compare, max_rating=options.max_rating)
    if compare:
        tags += ['<Header value="reason"/>', f'<TextArea name="reason" toName="shown_{names[0]}"/>']
    return "\n".join(["<View>", *(f"  {tag}" for tag in tags), "</View>", ""])


def _check(aspects: Sequence[str], max_rating: int) -> None:
    taken = ["reason", *(f"shown_{name}" for name in ("context", "reply", *SIDES))]
    for aspect in aspects:
        if not aspect or aspect in taken:
            raise InputError(f"an aspect cannot be named {aspect!r}", hint="choose another name")
        taken.append(aspect)
    if max_rating < 2:
        raise InputError(f"the highest rating must be at least 2, got {max_rating}")


def _question(aspect: str, name: str, *, compare: bool, max_rating: int) -> list[str]:
    header, named = f"<Header value={quoteattr(aspect)}/>", f'name={quoteattr(aspect)} toName="shown_{name}"'
    if not compare:
        return [header, f'<Rating {named} maxRating="{max_rating}" required="true"/>']
    choices = "".join(f'<Choice value="{value}"/>' for value in (*SIDES, TIE))
    return [header, f'<Choices {named} choice="single" required="true">{choices}</Choices>']


def _paragraphs(name: str) -> str:
    return f'<Paragraphs name="shown_{name}" value="${name}" layout="dialogue"/>'
