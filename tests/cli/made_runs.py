"""Runs of verbs, and the logs and bots that several of them use."""

from __future__ import annotations

import argparse
import json
from typing import Any

import pytest

from interloq.cli.main import main
from interloq.cli.play import audit
from interloq.records import Pair

Captured = pytest.CaptureFixture[str]
WORDS = ["rain", "sun", "dog", "cat", "film", "book", "tea", "fish", "song", "road", "lamp"]
LEVELS = {"low": 0.0, "middle": 1.5, "high": 3.0}  # systems and how good they are
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


def text(i: int) -> str:
    return " ".join(WORDS[(i * step + i // 7) % len(WORDS)] for step in (1, 3, 5)) + f" {i}"


def pairs(n: int, start: int = 0) -> list[Pair]:
    return [Pair(f"p{i}", text(i), f"reply {i} {text(i + 1)}") for i in range(start, start + n)]


def run_json(capsys: Captured, *arguments: str, code: int = 0) -> Any:
    """Run a command and return what it prints as JSON."""
    assert main([*arguments, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def run_play(capsys: Captured, *arguments: str, code: int = 0) -> Any:
    return run_json(capsys, "play", *arguments, code=code)


def refuse_play(capsys: Captured, *arguments: str) -> str:
    """Run play with arguments that it refuses, and return the message."""
    assert main(["play", *arguments]) == 2
    return capsys.readouterr().err


def run_corpus(capsys: Captured, *arguments: str, code: int = 0) -> str:
    assert main(["corpus", *arguments]) == code
    return capsys.readouterr().out


def run_audit(*arguments: str) -> None:
    parser = argparse.ArgumentParser()
    audit.add_arguments(parser)
    audit.run(parser.parse_args(arguments))
