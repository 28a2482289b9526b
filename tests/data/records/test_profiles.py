"""Files of profiles."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq import InputError
from interloq.data.pseudonyms import HASHED, KEPT, Pseudonyms
from interloq.data.records.profiles import read_profiles, write_profiles

NAMES = Pseudonyms("a key for the tests")


@pytest.mark.parametrize("users", [HASHED, KEPT])
def test_profiles_written_here_keep_their_ids(tmp_path: Path, users: str) -> None:
    write_profiles(tmp_path / "p.json", {"b": "text", "a": ""}, users=users)
    assert read_profiles(tmp_path / "p.json", NAMES) == {"a": "", "b": "text"}


def test_profiles_from_elsewhere_get_pseudonyms(tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text('{"ann": "I cook."}')
    assert read_profiles(tmp_path / "p.json", NAMES) == {NAMES("ann"): "I cook."}
    assert read_profiles(tmp_path / "p.json") == {"ann": "I cook."}


def test_a_profile_is_text(tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text('{"profiles": {"ann": ["I cook."]}}')
    with pytest.raises(InputError, match=r"p\.json: the profile of 'ann' must be text, got \['I cook\.'\]"):
        read_profiles(tmp_path / "p.json")
