"""Dialogues between small bots."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from interloq.play.bot import BotLike
from interloq.play.openings import Opening
from interloq.play.schedule import BotMatch
from interloq.play.talk import talk
from interloq.records import Dialogue
from tests.made_bots import Teller

OPENINGS = [Opening(f"opening-{i}", (f"hello {i}", f"hi {i}")) for i in range(1, 7)]
BOTS: dict[str, BotLike] = {name: Teller(name) for name in "abxyz"}


def by_id(matches: list[BotMatch], bots: Mapping[str, BotLike], **options: Any) -> dict[str, Dialogue]:
    return {dialogue.id: dialogue for dialogue in talk(matches, bots, **options)}
