"""Users removed from a trained model."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from interloq import InputError
from interloq.data.records.profiles import read_profiles
from interloq.scorers.interlocutor.card import CARD
from interloq.scorers.interlocutor.forget import forget_user
from interloq.scorers.interlocutor.model import InterlocutorModel
from tests.scorers.interlocutor.made_models import judged


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
