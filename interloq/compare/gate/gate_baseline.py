# SPDX-License-Identifier: Apache-2.0
"""Baseline files: a version that was accepted, with all that later versions are compared by.

A header with the signatures of the metrics and the origin of dialogues, then one unit per line. Only `bless_file`
writes one.
"""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import orjson

from interloq.compare.version_files import Versions
from interloq.compare.versions import PAIRINGS, Unit, Version
from interloq.data.files.opening import lines, reading_saved
from interloq.data.records.jsonl import SCHEMA, header, write
from interloq.data.records.parsers import parse_number
from interloq.errors import InputError
from interloq.play.dialogue_origin import origin
from interloq.score.signatures import read_signatures

KIND = "baseline"
NAMED = "dialogues_named"  # in the header; baselines of earlier builds have dialogues that were read from ids
AGAIN = "make it again: interloq gate NEW -m METRIC --bless --baseline FILE"


def write_baseline(path: str | Path, version: Version, found: Versions) -> None:
    """Write a version as the baseline."""
    results = [{"metric": name, "signature": asdict(judge)} for name, judge in found.judges.items()]
    facts: dict[str, Any] = {**found.origin, "name": version.name, "unit": version.unit, "results": results}
    facts[NAMED] = True
    write(path, [replace(unit, turns=()) for unit in version.units], kind=KIND, **facts)


def read_baseline(path: str | Path) -> Versions:
    """The version in a baseline file as `old`, with signatures and origin."""
    facts = header(path)
    if facts.get("kind") != KIND or facts.get("schema") != SCHEMA:
        raise InputError("not a baseline file", hint=AGAIN, where=str(path))
    with reading_saved(path, "the baseline cannot be read", hint=AGAIN):
        units = tuple(_unit(orjson.loads(line), NAMED in facts) for number, line in lines(path) if number > 1)
        version = Version(str(facts["name"]), facts["unit"], units)
    if not units or version.unit not in ("sample", "dialogue"):
        raise InputError("the baseline has no units", hint=AGAIN, where=str(path))
    return Versions({"old": version}, read_signatures(str(path)), origin(facts))


def _unit(value: Any, named: bool) -> Unit:
    dialogue = str(value.get("dialogue", ""))
    return Unit(
        id=str(value["id"]),
        values={str(metric): _number(score, "value") for metric, score in value["values"].items()},
        keys={pairing: str(value["keys"][pairing]) for pairing in PAIRINGS if pairing in value["keys"]},
        dialogue=dialogue if named else "",
        rating=_number(value.get("rating"), "rating"),
        fields={str(name): str(text) for name, text in value.get("fields", {}).items()},
        prompt=str(value.get("prompt", "")),
        text=str(value.get("text", "")),
        ends=tuple(map(str, value.get("ends", ()))),
        sample=str(value.get("sample", "")),
    )


def _number(value: Any, name: str) -> float:
    number = parse_number(value, name)
    return math.nan if number is None else number
