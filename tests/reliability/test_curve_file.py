from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from interloq import InputError, Rating, write
from interloq.data.files.opening import lines
from interloq.data.records.jsonl import header
from interloq.reliability.curve import curve
from interloq.reliability.curve_file import curve_file, read_curves
from interloq.reliability.labels import group_queries
from interloq.reliability.reliability_options import CurveOptions
from tests.reliability.made_queries import rated_samples


def test_one_curve_per_metric(folder: Path) -> None:
    given = rated_samples(8, references=4)
    write("samples.jsonl", given, kind="samples")
    options = CurveOptions(sizes=[1, 2, 4], own=2, draws=2, n_bootstrap=10)
    found = curve_file("samples.jsonl", ["bleu_star", "bleu"], "curves.jsonl", options)
    assert [one.metric for one in found] == ["bleu_star", "bleu"]
    assert found[0] == curve(group_queries(given), "bleu_star", options)
    assert str(read_curves("curves.jsonl")) == str(found)  # NaN is not equal to itself
    assert header("curves.jsonl")["options"]["sizes"] == [1, 2, 4]
    assert len(list(lines("curves.jsonl"))) == 3


def test_the_output_is_not_the_input(folder: Path) -> None:
    write("samples.jsonl", rated_samples(4), kind="samples")
    with pytest.raises(InputError, match=r"samples\.jsonl"):
        curve_file("samples.jsonl", ["bleu_star"], "samples.jsonl")


def test_other_and_damaged_files_are_refused(folder: Path) -> None:
    write("samples.jsonl", rated_samples(2), kind="samples")
    with pytest.raises(InputError, match="not a file of curves"):
        read_curves("samples.jsonl")
    for line in ("{", "{}", '{"points":[{"level":1}]}', '{"points":[{"ci":[1]}]}'):
        Path("curves.jsonl").write_text('{"kind":"curves","schema":1}\n' + line + "\n")
        with pytest.raises(InputError, match="damaged"):
            read_curves("curves.jsonl")


def test_an_undefined_correlation_is_missing_in_the_file_too(folder: Path) -> None:
    same = [replace(sample, ratings=(Rating(3.0),)) for sample in rated_samples(6, references=2)]
    write("samples.jsonl", same, kind="samples")
    (found,) = curve_file("samples.jsonl", ["bleu_star"], "curves.jsonl", CurveOptions(sizes=[1, 2], n_bootstrap=5))
    assert all(math.isnan(point.value) for point in found.points)
    assert str(read_curves("curves.jsonl")) == str([found])


@pytest.mark.parametrize(
    "change",
    [
        {"coefficient": ["x"]},
        {"queries": "7"},
        {"replies": None},
        {"undefined": [1]},
        {"skipped": {"x": "1"}},
        {"without_copies": 1},
    ],
)
def test_fields_of_other_types_are_refused(folder: Path, change: dict[str, object]) -> None:
    write("samples.jsonl", rated_samples(6, references=2), kind="samples")
    curve_file("samples.jsonl", ["bleu_star"], "curves.jsonl", CurveOptions(sizes=[1, 2], n_bootstrap=5))
    first, line = Path("curves.jsonl").read_text().splitlines()
    Path("curves.jsonl").write_text(f"{first}\n{json.dumps(json.loads(line) | change)}\n")
    with pytest.raises(InputError, match=next(iter(change))):
        read_curves("curves.jsonl")
