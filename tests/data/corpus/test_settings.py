"""Settings of a build."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from interloq import InputError
from interloq.data.corpus.clean import Cleaning
from interloq.data.corpus.dialogues import DialogueShape
from interloq.data.corpus.settings import CorpusSettings
from interloq.data.corpus.split import Split


def test_every_option_and_the_source_are_signed() -> None:
    plain = CorpusSettings().signature("abc")
    assert "source:abc" in plain
    for other in (
        CorpusSettings(shape=DialogueShape(users=3)),
        CorpusSettings(cleaning=replace(Cleaning(), min_characters=9)),
    ):
        assert other.signature("abc") != plain
    assert CorpusSettings(examples=9, compression="none").signature("abc") == plain, "they change no record"


def test_settings_are_plain_json() -> None:
    plain = CorpusSettings(fields=(("user", "nick"),)).plain()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["fields"] == [["user", "nick"]]


def test_unknown_formats_and_detectors_are_refused_before_the_work() -> None:
    with pytest.raises(InputError, match="twiter"):
        CorpusSettings(format="twiter").check()


def test_times_are_needed_where_parts_are_cut_by_time() -> None:
    assert not CorpusSettings(split=Split()).check().cleaning.need_time or Split().by_time
    assert CorpusSettings().check().cleaning.need_time == Split().by_time
