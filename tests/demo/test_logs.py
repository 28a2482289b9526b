"""Steps, and the part on logs: which steps there are with and without a real log, and what they need."""

from __future__ import annotations

import argparse
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from interloq.cli.train import add_job_arguments, choose_job
from interloq.data.progress import silent
from interloq.demo.logs import (
    EPOCHS,
    SHAPE,
    VOCABULARIES,
    DemoStep,
    LogPart,
    delta_bleu,
    log_steps,
    missing,
    quoted,
    rater_options,
    report_step,
)
from interloq.rate.settings import TRAINABLE, RaterTokenizer, Shape
from interloq.registry import create

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
    commands = {step.verb: step.command for step in log_steps(part)}
    assert [step.verb for step in log_steps(part)] == verbs
    assert part.samples in commands["score"]
    if part.vbleu:
        assert ("--no-parrot" in commands["extend"]) == (not part.real), "the utterance is rated, or left out"
        assert part.rater in commands["rate"]
        assert any(part.rater in word for word in commands["score"])


def test_the_report_shows_the_training_of_a_trained_rater_only() -> None:
    assert "--model" in report_step(LogPart(FOLDER, "en")).command
    real = report_step(LogPart(FOLDER, "en", real=True)).command
    assert "--model" not in real
    assert real[real.index("--aspect") + 1] == "person"


def test_modules_that_are_not_installed_are_named() -> None:
    assert missing(("json", "no_such_module")) == ["no_such_module"]


def test_a_step_calls_its_function_with_the_progress() -> None:
    step = DemoStep("to see", ["score", "samples.jsonl"], lambda progress: progress)
    assert (step.verb, step.run(), step.run(print)) == ("score", silent, print)  # type: ignore[arg-type]


def test_quoted_texts_need_no_escapes_in_the_shell() -> None:
    assert quoted("it's") == '"it\'s"'
    assert shlex.join([delta_bleu("ja")]) == """'delta_bleu(order=2,tokenizer="char")'"""
    assert create(delta_bleu("zh"), kind="metric").order == 2


@pytest.mark.parametrize("language", ["en", "ja", "zh"])
def test_the_options_shown_are_the_settings_used(language: str) -> None:
    parser = argparse.ArgumentParser()
    add_job_arguments(parser, TRAINABLE)
    args = parser.parse_args(["log", "-o", "rater", *rater_options(language)])
    _, settings = choose_job(args, TRAINABLE)
    by_type = {type(part): part for part in settings}
    assert by_type[Shape] == SHAPE
    assert by_type[RaterTokenizer] == replace(RaterTokenizer(), vocabulary=VOCABULARIES[language])
    assert (args.epochs, args.seed, args.device) == (EPOCHS[language], 0, "cpu")
