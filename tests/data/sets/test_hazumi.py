"""Hazumi, from a tiny ELAN file."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq import InputError
from interloq.data.sets.hazumi import transcript
from interloq.data.sets.registry import locate, read_dataset
from interloq.records import Rating, Turn
from tests.data.sets.made_sets import TIERS, write_hazumi
from tests.made_files import put
from tests.published_layouts import packed


def test_exchanges(tmp_path: Path) -> None:
    folder = write_hazumi(tmp_path / "hazumi1902")
    first, second, third = read_dataset("hazumi", folder)
    assert [first, second, third] == list(read_dataset("hazumi", packed(folder)))
    assert (first.id, first.context, first.response, first.system) == ("hazumi/1902F2001#0", (), "始めます。", "wizard")
    assert first.ratings == (
        Rating(4, "F1", "topic_continuance", "outsider"),
        Rating(5, "F1", "impression", "outsider"),
        Rating(3, "M2", "impression", "outsider"),
        Rating(6, "1902F2001", "impression", "interlocutor"),
    )
    assert second.context == (Turn("始めます。", "wizard"), Turn("はい そうです", "1902F2001"))
    assert [rating.value for rating in second.ratings] == [5, None, 4, None]
    assert (third.response, len(third.context)) == ("", 3), "a silent Wizard and an empty turn of the participant"
    assert [rating.value for rating in third.ratings] == [None, None, 6, None]


def test_siblings_are_found_by_their_names(tmp_path: Path) -> None:
    write_hazumi(tmp_path / "hazumi1902")
    write_hazumi(tmp_path / "hazumi1911", name="1911M1")
    assert locate("hazumi", tmp_path).name == locate("hazumi1902", tmp_path).name == "hazumi1902"
    assert locate("hazumi1911", tmp_path).name == "hazumi1911"


def test_marks_of_the_transcription() -> None:
    assert transcript("(F (D え)えーと)|三十分 (? かな)") == "えーと 三十分 かな"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"UI_self": ["8", "1", "1"]}, "UI_self must be a number from 1 to 7, got '8'"),
        ({"UI_self": ["1"]}, "UI_self has 1 values only"),
        ({"user_utterance": ["x"]}, "3 utterances of the system and 1 of the user"),
        ({"sys_utterance": []}, "0 utterances of the system"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, change: dict[str, list[str]], message: str) -> None:
    write_hazumi(tmp_path, TIERS | change)
    with pytest.raises(InputError, match=message):
        list(read_dataset("hazumi", tmp_path))


@pytest.mark.parametrize(
    ("text", "message"),
    [("<TIER>", "not valid XML"), ('<!DOCTYPE x [<!ENTITY a "aaaa">]><x>&a;</x>', "declares no document type")],
)
def test_files_that_are_not_elan(tmp_path: Path, text: str, message: str) -> None:
    put(tmp_path / "elan" / "x.eaf", text)
    with pytest.raises(InputError, match=message):
        list(read_dataset("hazumi", tmp_path))
