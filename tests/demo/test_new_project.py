"""The folder of `interloq new`: its commands run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from interloq import InputError, load
from interloq.cli.main import main
from interloq.demo.new_project import new_project


def commands(text: str) -> list[list[str]]:
    (block,) = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    found = [line.partition(" > ")[0] for line in block.splitlines() if line.startswith("interloq ")]
    return [shlex.split(line)[1:] for line in found]


@pytest.mark.parametrize("language", ["en", "ja", "zh"])
def test_the_commands_of_the_readme_run(
    language: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names = new_project("project", language=language)  # type: ignore[arg-type]
    assert sorted(path.name for path in Path("project").iterdir()) == sorted(names)
    monkeypatch.chdir("project")
    found = commands(Path("README.md").read_text())
    assert len(found) == 7
    for words in found:
        short = ["--bootstrap", "20"] if words[0] in ("score", "meta", "report", "probe") else []
        assert main([*words, *short]) == 0, capsys.readouterr().err
    out = capsys.readouterr().out
    assert "does not split" not in out  # the tokenizer fits the language
    assert "count in full" not in out  # no reference has a weight that metrics ignore
    assert {score.metric.partition("(")[0] for score in load("scores.jsonl", kind="scores")} == {
        "bleu",
        "chrf",
        "length",
    }


def test_the_makefile_has_the_same_commands_and_nothing_is_left_to_fill_in(folder: Path) -> None:
    new_project("project")
    texts = {path.name: path.read_text() for path in Path("project").iterdir()}
    assert not [name for name, text in texts.items() if re.search(r"@[A-Z_]+@", text)]
    used = set(re.findall(r"\tinterloq (\w+)", texts["Makefile"]))
    assert used == {"data", "score", "meta", "report", "cite"}
    assert '-m "bleu(order=2)" -m chrf -m length' in texts["Makefile"]


def test_a_folder_with_files_is_not_touched(folder: Path) -> None:
    Path("project").mkdir()
    new_project("project")
    with pytest.raises(InputError, match="project already exists and is not an empty folder"):
        new_project("project")
    Path("file").touch()
    with pytest.raises(InputError, match="already exists"):
        new_project("file")


def test_nothing_is_left_if_it_fails(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interloq.demo.new_project.write", _fail)
    with pytest.raises(InputError, match="full"):
        new_project("project")
    assert list(folder.iterdir()) == []


def _fail(*_: object, **__: object) -> None:
    raise InputError("the disk is full")
