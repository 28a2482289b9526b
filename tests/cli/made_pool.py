"""A small pool of pairs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from interloq.cli.main import main
from interloq.records import Pair

Captured = pytest.CaptureFixture[str]
WORDS = ["rain", "sun", "dog", "cat", "film", "book", "tea", "fish", "song", "road", "lamp"]


def text(i: int) -> str:
    return " ".join(WORDS[(i * step + i // 7) % len(WORDS)] for step in (1, 3, 5)) + f" {i}"


def pairs(n: int, start: int = 0) -> list[Pair]:
    return [Pair(f"p{i}", text(i), f"reply {i} {text(i + 1)}") for i in range(start, start + n)]


def printed(capsys: Captured, *arguments: str, code: int = 0) -> dict[str, Any]:
    assert main([*arguments, "--json"]) == code
    facts: dict[str, Any] = json.loads(capsys.readouterr().out)
    return facts
