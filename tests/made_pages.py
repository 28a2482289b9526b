"""Commands and code of the pages in docs, as a reader runs them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from pathlib import Path

import pytest

from interloq.cli.main import main

DOCS = Path(__file__).parents[1] / "docs"


def page_commands(page: str) -> list[str]:
    """Return the commands in the shell blocks of a page."""
    text = "\n".join(_blocks(page, "sh")).replace("\\\n", " ")
    return [line for line in text.splitlines() if line.startswith("interloq ")]


def run_commands(commands: Iterable[str], capsys: pytest.CaptureFixture[str], *more: str) -> None:
    for command in commands:
        assert main([*shlex.split(command)[1:], *more]) == 0, f"{command}: {capsys.readouterr().err}"
    capsys.readouterr()


def run_code(page: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Run the Python blocks of a page and return the lines they print."""
    code = "\n".join(_blocks(page, "python"))
    exec(compile(code, page, "exec"), {})  # noqa: S102
    return capsys.readouterr().out.splitlines()


def _blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (DOCS / page).read_text("utf-8"), re.DOTALL)
