"""People's scores of systems."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq import InputError
from interloq.data.records.system_scores import read_system_scores


@pytest.mark.parametrize(
    "text",
    [
        '{"mine": 4.5, "theirs": -1}',
        "system,score\nmine,4.5\ntheirs,-1\n",
        "mine\t4.5\n\ntheirs\t-1",
        '\ufeff"mine",4.5\ntheirs, -1 ',
    ],
)
def test_every_layout_says_the_same(tmp_path: Path, text: str) -> None:
    (tmp_path / "people").write_text(text, encoding="utf-8")
    assert read_system_scores(tmp_path / "people") == {"mine": 4.5, "theirs": -1.0}


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ('{"a": 1, "a": 2}', "'a' is listed twice"),
        ("a,1\na,1", ":2: system 'a' is listed twice"),
        ('{"a": true}', "'a' is not a number: True"),
        ('{"a": NaN}', "'a' is nan"),
        ('{"a": 1' + "0" * 400 + "}", "too large"),
        ('{"a": ', "not valid JSON"),
        ("a,1\nb,x", ":2: 'x' is not a number"),
        ("a,1,2", ":1: expected a system and a score, got 3 cells"),
        ("system,score", "no scores of systems"),
        ("", "no scores of systems"),
    ],
)
def test_what_cannot_be_used_is_named(tmp_path: Path, text: str, what: str) -> None:
    (tmp_path / "people").write_text(text)
    with pytest.raises(InputError, match=what):
        read_system_scores(tmp_path / "people")
