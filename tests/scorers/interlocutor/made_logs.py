"""Dialogues of two people with times, made for these tests."""

from __future__ import annotations

from collections.abc import Sequence

from interloq.data.corpus.times import DAY, SECOND, iso
from interloq.records import Dialogue, Turn


def talk(id: str, speakers: Sequence[str], *, day: int = 0, pause: int = 60) -> Dialogue:
    """One turn per entry of `speakers`, `pause` seconds apart."""
    turns = [Turn(f"{id} turn {i}", speaker, iso(day * DAY + i * pause * SECOND)) for i, speaker in enumerate(speakers)]
    return Dialogue(id, turns)


def log(conversations: int = 12) -> list[Dialogue]:
    """Ann with bob and with cat on alternate days: 3 to 6 turns, so that no length stands out."""
    return [
        talk(f"d{day}", (("ann", ("bob", "cat")[day % 2]) * 3)[: 3 + day % 4], day=day + 1)
        for day in range(conversations)
    ]


def of_length(id: str, turns: int) -> Dialogue:
    return talk(id, [("ann", "bob")[i % 2] for i in range(turns)])
