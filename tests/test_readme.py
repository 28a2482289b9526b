"""The commands of the README run as they stand there, and its tree is the tree."""

from __future__ import annotations

import re
import shlex
from itertools import islice
from pathlib import Path

import pytest

from interloq.cli.main import main
from interloq.data.embedded import embedded_log_path, embedded_path
from interloq.data.jsonl import read, write

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def commands() -> list[str]:
    text = "\n".join(blocks("sh")).replace("\\\n", " ")
    return [line for line in text.splitlines() if line.startswith("interloq ")]


def test_commands_run_in_order(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "samples.jsonl").write_bytes(embedded_path("en").read_bytes())
    write("pairs.jsonl", islice(read(embedded_log_path("en"), kind="pairs"), 150), kind="pairs")
    monkeypatch.setenv("INTERLOQ_CACHE", "off")
    assert len(commands()) >= 3
    for command in commands():
        assert main(shlex.split(command)[1:]) == 0, f"{command}: {capsys.readouterr().err}"


def test_python_runs_and_says_what_it_says(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "samples.jsonl").write_bytes(embedded_path("en").read_bytes())
    code = "\n".join(blocks("python"))
    exec(compile(code, "README.md", "exec"), {})  # noqa: S102
    printed = capsys.readouterr().out.splitlines()
    promised = re.findall(r"# prints: (.*)", code)
    assert promised
    assert printed[: len(promised)] == promised


def test_the_tree_in_the_readme_is_the_tree() -> None:
    (tree,) = blocks("text")
    named = re.findall(r"^[├└│─ ]*([\w.]+/?) ", tree, re.MULTILINE)
    folders = {name.rstrip("/") for name in named if name.endswith("/")}
    real = {p.name for p in (ROOT / "interloq").iterdir() if p.is_dir() and p.name != "__pycache__"}
    assert real <= folders
    assert {"recipes", "benchmarks", "tests", "docs"} <= folders
