"""Trained models that judge as the interlocutor."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from interloq import InputError, Sample
from interloq.scorers.interlocutor import model as module
from interloq.scorers.interlocutor.model import InterlocutorModel
from tests.scorers.interlocutor.made_models import judged, small_model


def load(folder: Path, kind: str = "dcp", **options: Any) -> InterlocutorModel:
    return InterlocutorModel.load(folder, kind=kind, device="cpu", **options)


def test_the_judge_of_a_sample_is_the_default(dcp_model: Path) -> None:
    model, samples = load(dcp_model), judged(4, judges=("bob",))
    assert model.scores(samples) == pytest.approx(model.scores(samples, "bob"))
    assert model.scores(samples).max() < model.scores(samples, "ann").min()
    unseen = judged(4, judges=("zoe",))
    assert model.scores(unseen) == pytest.approx(model.scores(unseen, ""))


def test_chunks_do_not_matter(dcp_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, samples = load(dcp_model), judged(10)
    wanted = model.scores(samples)
    monkeypatch.setattr(module, "CHUNK", 3)
    assert model.scores(samples) == pytest.approx(wanted, abs=1e-5)
    assert model.scores([]).shape == (0,)


def test_profiles_can_be_replaced(score_model: Path, dcp_model: Path, tmp_path: Path) -> None:
    own = load(score_model, "interlocutor")
    (tmp_path / "new.json").write_text(json.dumps({"zoe": "tea tea tea !"}))
    other = load(score_model, "interlocutor", profiles=str(tmp_path / "new.json"))
    samples = judged(2, judges=("zoe",))
    assert own.signature() != other.signature()
    assert own.scores(samples) == pytest.approx(own.scores(samples, ""))
    assert other.scores(samples) != pytest.approx(own.scores(samples), abs=1e-7)
    with pytest.raises(InputError, match="the model reads no profiles; omit `profiles`"):
        load(dcp_model, profiles=str(tmp_path / "new.json"))


def test_a_dialogue_longer_than_any_model_is_scored(dcp_model: Path) -> None:
    long = Sample("1", [f"tea {i} ?" for i in range(3000)], "rain " * 5000)
    assert 0 < load(dcp_model).scores([long])[0] < 1


def test_low_rank_updates_name_their_base(tmp_path: Path) -> None:
    model = load(small_model(tmp_path, low_rank=2, epochs=1))
    assert model.facts["base"]["name"] == str(tmp_path / "encoder")
    assert len(set(model.scores(judged(3)).round(6))) > 1


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"users": ["ann"]}, "weights 'users' have shape"),
        ({"users": [1, 2]}, "ids of users must be texts"),
        ({"subwords": "other"}, "the tokenizer is missing or not the one"),
        ({"temperature": 0}, "the temperature is 0"),
        ({"config": {}}, "'tokens' is missing"),
        ({"kind": "interlocutor"}, "contains a 'interlocutor', not a 'dcp'"),
    ],
)
def test_damaged_models_are_refused(dcp_model: Path, tmp_path: Path, change: dict[str, Any], says: str) -> None:
    folder = shutil.copytree(dcp_model, tmp_path / "model")
    facts = json.loads((folder / "model.json").read_text())
    (folder / "model.json").write_text(json.dumps(facts | change))
    with pytest.raises(InputError, match=says):
        load(folder)
