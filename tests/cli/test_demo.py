"""The verb demo: options, and what each step prints."""

from __future__ import annotations

import argparse

import pytest

from interloq.cli import demo
from interloq.demo.logs import DemoStep


def test_defaults_and_languages() -> None:
    parser = argparse.ArgumentParser()
    demo.add_arguments(parser)
    given = parser.parse_args([])
    assert (given.language, str(given.output), given.quiet) == ("en", "interloq-demo", False)
    with pytest.raises(SystemExit):
        parser.parse_args(["--language", "xx"])


def test_a_step_says_why_shows_its_command_and_prints_its_result(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown: list[object] = []
    monkeypatch.setattr(demo, "_show", lambda _, result: shown.append(result))
    demo._run(DemoStep("to see", ["score", "a b.jsonl"], lambda _: 7), quiet=True)
    assert capsys.readouterr().out == "\n# to see\n$ interloq score 'a b.jsonl'\n"
    assert shown == [7]
