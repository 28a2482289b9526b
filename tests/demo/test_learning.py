"""The demo's rater: the command that is shown trains what the demo trains."""

from __future__ import annotations

import argparse
from dataclasses import replace

import pytest

from interloq.cli.train import job as train_job
from interloq.demo.learning import EPOCHS, SHAPE, VOCABULARIES, options
from interloq.rate.settings import TRAINABLE, RaterTokenizer, Shape


@pytest.mark.parametrize("language", ["en", "ja", "zh"])
def test_the_options_shown_are_the_settings_used(language: str) -> None:
    parser = argparse.ArgumentParser()
    train_job.add_arguments(parser, TRAINABLE)
    args = parser.parse_args(["log", "-o", "rater", *options(language)])
    _, settings = train_job.choose_job(args, TRAINABLE)
    found = {type(part): part for part in settings}
    assert found[Shape] == SHAPE
    assert found[RaterTokenizer] == replace(RaterTokenizer(), vocabulary=VOCABULARIES[language])
    assert (args.epochs, args.seed, args.device) == (EPOCHS[language], 0, "cpu")
