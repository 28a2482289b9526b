"""The fixture `interloq`, in a test run of a user."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from collections.abc import Collection
from pathlib import Path

from interloq import Sample, write

TEST = """\
from interloq.compare.compare_options import GateOptions
from interloq.compare.gate.gate_file import gate_file

def test_passes(interloq):
    assert interloq.gate("fine.jsonl", old="old.jsonl", metrics=["chrf"], margin=0.5).outcome == "pass"

def test_regression(interloq):
    interloq.gate("new.jsonl", old="old.jsonl", metrics=["chrf"], margin=0.1)

def test_undecided(interloq):
    interloq.check(gate_file("mixed.jsonl", GateOptions(metrics=["chrf"]), old="old.jsonl", margin=0.05))

def test_refused(interloq):
    interloq.gate("new.jsonl", GateOptions(slice_by=[]), old="old.jsonl", margin=0.05, metrics=["length"])
"""


def run(folder: Path) -> str:
    """Output of pytest with this plugin alone."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "interloq.pytest_plugin", "-p", "no:cacheprovider", "."]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


def test_only_a_pass_passes(tmp_path: Path) -> None:
    wrong: dict[str, Collection[int]] = {"old": (3,), "new": range(12), "mixed": (3, 7), "fine": (4,)}
    for name, bad in wrong.items():
        texts = [f"the answer to {i} is {i * 7}" for i in range(12)]
        samples = [Sample(str(i), [f"{i} ?"], "no" if i in bad else text, [text]) for i, text in enumerate(texts)]
        write(tmp_path / f"{name}.jsonl", samples, kind="samples")
    (tmp_path / "test_quality.py").write_text(TEST)
    printed = run(tmp_path)
    assert "1 passed" in printed
    assert "3 failed" in printed
    assert "gate: regression\nchrf: regression: gain -0." in printed
    assert "gate: refused: cannot gate by length: neither a high nor a low score is better" in printed
    assert "During handling" not in printed
    assert "gate: undecided\nchrf: undecided: gain -0." in printed


def test_pytest_finds_the_plugin() -> None:
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"interloq": "interloq.pytest_plugin"}
