"""Bots and runs of play."""

from __future__ import annotations

import json
from typing import Any

import pytest

from interloq.cli.main import main

BOT = """
import os, time
from pathlib import Path

def slow(turns, seed):
    print("a bot that prints")
    with Path("calls.txt").open("a") as file:
        file.write(f"{len(turns)}\\n")
    time.sleep(float(os.environ.get("SLOW", "0")))
    return f"{turns[-1].text[:20]} {seed % 1000}"

def mute(turns, seed):
    return ""

def bad(turns, seed):
    if Path("well").exists():
        return f"well again {seed}"
    if len(turns) > 4:
        raise RuntimeError("no [bold]more[/]")
    return "fine"
"""


def shown(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> dict[str, Any]:
    assert main(["play", *arguments, "--json"]) == code
    value: dict[str, Any] = json.loads(capsys.readouterr().out)
    return value


def failure(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["play", *arguments]) == 2
    return capsys.readouterr().err
