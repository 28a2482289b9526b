"""Options made from fields of settings."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any, Literal

from interloq.cli.options import add_options, chosen
from interloq.learn.settings import Training, option
from interloq.learn.trainable import Trainable


@dataclass(frozen=True)
class Own:
    """Settings of a job that another package trains."""

    width: int = option(7, "how wide; 100 % is all")
    how: Literal["a", "b"] = option("a", "in which way")
    rate: float | None = option(None, "how fast", shown="slowly")
    more: tuple[str, ...] = option((), "further files", path=True, repeat=True)
    loud: bool = option(False, "say more")
    inner: int = 3
    seed: int = 0


PLUGIN = Trainable("something else", (Own(), Training(epochs=4)), job="nowhere:job", result=lambda *_: "", extra="x")


def parsed(*arguments: str) -> Any:
    parser = argparse.ArgumentParser()
    add_options(parser, PLUGIN)
    return chosen(parser.parse_args(arguments), PLUGIN)[1]


def test_options_are_the_fields_with_a_help_text() -> None:
    names = [name for _, name in PLUGIN.options()]
    loop = ["epochs", "learning_rate", "patience", "checkpoint_minutes", "seed"]
    assert names == ["width", "how", "rate", "more", "loud", *loop]


def test_what_is_not_given_keeps_its_default() -> None:
    assert parsed() == [Own(), Training(epochs=4)]


def test_what_is_given_reaches_all_settings_that_have_it() -> None:
    own, training = parsed("--width", "9", "--how", "b", "--rate", ".5", "--more", "x", "--more", "y", "--seed", "3")
    assert own == Own(9, "b", 0.5, ("x", "y"), seed=3)
    assert training == Training(epochs=4, seed=3)
    assert parsed("--loud")[0].loud is True
