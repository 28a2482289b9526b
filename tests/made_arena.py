"""Simulated rounds and wordy bots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from interloq.records import Turn
from interloq.servers.replies import Reply


@dataclass(frozen=True)
class Wordy:
    """Says about so many words."""

    words: int

    def replies(self, dialogues: Sequence[Sequence[Turn]], seeds: Sequence[int]) -> list[Reply]:
        assert len(dialogues) == len(seeds)
        return [Reply(" ".join(["word"] * (self.words + seed % 3)) + f" {seed}") for seed in seeds]

    def signature(self) -> str:
        return f"wordy({self.words})"
