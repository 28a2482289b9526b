"""Training the models that judge as the interlocutor."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from interloq import InputError, Sample, write
from interloq.learn.job import train
from interloq.retrieve.training_log import TrainingLog
from interloq.scorers.interlocutor.job import beside, dev_facts, source_of
from interloq.scorers.interlocutor.model import InterlocutorModel
from tests.scorers.interlocutor.made_models import judged, made_job, write_parts


def test_each_user_is_judged_for_themselves(dcp_model: Path) -> None:
    """Ann always answers; bob rarely does."""
    model, samples = InterlocutorModel.load(dcp_model, kind="dcp", device="cpu"), judged(30, seed=9)
    assert np.median(model.scores(samples, "ann")) > 0.8
    assert np.median(model.scores(samples, "bob")) < 0.5


def test_the_facts_of_a_model(dcp_model: Path, score_model: Path) -> None:
    facts = json.loads((dcp_model / "model.json").read_text())
    assert (facts["users"], facts["user_samples"], facts["ids"]) == (["ann", "bob"], [60, 60], "kept")
    assert facts["dev"]["nll"] < facts["dev"]["nll_of_rate"]
    assert (dcp_model / "calibration.json").exists()
    assert facts["counts"]["one_value"] == 1  # ann has no sample that she did not answer
    score = json.loads((score_model / "model.json").read_text())
    assert (score["aspect"], score["profiles"], score["config"]["mean"]) == ("overall", 2, pytest.approx(3.67, abs=0.3))


def test_what_is_unusual_is_reported(tmp_path: Path) -> None:
    write_parts(tmp_path)
    write(tmp_path / "train.jsonl", [*judged(60), *judged(2, seed=7, judges=("dan", "")), *_long()], kind="samples")
    said: list[str] = []
    train(made_job(tmp_path, personal="both", epochs=1), tmp_path / "model", device="cpu", report=said.append)
    assert said[:5] == [
        "126 samples for training, 40 for dev",
        "2 users get a token, 1 has too few samples",
        "2 training samples without a known judge: read as by anyone",
        "1 user has only one value in training: their tokens can learn nothing else",
        "2 replies are too long for a model of 48 tokens: only the first tokens are read",
    ]


def _long() -> list[Sample]:
    return [Sample(s.id, s.context, "tea " * 90, ratings=s.ratings) for s in judged(1, seed=8)]


def test_profiles_are_needed_if_they_are_read(tmp_path: Path) -> None:
    write_parts(tmp_path)
    (tmp_path / "profiles.json").write_text('{"profiles": {"zoe": "hi"}}')
    with pytest.raises(InputError, match=r"profiles\.json: no profile belongs to a user of the samples"):
        train(made_job(tmp_path, personal="profile"), tmp_path / "model", device="cpu")
    (tmp_path / "profiles.json").unlink()
    with pytest.raises(InputError, match="there is no file of profiles beside the training samples"):
        train(made_job(tmp_path, personal="profile"), tmp_path / "model", device="cpu")


def test_files_beside_the_training_samples(tmp_path: Path) -> None:
    write_parts(tmp_path)
    log = TrainingLog([str(tmp_path)])
    assert beside(log, "dev.jsonl*") == str(tmp_path / "dev.jsonl")
    assert beside(log, "none.json") is None
    assert beside(TrainingLog([str(tmp_path / "dev.jsonl")]), "dev.jsonl*") is None
    assert source_of(log, str(tmp_path / "dev.jsonl")) != source_of(log, None)
    with pytest.raises(InputError, match="no file 'none'"):
        source_of(log, "none")


def test_figures_of_the_dev_part() -> None:
    found = dev_facts("dcp", np.array([2.0, -1.0, 1.0]), np.array([1.0, 0.0, 0.0]), np.array([1.0, 0.0]))
    assert (found["dev"]["accuracy"], found["dev"]["nll_of_rate"]) == pytest.approx((2 / 3, np.log(2)))
    rated = dev_facts("interlocutor", np.array([1.0, 3.0]), np.array([2.0, 4.0]), np.array([3.0, 5.0]))["dev"]
    assert (rated["rmse"], rated["rmse_of_mean"], rated["pearson"]) == pytest.approx((1, 2**0.5, 1))


def test_users_of_the_dev_part_have_profiles_too(tmp_path: Path) -> None:
    write_parts(tmp_path)
    write(tmp_path / "dev.jsonl", judged(10, seed=1, judges=("bob", "dan")), kind="samples")
    (tmp_path / "profiles.json").write_text('{"ann": "tea", "dan": "rain", "zoe": "cats"}')
    train(made_job(tmp_path, personal="profile", epochs=1), tmp_path / "model", device="cpu")
    model = InterlocutorModel.load(tmp_path / "model", kind="dcp", device="cpu")
    assert (model.reader.users, model.reader.profiles) == ({}, {"ann": "tea", "dan": "rain"})
    assert model.knows("dan")
