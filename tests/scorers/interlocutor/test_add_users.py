"""Users added to a trained model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from interloq import InputError, write
from interloq.cli.main import main
from interloq.learn.job import train
from interloq.learn.store import read_tensors
from interloq.retrieve.training_log import TrainingLog
from interloq.scorers.interlocutor.add_users import AddUsersJob, from_log
from interloq.scorers.interlocutor.model import InterlocutorModel
from interloq.scorers.interlocutor.settings import ADDING, DCP, SCORE, Added, InterlocutorSources, Kind
from tests.scorers.interlocutor.made_models import judged


def adding(model: Path, folder: Path, *judges: str, kind: Kind = DCP, aspect: str = "continued") -> AddUsersJob:
    write(folder / "train.jsonl", judged(20, seed=3, judges=judges, aspect=aspect), kind="samples")
    (folder / "profiles.json").write_text('{"cat": "so !", "ann": "no"}')
    training = replace(ADDING, epochs=4, learning_rate=0.02)
    return from_log(TrainingLog([str(folder)]), InterlocutorSources(add_to=str(model)), Added(kind=kind), training)


def test_nothing_else_changes(dcp_model: Path, tmp_path: Path) -> None:
    facts = train(adding(dcp_model, tmp_path, "cat", "ann"), tmp_path / "new", device="cpu")
    assert (facts["users"], facts["user_samples"]) == (["ann", "bob", "cat"], [60, 60, 20])
    old, new = (read_tensors(folder / "model.safetensors") for folder in (dcp_model, tmp_path / "new"))
    assert torch.equal(new["users"][:2], old["users"])
    assert new["users"][2].abs().sum() > 0
    assert all(torch.equal(new[name], old[name]) for name in old if name != "users")
    before, after = (
        InterlocutorModel.load(folder, kind="dcp", device="cpu") for folder in (dcp_model, tmp_path / "new")
    )
    samples = judged(5)
    for user in ("ann", "bob", ""):
        assert np.array_equal(after.scores(samples, user), before.scores(samples, user))
    assert after.scores(samples, "cat") != pytest.approx(after.scores(samples, ""), abs=1e-4)
    assert facts["added"]["error"] < facts["added"]["error_as_anyone"]
    assert facts["temperature"] == before.facts["temperature"]


def test_profiles_of_new_users_are_added(score_model: Path, tmp_path: Path) -> None:
    job = adding(score_model, tmp_path, "cat", kind=SCORE, aspect="overall")
    train(job, tmp_path / "new", device="cpu")
    model = InterlocutorModel.load(tmp_path / "new", kind=SCORE, device="cpu")
    assert model.reader.profiles == {"ann": "i like the rain .", "bob": "tea !", "cat": "so !"}


def test_what_cannot_be_added(dcp_model: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no new user has 5 training samples; no sample names a new user"):
        train(adding(dcp_model, tmp_path, "ann"), tmp_path / "new", device="cpu")
    with pytest.raises(InputError, match="contains a 'dcp', not a 'interlocutor'"):
        adding(dcp_model, tmp_path, "cat", kind=SCORE)
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "model.json").write_text('{"kind": "dcp", "schema": 1, "users": []}')
    with pytest.raises(InputError, match="users cannot be added to a model without user tokens"):
        adding(tmp_path / "plain", tmp_path, "cat")


def test_options_of_a_whole_training_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "dcp", "new.jsonl", "-o", "out", "--add-to", "model", "--personal", "both"]) == 2
    assert "--personal is not used with --add-to; omit --personal or --add-to" in capsys.readouterr().err
