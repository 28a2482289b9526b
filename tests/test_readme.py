"""The commands of the README run as they are printed there, and its tree is the tree.

`python -m tests.test_readme` rewrites the table of the first screen.
"""

from __future__ import annotations

import re
import shlex
from contextlib import redirect_stdout
from io import StringIO
from itertools import dropwhile, takewhile
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from interloq.cli.main import main
from interloq.demo.new_project import new_project

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def commands() -> list[str]:
    text = "\n".join(blocks("sh")).replace("\\\n", " ")
    return [line for line in text.splitlines() if line.startswith(("interloq ", "cd "))]


def test_commands_run_in_order(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTERLOQ_CACHE", "off")
    assert len(commands()) >= 3
    for command in commands():
        verb, *words = shlex.split(command)
        if verb == "cd":
            monkeypatch.chdir(*words)
        else:
            assert main(words) == 0, f"{command}: {capsys.readouterr().err}"
    (shown,) = blocks("console")
    printed = {line.rstrip() for line in capsys.readouterr().out.splitlines()}
    assert set(shown.splitlines()) <= printed


def rewrite_table() -> None:
    """Rewrite the table of the first screen, whose figures change with the packaged judge."""
    compare = next(command for command in commands() if " compare " in command)
    with TemporaryDirectory() as folder, redirect_stdout(StringIO()) as printed:
        new_project(f"{folder}/trial")
        main(shlex.split(compare.replace("samples.jsonl", f"{folder}/trial/samples.jsonl"))[1:])
    lines = dropwhile(lambda line: not line.startswith(" metric"), printed.getvalue().splitlines())
    table = takewhile(str.strip, lines)
    (shown,) = blocks("console")
    path = ROOT / "README.md"
    path.write_text(README.replace(shown, "".join(f"{line.rstrip()}\n" for line in table)))


def test_python_prints_what_the_readme_says(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    new_project("trial")
    monkeypatch.chdir("trial")
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


if __name__ == "__main__":
    rewrite_table()
