"""Baseline files."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from interloq import InputError
from interloq.compare.gate.gate_baseline import NAMED, read_baseline, write_baseline
from interloq.compare.version_files import Versions
from interloq.signature import Signature
from tests.made_versions import METRIC, drawn, version

JUDGES = {METRIC: Signature.of(METRIC, {"tokenizer": "x"})}


def test_a_baseline_is_read_as_it_was_written(tmp_path: Path) -> None:
    made = version("june", [*drawn(n=3), math.nan], ratings=[4.0], topics=["food"], dialogue=2)
    path = tmp_path / "baseline.jsonl"
    write_baseline(path, made, Versions({"new": made}, JUDGES, {"partners": "p"}))
    found = read_baseline(path)
    assert repr(found.versions["old"]) == repr(made)
    assert found.judges == JUDGES
    assert found.origin == {"partners": "p"}


FIRST = '{"kind": "baseline", "schema": 1, "name": "x", "unit": "sample"}'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"id": "1"}', "not a baseline file"),
        ('{"kind": "baseline", "schema": 1, "name": "x", "unit": "sample"}\n{"id": "1"}', "'values' is missing"),
        ('{"kind": "baseline", "schema": 1, "name": "x", "unit": "sample"}\n{"id', "cannot be read"),
        ('{"kind": "baseline", "schema": 1, "name": "x", "unit": "sample"}', "no units"),
        ('{"kind": "baseline", "schema": 1}\n', "'name' is missing"),
        (f'{FIRST}\n{{"id": "1", "values": {{}}, "keys": {{}}, "rating": 1e308}}', "rating must be finite"),
        (f'{FIRST}\n{{"id": "1", "values": {{"m": "nan"}}, "keys": {{}}}}', "value must be a number"),
    ],
)
def test_damaged_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "baseline.jsonl").write_text(text)
    with pytest.raises(InputError, match=message):
        read_baseline(tmp_path / "baseline.jsonl")


def test_a_version_without_units_is_no_baseline(tmp_path: Path) -> None:
    made = replace(version("june", [1.0]), units=())
    write_baseline(tmp_path / "b.jsonl", made, Versions({"new": made}, JUDGES, {}))
    with pytest.raises(InputError, match="no units"):
        read_baseline(tmp_path / "b.jsonl")


def test_dialogues_of_earlier_baselines_were_read_from_ids_and_are_not_used(tmp_path: Path) -> None:
    made, path = version("june", [1.0, 2.0], dialogue=2), tmp_path / "b.jsonl"
    write_baseline(path, made, Versions({"new": made}, JUDGES, {}))
    assert {unit.dialogue for unit in read_baseline(path).versions["old"].units} == {"d0"}
    path.write_text(path.read_text().replace(f',"{NAMED}":true', ""))
    assert {unit.dialogue for unit in read_baseline(path).versions["old"].units} == {""}
