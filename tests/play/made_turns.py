"""Turns of small dialogues."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from interloq.records import Turn


def turns(speakers: str, *texts: str) -> list[Turn]:
    return [Turn(text, speakers[i % 2]) for i, text in enumerate(texts)]


def said(bot: Any, dialogue: Sequence[Turn], seeds: int = 20) -> set[str]:
    return {reply.text or reply.failure for reply in bot.replies([dialogue] * seeds, range(seeds))}


def dialogue(*texts: str) -> list[Turn]:
    return [Turn(text, "ab"[i % 2]) for i, text in enumerate(texts)]
