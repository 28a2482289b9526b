"""Dialogues between small bots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from interloq.play.bot import BotLike
from interloq.play.openings import Opening
from interloq.play.schedule import BotMatch
from interloq.play.talk import talk
from interloq.records import Dialogue, Turn
from tests.made_bots import Teller


def openings(n: int) -> list[Opening]:
    return [Opening(f"opening-{i}", (f"hello {i}", f"hi {i}")) for i in range(1, n + 1)]


OPENINGS = openings(6)
BOTS: dict[str, BotLike] = {name: Teller(name) for name in "abxyz"}


def by_id(matches: list[BotMatch], bots: Mapping[str, BotLike], **options: Any) -> dict[str, Dialogue]:
    return {dialogue.id: dialogue for dialogue in talk(matches, bots, **options)}


def dialogue(*texts: str, speakers: str = "xy") -> list[Turn]:
    return [Turn(text, speakers[i % 2]) for i, text in enumerate(texts)]


def said(bot: Any, dialogue: Sequence[Turn], seeds: int = 20) -> set[str]:
    return {reply.text or reply.failure for reply in bot.replies([dialogue] * seeds, range(seeds))}
