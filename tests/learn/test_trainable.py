"""What can be trained."""

from __future__ import annotations

from interloq.learn.trainable import job_names, scorer_result, trainable
from tests.made_job import PLUGIN


def test_options_are_the_fields_with_a_help_text() -> None:
    names = [name for _, name in PLUGIN.options()]
    loop = ["epochs", "learning_rate", "patience", "threads", "checkpoint_minutes", "seed"]
    assert names == ["width", "how", "rate", "more", "loud", *loop]


def test_every_registered_job_can_be_described_without_training() -> None:
    assert {"rater", "ruber", "relevance"} <= set(job_names())
    for name in job_names():
        assert trainable(name).summary
        assert len(set(options_of(name))) == len(options_of(name)), "an option of several settings comes once"


def options_of(name: str) -> list[str]:
    return [option for _, option in trainable(name).options()]


def test_the_result_of_a_scorer() -> None:
    facts = {"best": {"dev_loss": 0.25, "epoch": 3}, "wins": 0.875, "pairs": {"dev": 2000}}
    line = scorer_result(facts, [])
    assert "0.2500 after epoch 3" in line
    assert "87.5% of 2,000" in line
