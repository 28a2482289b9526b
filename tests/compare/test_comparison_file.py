"""Comparisons and gates read back from JSON."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from interloq import InputError
from interloq.compare.compare import compare
from interloq.compare.comparison import Comparison
from interloq.compare.comparison_file import read_comparison
from interloq.compare.gate.gate import Gate, gate
from interloq.compare.repeats import Noise
from interloq.data.records.jsonl import to_json
from interloq.statistics.clustered import Clustered
from tests.made_versions import drawn, version

FOUND = compare(
    version("june", drawn(), topics=["food", "films"], ratings=[3.0] * 9),
    version("july", drawn(-0.2, seed=2), topics=["food", "films"], ratings=[4.0] * 9),
)
GATE = gate(FOUND, 0.05, noise=[Noise("chrf", 1.0, 2.0, None, (1.0, 0.0))])
SLOPE = Clustered(2.0, 80, 78, {"": 0.2})
CONVERTED = gate(FOUND, 0.05, slopes={"chrf": SLOPE}, slices="no-regression")


@pytest.mark.parametrize("found", [FOUND, GATE, CONVERTED])
def test_a_printed_comparison_is_read_back(folder: Path, found: Comparison | Gate) -> None:
    (folder / "found.json").write_bytes(orjson.dumps(to_json(found.facts())))
    again = read_comparison("found.json")
    assert repr(again) == repr(found)  # NaN is not equal to itself
    assert orjson.dumps(to_json(again.facts())) == orjson.dumps(to_json(found.facts()))


@pytest.mark.parametrize(
    ("place", "value"),
    [("changes", [{}]), ("old", 3), ("people", [{"which": "old", "ci": [1]}]), ("worse", [[]]), ("signature", None)],
)
def test_other_files_are_refused(folder: Path, place: str, value: object) -> None:
    (folder / "found.json").write_bytes(orjson.dumps({**to_json(FOUND.facts()), place: value}))
    with pytest.raises(InputError, match=r"found\.json|signature"):
        read_comparison("found.json")


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"comparison": {}, "outcome": "fine"}'])
def test_a_hint_says_how_to_make_one(folder: Path, content: str) -> None:
    (folder / "found.json").write_text(content)
    with pytest.raises(InputError, match=r"found\.json.*interloq gate -o FILE"):
        read_comparison("found.json")
