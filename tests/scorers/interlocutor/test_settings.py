"""Settings of the models that judge as the interlocutor."""

from __future__ import annotations

import pytest

from interloq import InputError
from interloq.learn.settings import Training
from interloq.scorers.interlocutor.samples import CONTINUED
from interloq.scorers.interlocutor.settings import DCP_TRAINABLE, SCORE_TRAINABLE, Added, InterlocutorReading, Target


def test_defaults_are_those_of_the_paper() -> None:
    for trainable, epochs in ((DCP_TRAINABLE, 5), (SCORE_TRAINABLE, 10)):
        target = next(part for part in trainable.settings if isinstance(part, Target))
        training = next(part for part in trainable.settings if isinstance(part, Training))
        assert (training.optimizer, training.learning_rate, training.epochs, target.batch) == (
            "adamw",
            3e-5,
            epochs,
            64,
        )


def test_the_aspect_decides_the_kind() -> None:
    assert (Target(CONTINUED).kind, Target("overall").kind) == ("dcp", "interlocutor")


def test_what_is_personal() -> None:
    read = {each: InterlocutorReading(personal=each) for each in ("none", "token", "profile", "both")}
    assert [name for name, each in read.items() if each.reads_tokens] == ["token", "both"]
    assert [name for name, each in read.items() if each.reads_profiles] == ["profile", "both"]


def test_bad_values_are_refused() -> None:
    with pytest.raises(InputError, match="tokens must be at least 16, got 15"):
        InterlocutorReading(tokens=15)
    with pytest.raises(InputError, match="user_samples must be above 0"):
        Added(user_samples=0)
    with pytest.raises(InputError, match="batch must be above 0"):
        Target(batch=0)
    with pytest.raises(InputError, match="anyone must be a share from 0 to 1, got 2"):
        Target(anyone=2)


def test_results_in_words() -> None:
    facts = {"best": {"dev_loss": 0.5, "epoch": 2}, "users": ["ann"], "kind": "dcp"}
    facts["dev"] = {"accuracy": 0.75, "majority": 0.5, "nll": 0.6, "nll_of_rate": 0.69}
    assert DCP_TRAINABLE.result(facts, []) == (
        "best dev loss 0.5000 after epoch 2; 1 user with a token\n"
        "dev: accuracy 0.750 (majority 0.500), negative log-likelihood 0.6000 (constant 0.6900)"
    )
    facts |= {"kind": "interlocutor", "dev": {"rmse": 1.0, "rmse_of_mean": 1.5, "pearson": None}}
    assert SCORE_TRAINABLE.result(facts, []).endswith("dev: RMSE 1.000 (mean rating 1.500), Pearson's r n/a")
