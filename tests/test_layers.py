"""Imports go down only, and the package starts light."""

from __future__ import annotations

import ast
import subprocess
import sys
import time
from pathlib import Path

import pytest

import interloq

ROOT = Path(interloq.__file__).parent
LAYERS = [
    {"version", "errors", "needs", "records", "registry", "signature", "spec_text"},
    {"data"},
    {"models"},
    {"retrieve"},
    {"rate"},
    {"play"},
    {"metrics", "interlocutor"},
    {"pipelines"},
    {"reliability"},
    {"meta"},
    {"arena"},
    {"report"},
    {"web"},
    {"cli"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}


def _imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "interloq":
            parts = node.module.split(".")[1:]
            found |= {parts[0]} if parts else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("interloq.")}
    return found


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_down_only(path: Path) -> None:
    own = path.relative_to(ROOT).parts[0].removesuffix(".py")
    if own == "__init__":
        return
    assert own in LEVEL, f"{own} has no place among the layers"
    above = {name for name in _imports(path) if LEVEL[name] > LEVEL[own]}
    assert not above, f"{path.name} ({own}) imports from above: {above}"


def test_importing_interloq_loads_nothing_heavy() -> None:
    program = "import sys, interloq; print(*{'torch','scipy','nltk','rich','jinja2','sacrebleu'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_help_answers_at_once() -> None:
    """A third of a second is the aim; the bound is loose, because a loaded machine is no fault of the code."""
    command = [sys.executable, "-m", "interloq.cli", "--help"]
    times = []
    for _ in range(3):
        start = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        times.append(time.perf_counter() - start)
    assert done.stdout.startswith("usage: interloq VERB")
    assert min(times) < 2.0
