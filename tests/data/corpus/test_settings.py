"""Settings of a build."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from interloq import InputError
from interloq.data.corpus.clean import Cleaning
from interloq.data.corpus.dialogues import Shape
from interloq.data.corpus.settings import Settings
from interloq.data.corpus.split import Split


def test_every_option_and_the_source_are_signed() -> None:
    plain = Settings().signature("abc")
    assert "source:abc" in plain
    for other in (Settings(shape=Shape(users=3)), Settings(cleaning=replace(Cleaning(), min_characters=9))):
        assert other.signature("abc") != plain
    assert Settings(examples=9, compression="none").signature("abc") == plain, "they change no record"


def test_settings_are_plain_json() -> None:
    plain = Settings(fields=(("user", "nick"),)).plain()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["fields"] == [["user", "nick"]]


def test_unknown_formats_and_detectors_are_refused_before_the_work() -> None:
    with pytest.raises(InputError, match="twiter"):
        Settings(format="twiter").checked()


def test_times_are_needed_where_parts_are_cut_by_time() -> None:
    assert not Settings(split=Split()).checked().cleaning.need_time or Split().by_time
    assert Settings().checked().cleaning.need_time == Split().by_time
