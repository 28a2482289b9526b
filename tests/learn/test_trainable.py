"""Options from settings, and jobs that other packages register."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from typing import Any, Literal

import pytest

from interloq.cli.main import main
from interloq.cli.options import add_options, chosen
from interloq.learn import trainable
from interloq.learn.settings import Training, option
from interloq.learn.trainable import Trainable, job_names


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


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    entry = EntryPoint("job.mine", f"{__name__}:PLUGIN", "interloq.components")
    monkeypatch.setattr(trainable, "entry_points", lambda **_: [entry])
    job_names.cache_clear()
    yield
    job_names.cache_clear()


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


def test_a_registered_job_is_a_part_of_train(registered: None, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["train", "mine", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert "Train something else." in text
    for shown in ("100 % is all (default 7)", "--how {a,b}", "(default: slowly)", "say more", "(default 4)"):
        assert shown in text
    assert "--inner" not in text


def test_a_package_that_is_missing_is_named(registered: None, folder: Any, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "pairs.jsonl").write_text('{"utterance": "tea ?", "response": "tea"}\n')
    assert main(["train", "mine", "pairs.jsonl", "-o", "out"]) == 2
    assert "'nowhere'" in capsys.readouterr().err
