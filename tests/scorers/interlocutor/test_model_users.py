"""Warnings about models that know users."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from interloq import InputError
from interloq.data.records.profiles import read_profiles
from interloq.scorers.interlocutor.model import InterlocutorModel
from interloq.scorers.interlocutor.model_users import CARD, forget_user, warning, write_card
from tests.scorers.interlocutor.made_models import judged


def test_a_model_with_user_tokens_says_so(dcp_model: Path, score_model: Path) -> None:
    facts = json.loads((dcp_model / "model.json").read_text())
    assert facts["warning"] == warning(2, 0)
    assert facts["warning"].startswith("This model contains learned tokens of 2 users, with their ids. A token")
    card = (dcp_model / CARD).read_text()
    assert facts["warning"] in card
    assert "interloq corpus forget" in card
    assert "with their ids and the profiles of 2 users." in (score_model / CARD).read_text()
    assert warning(0, 1).startswith("This model contains the profiles of 1 user.")


def test_a_model_without_users_has_no_card(tmp_path: Path) -> None:
    (tmp_path / CARD).write_text("old")
    write_card(tmp_path, 0, 0)
    assert not (tmp_path / CARD).exists()
    assert warning(0, 0) == ""


def test_a_forgotten_user_is_anyone_and_nobody_else_changes(score_model: Path, tmp_path: Path) -> None:
    folder, samples = shutil.copytree(score_model, tmp_path / "model"), judged(5)
    before = InterlocutorModel.load(folder, kind="interlocutor", device="cpu")
    assert forget_user(folder, "ann")
    after = InterlocutorModel.load(folder, kind="interlocutor", device="cpu")
    assert after.signature() != before.signature()
    assert after.scores(samples, "bob") == pytest.approx(before.scores(samples, "bob"), abs=1e-6)
    assert after.scores(samples, "ann") == pytest.approx(before.scores(samples, ""), abs=1e-6)
    assert read_profiles(folder / "profiles.json") == {"bob": "tea !"}
    assert not any("ann" in path.read_text() for path in folder.glob("*.json") if not path.name.startswith("token"))
    assert "of 1 user, with their ids and the profiles of 1 user" in (folder / CARD).read_text()
    assert not forget_user(folder, "ann")


def test_the_last_user(dcp_model: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(dcp_model, tmp_path / "model")
    assert forget_user(folder, "bob")
    assert forget_user(folder, "ann")
    facts = json.loads((folder / "model.json").read_text())
    assert (facts["users"], facts["warning"], (folder / CARD).exists()) == ([], "", False)
    assert 0 < InterlocutorModel.load(folder, kind="dcp", device="cpu").scores(judged(1))[0] < 1


def test_other_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no model in the folder"):
        forget_user(tmp_path, "ann")
    (tmp_path / "model.json").write_text('{"kind": "relevance"}')
    with pytest.raises(InputError, match="contains a 'relevance'; only models by train dcp and train interlocutor"):
        forget_user(tmp_path, "ann")
