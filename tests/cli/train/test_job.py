"""`interloq train NAME` for registered jobs."""

from __future__ import annotations

import argparse
from typing import Any

import pytest

from interloq.cli.main import main
from interloq.cli.train.job import add_job_options, choose_job
from interloq.learn.settings import Training
from tests.made_job import PLUGIN, Own


def settings(*arguments: str) -> Any:
    parser = argparse.ArgumentParser()
    add_job_options(parser, PLUGIN)
    return choose_job(parser.parse_args(arguments), PLUGIN)[1]


def test_options_that_are_not_given_keep_their_defaults() -> None:
    assert settings() == [Own(), Training(epochs=4)]


def test_given_options_reach_all_settings_that_have_them() -> None:
    own, training = settings("--width", "9", "--how", "b", "--rate", ".5", "--more", "x", "--more", "y", "--seed", "3")
    assert own == Own(9, "b", 0.5, ("x", "y"), seed=3)
    assert training == Training(epochs=4, seed=3)
    assert settings("--loud")[0].loud is True


def test_a_package_that_is_missing_is_named(registered: None, folder: Any, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "pairs.jsonl").write_text('{"utterance": "tea ?", "response": "tea"}\n')
    assert main(["train", "mine", "pairs.jsonl", "-o", "out"]) == 2
    assert "'nowhere'" in capsys.readouterr().err
