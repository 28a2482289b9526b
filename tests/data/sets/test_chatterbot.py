"""The corpus of ChatterBot, and YAML as its files use it."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq.data.sets import chatterbot
from interloq.data.sets.imports import pairs
from interloq.errors import InputError
from tests.data.sets.made_sets import both
from tests.made_files import put

YAML = """\
categories:
- greetings
conversations:
- - Hi, how is it
    going?
  - 'It''s "good"'
- - Hi, how is it going?
  - "Say \\"fine\\"."
# a comment
- - Hi, how is it going?
  -
  - Yes
- question with its dash missing
  - '22'
- - write a script
  - |
    Here:
    - one
    # two
- alone
"""


def test_chatterbot(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    put(folder / "english" / "greetings.yml", YAML)
    found = [dialogue for _, dialogue in both(folder, "chatterbot")]
    assert [[turn.text for turn in dialogue.turns] for dialogue in found] == [
        ["Hi, how is it going?", 'It\'s "good"'],
        ["Hi, how is it going?", 'Say "fine".'],
        ["Hi, how is it going?", "Yes"],
        ["question with its dash missing", "22"],
        ["write a script", "Here: - one # two"],
        ["alone"],
    ]
    assert found[0].id == "chatterbot/english/greetings/0"
    single, groups = pairs("chatterbot", found)
    assert len(single) == 5
    assert [pair.response for pair in groups] == ['It\'s "good"', 'Say "fine".', "Yes"]
    assert {pair.to for pair in groups} == {"chatterbot/english/greetings/0/0"}
    assert pairs("dailydialog", found)[1] == []
    with pytest.raises(InputError, match="no list of conversations"):
        chatterbot.conversations("categories:\n- x\n", "x.yml")


def test_plain_files_are_read_as_yaml_reads_them() -> None:
    yaml = pytest.importorskip("yaml")
    plain = YAML.replace("- question with its dash missing\n  - '22'\n", "").replace("- alone\n", "")
    # the base loader makes texts of everything, so that "Yes" stays one
    value = yaml.load(plain, Loader=yaml.BaseLoader)
    expected = [[" ".join(turn.split()) for turn in turns if turn] for turns in value["conversations"]]
    assert chatterbot.conversations(plain, "x") == expected
