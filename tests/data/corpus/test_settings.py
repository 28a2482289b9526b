"""Settings of a build."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from interloq import InputError
from interloq.data.corpus.clean import Cleaning
from interloq.data.corpus.dialogues import DialogueShape
from interloq.data.corpus.settings import CorpusSettings, default_toml, keys, read_settings
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


def test_settings_are_checked_before_the_work() -> None:
    with pytest.raises(InputError, match="twiter"):
        CorpusSettings(format="twiter").check()
    assert CorpusSettings().check().cleaning.need_time
    assert not CorpusSettings(split=Split(())).check().cleaning.need_time


OTHER = """\
format = "reddit"
examples = 2
compression = "gz"

[cleaning]
lang = "ja"
detectors = ["label", "lingua"]
scripts = ["Kana", "Han"]
script_share = 0.7
min_characters = 7
urls = false
users = false
emoji = false
hashtags = "remove"
markdown = true
repeated_letters = 2
repeated_words = 0
quotes = "reply"

[bots]
per_day = 50
posts = 9
repeats = 0.9
names = true
users = ["x", "a"]

[joining]
duplicates = "any"
utc_offset = 9
orphans = true
max_gap = 24

[shape]
users = 0
min_posts = 4
max_posts = 99
branches = "longest"
others = false
merge = true
pairs = "all"

[split]
dev_from = "2018-01-01"
test_from = "2019-01-01"
unseen = true

[fields]
user = "author.name"
"""


def read(tmp_path: Path, text: str) -> CorpusSettings:
    path = tmp_path / "corpus.toml"
    path.write_text(text, encoding="utf-8")
    return read_settings(path)


def test_the_printed_file_has_the_defaults_and_is_on_the_page(tmp_path: Path) -> None:
    assert read(tmp_path, default_toml()) == read(tmp_path, "") == CorpusSettings()
    page = (Path(__file__).parents[3] / "docs" / "corpus.md").read_text(encoding="utf-8")
    assert f"```toml\n{default_toml()}```\n" in page


def test_every_key_reaches_its_setting(tmp_path: Path) -> None:
    chosen, plain = read(tmp_path, OTHER).plain(), CorpusSettings().plain()
    for name in keys():
        group, _, field = name.rpartition(".")
        values, defaults = (chosen[group], plain[group]) if group else (chosen, plain)
        assert values[field] != defaults[field], name
    assert chosen["bots"]["users"] == ["a", "x"]
    assert chosen["fields"] == [["user", "author.name"]]
    assert chosen["split"]["shares"] == []  # dates replace shares
    assert isinstance(chosen["joining"]["utc_offset"], float)


def test_all_settings_but_those_that_follow_from_others_are_keys() -> None:
    plain = CorpusSettings().plain()
    every = {f"{group}.{name}" for group, values in plain.items() if isinstance(values, dict) for name in values}
    every |= {name for name, value in plain.items() if not isinstance(value, dict)}
    assert every - set(keys()) == {"cleaning.need_time", "fields"}
    assert set(tomllib.loads(default_toml())) == {*plain}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[clening]\nlang = 'en'", "unknown table [clening]; did you mean 'cleaning'?"),
        ("[clening]", "unknown table [clening]; did you mean 'cleaning'?"),
        ("[cleaning]\nurl = 3", "unknown key 'cleaning.url'; did you mean 'cleaning.urls'?"),
        ("[format]", "unknown table [format]"),
        ("lang = 'en'", "unknown key 'lang'; did you mean 'cleaning.lang'?"),
        ("[cleaning]\nneed_time = false", "unknown key 'cleaning.need_time'"),
        ("cleaning = 3", "cleaning must be a table; write [cleaning], and its keys below"),
        ("[[shape]]\nusers = 2", "shape must be a table"),
        ("[shape.users]\nx = 2", "shape.users must be int, got {'x': 2}"),
        ("[cleaning]\nmin_characters = 'x'", "cleaning.min_characters must be int, got 'x'"),
        ("[cleaning]\nscript_share = nan", "cleaning.script_share must be float, got nan"),
        ("[cleaning]\nurls = 1", "cleaning.urls must be bool, got 1"),
        ("[cleaning]\ndetectors = 'label'", "cleaning.detectors must be a list of str, got 'label'"),
        ("[cleaning]\ndetectors = ['ldig']", "unknown detector 'ldig'; choose among label, fasttext, lingua"),
        ("[split]\nshares = [true]", "split.shares must be a list of float, got [True]"),
        ("[split]\ndev_from = '2018-01-01'", "one border is missing; give both dev_from and test_from, or neither"),
        ("[shape]\npairs = 'al'", "shape.pairs must be one of 'first', 'all', got 'al'"),
        ("compression = ['gz']", "compression must be one of 'zst', 'gz', 'none', got ['gz']"),
        ("fields = 3", "fields must be a table, got 3; write [fields]"),
        ("[fields]\nusr = 'x'", "posts have no 'usr'; did you mean 'user'?"),
        ("[fields]\nuser = 3", "fields.user must name a field of the log, got 3"),
        ("x =", "this is not a TOML file"),
        ("a = " + "[" * 100_000, "this is not a TOML file"),
    ],
)
def test_what_is_wrong_is_said_with_the_file(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as raised:
        read(tmp_path, text)
    assert str(raised.value).startswith(f"{tmp_path / 'corpus.toml'}: {message}")


def test_bytes_that_are_no_text_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "corpus.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="this is not a TOML file"):
        read_settings(tmp_path / "corpus.toml")
