"""The part on logs: which steps there are with and without a real log, and what they need."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq.demo.logs import LogPart, log_steps, missing, report_step

FOLDER = Path("out")


@pytest.mark.parametrize(
    ("part", "verbs"),
    [
        (LogPart(FOLDER, "en", real=True), ["index", "extend", "score", "rate", "score", "score"]),
        (LogPart(FOLDER, "en"), ["index", "train", "extend", "rate", "score", "score"]),
        (LogPart(FOLDER, "ja", vbleu=False), ["score"]),
    ],
)
def test_steps(part: LogPart, verbs: list[str]) -> None:
    found = {step.verb: step.command for step in log_steps(part)}
    assert [step.verb for step in log_steps(part)] == verbs
    assert part.samples in found["score"]
    if part.vbleu:
        assert ("--no-parrot" in found["extend"]) == (not part.real), "the utterance is rated, or left out"
        assert part.rater in found["rate"]
        assert any(part.rater in word for word in found["score"])


def test_the_report_shows_the_training_of_a_trained_rater_only() -> None:
    assert "--model" in report_step(LogPart(FOLDER, "en")).command
    real = report_step(LogPart(FOLDER, "en", real=True)).command
    assert "--model" not in real
    assert real[real.index("--aspect") + 1] == "person"


def test_modules_that_are_not_installed_are_named() -> None:
    assert missing(("json", "no_such_module")) == ["no_such_module"]
