"""Options made from fields of settings."""

from __future__ import annotations

import argparse
from typing import Any

from interloq.cli.shared.options import add_options, chosen
from interloq.learn.settings import Training
from tests.made_job import PLUGIN, Own


def parsed(*arguments: str) -> Any:
    parser = argparse.ArgumentParser()
    add_options(parser, PLUGIN)
    return chosen(parser.parse_args(arguments), PLUGIN)[1]


def test_what_is_not_given_keeps_its_default() -> None:
    assert parsed() == [Own(), Training(epochs=4)]


def test_what_is_given_reaches_all_settings_that_have_it() -> None:
    own, training = parsed("--width", "9", "--how", "b", "--rate", ".5", "--more", "x", "--more", "y", "--seed", "3")
    assert own == Own(9, "b", 0.5, ("x", "y"), seed=3)
    assert training == Training(epochs=4, seed=3)
    assert parsed("--loud")[0].loud is True
