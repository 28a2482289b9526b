"""How far long work is: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time

import pytest

from interloq.cli.shared.progress import phases, progress

Captured = pytest.CaptureFixture[str]


def test_a_line_now_and_then_where_there_is_no_terminal(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 10.0, 40.0, 50.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    with progress("scoring", 1_000) as step:
        for steps in (100, 150, 250):
            step(steps)
    assert capsys.readouterr().err == "interloq: scoring: 250 of 1,000, about 2 min 0 s left\n"


def test_without_a_total_there_is_no_estimate(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 40.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    with progress("scoring") as step:
        step(4_096)
    assert capsys.readouterr().err == "interloq: scoring: 4,096\n"


def test_phases_have_shares(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 10.0, 40.0, 50.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    with phases() as step:
        for share in (0.1, 0.25, 0.5):
            step("cleaning posts", share)
    assert capsys.readouterr().err == "interloq: cleaning posts: 25%, about 2 min 0 s left\n"


def test_quiet_is_silent(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interloq.cli.shared.progress.EVERY", 0.0)
    with progress("scoring", 10, quiet=True) as step, phases(quiet=True) as reach:
        step(5)
        reach("cleaning posts", 0.5)
    assert capsys.readouterr().err == ""


def test_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []

    class Terminal:
        def isatty(self) -> bool:
            return True

        def write(self, text: str) -> int:
            written.append(text)
            return len(text)

        def flush(self) -> None: ...

    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("TERM", "xterm-256color")
    with progress("scoring \x1b[2J", 2) as step:
        step(2)
    with phases() as reach:
        reach("cleaning posts", 0.5)
    shown = "".join(written)
    assert "scoring \\x1b[2J" in shown, "a label may come from a file's name"
    assert "cleaning posts" in shown
