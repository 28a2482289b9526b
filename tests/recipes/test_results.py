from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from results import (
    Cell,
    Finding,
    Measured,
    PublishedTable,
    interval_by_unit,
    load_measured,
    report_measured,
    save_measured,
)

from interloq import InputError

FINDING = Finding(item="002/39", way="FED", value=0.1, ci=(0.05, 0.15), units=20, unit="dialogues", data="Spot the Bot")


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "holds"),
        ({"ci": (-0.01, 0.15)}, "cannot be told here"),
        ({"ci": (-0.2, -0.1)}, "does not hold"),
        ({"ci": (-0.01, 0.15), "published": 0.4}, "does not hold"),  # too small to be the published difference
        ({"ci": (0.05, 0.15), "published": 0.4}, "holds"),  # smaller, but above 0
        ({"ci": (-0.04, 0.1), "threshold": -0.05}, "holds"),  # not worse by more than .05
        ({"ci": (-0.2, -0.06), "threshold": -0.05}, "does not hold"),
        ({"ci": None}, "cannot be told here"),
        ({"value": None, "ci": None}, "cannot be told here"),
    ],
)
def test_one_rule_gives_the_verdict(changes: dict[str, Any], verdict: str) -> None:
    assert replace(FINDING, **changes).verdict == verdict


def test_measurements_are_read_as_they_were_written(tmp_path: Path) -> None:
    table = PublishedTable(
        item="002/33",
        title="Spearman of three schemes",
        data="Spot the Bot",
        columns=["Spearman"],
        rows={"self-play": [Cell(published=0.1, ours=0.2, ci=(0.1, 0.3))], "none": [Cell()]},
    )
    measured = Measured(command="python recipes/x.py", seconds=1.5, findings=[FINDING], tables=[table])
    save_measured(tmp_path / "x.json", measured)
    assert load_measured(tmp_path / "x.json") == measured


def test_the_command_names_no_place_of_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.json"
    given = ["--data", str(tmp_path), f"--work={tmp_path}", "--size", "3", "--measured", str(path)]
    monkeypatch.setattr("sys.argv", [str(tmp_path / "x.py"), *given])
    report_measured(path, [FINDING], [], time.monotonic())
    assert load_measured(path).command == "python recipes/x.py --data DATA --work=WORK --size 3"


def test_another_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('{"rows": []}')
    with pytest.raises(InputError, match="does not contain the measurements"):
        load_measured(path)


def test_units_are_resampled_whole() -> None:
    values = np.repeat([0.0, 1.0], [50, 50])
    value, (low, high), units = interval_by_unit(["a"] * 50 + ["b"] * 50, lambda places: float(values[places].mean()))
    assert (value, low, high, units) == (0.5, 0.0, 1.0, 2)  # 100 independent rows would give 0.4 to 0.6
