"""Pseudonyms of users, and their key."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from interloq import InputError
from interloq.data.pseudonyms import Pseudonyms, UserIdOptions, names_of, read_key
from interloq.records import Dialogue, Rating, Sample, Turn

KEY = "sixteen or more characters"


def test_the_same_key_gives_the_same_pseudonyms() -> None:
    first, again, other = Pseudonyms(KEY), Pseudonyms(KEY), Pseudonyms(KEY + "!")
    assert first("ann") == again("ann") != other("ann")
    assert first("ann") != first("bob")
    assert first("ann").startswith("u")
    assert len(first("ann")) == 17
    assert first("") == ""


def test_dialogues_name_nobody_but_systems() -> None:
    names = Pseudonyms(KEY)
    turns = [Turn("hi ann", "ann", "2018-01-01"), Turn("hey", "system")]
    given = Dialogue("set/ann/7", turns, {"system": "GPT-4"}, [Rating(3, "ann", "fun", "interlocutor")])
    found = names.dialogue(given)
    ann = names("ann")
    assert found == Dialogue(
        f"set/{ann}/7",
        [Turn("hi ann", ann, "2018-01-01"), Turn("hey", "system")],
        {"system": "GPT-4"},
        [Rating(3, ann, "fun", "interlocutor")],
    )
    assert given.turns[0].speaker == "ann"


def test_samples_name_nobody_but_their_system() -> None:
    names = Pseudonyms(KEY)
    given = Sample("set/ann#3", [Turn("x", "wizard"), Turn("y", "ann")], "z", (), "wizard", [Rating(3, "ann")])
    ann = names("ann")
    context = [Turn("x", "wizard"), Turn("y", ann)]
    assert names.sample(given) == Sample(f"set/{ann}#3", context, "z", (), "wizard", [Rating(3, ann)])


def test_a_key_is_made_once_for_its_owner_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    key = read_key()
    file = tmp_path / "interloq" / "user.key"
    assert read_key() == key == file.read_text().strip()
    assert len(key) == 64
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [path.name for path in file.parent.iterdir()] == ["user.key"]
    assert read_key(tmp_path / "other.key") != key


def test_a_key_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", f" {KEY}\n")
    assert read_key("env:MY_KEY") == KEY
    names = UserIdOptions(user_key="env:MY_KEY").pseudonyms()
    assert names
    assert names("ann") == Pseudonyms(KEY)("ann")


def test_short_and_missing_keys_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_KEY", raising=False)
    with pytest.raises(InputError, match=r"'NO_KEY' .*key for user ids: 0 characters"):
        read_key("env:NO_KEY")
    (tmp_path / "key").write_text("short")
    with pytest.raises(InputError, match="5 characters; use at least 16"):
        read_key(tmp_path / "key")
    with pytest.raises(InputError):
        read_key(tmp_path / "key" / "below-a-file")


def test_kept_ids_need_no_key(tmp_path: Path) -> None:
    assert UserIdOptions(user_key=str(tmp_path / "key"), keep_user_ids=True).pseudonyms() is None
    assert not (tmp_path / "key").exists()


def test_all_ids_of_a_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert names_of("ann") == {"ann"}, "without a key, nothing was hashed"
    assert not any(tmp_path.iterdir())
    pseudonym = Pseudonyms(read_key())("ann")
    assert names_of("ann") == {"ann", pseudonym}
    assert names_of(pseudonym) == {pseudonym}
    with pytest.raises(InputError, match="there is no key in"):
        names_of("ann", tmp_path / "missing.key")


def test_further_fields_may_name_people_and_are_left_out() -> None:
    names = Pseudonyms("0123456789abcdef")
    assert names.sample(Sample("1", (), "x", fields={"user": "ann"})).fields == {}
    assert names.dialogue(Dialogue("1", ["x"], fields={"user": "ann"})).fields == {}
