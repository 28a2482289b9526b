"""Bots that behave well or badly, for tests of playing."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

from interloq.records import Turn
from interloq.registry import Component
from interloq.servers.replies import Reply
from interloq.signature import fingerprint


@dataclass(frozen=True)
class Teller(Component):
    """Says what depends on every turn, every speaker and the seed, and on nothing else; remembers its batches."""

    name: str = "teller"
    batch: int = 0
    batches: list[int] = field(default_factory=list, compare=False)

    def replies(self, dialogues: Sequence[Sequence[Turn]], seeds: Sequence[int]) -> list[Reply]:
        self.batches.append(len(dialogues))
        return [self._reply(turns, seed) for turns, seed in zip(dialogues, seeds, strict=True)]

    def signature(self) -> str:
        return f"teller-{self.name}"

    def _reply(self, turns: Sequence[Turn], seed: int) -> Reply:
        said = [part for turn in turns for part in (turn.speaker, turn.text)]
        return Reply(f"{self.name} {fingerprint(str(seed), *said)}")


@dataclass(frozen=True)
class Bad(Component):
    """From turn `turn` on it crashes, hangs, repeats itself, or returns an empty or invalid reply."""

    how: str
    turn: int = 0
    stop: threading.Event = field(default_factory=threading.Event, compare=False)

    def replies(self, dialogues: Sequence[Sequence[Turn]], seeds: Sequence[int]) -> list[Reply]:
        return [self._reply(turns, seed) for turns, seed in zip(dialogues, seeds, strict=True)]

    def signature(self) -> str:
        return f"bad-{self.how}-{self.turn}"

    def _reply(self, turns: Sequence[Turn], seed: int) -> Reply:
        if len(turns) < self.turn:
            return Reply(f"still well {seed}")
        if self.how == "crash":
            raise RuntimeError("out of [ideas]; sorry\nindeed")
        if self.how == "hang":
            self.stop.wait(60)
        if self.how == "no reply":
            return 7  # type: ignore[return-value]
        return Reply("again" if self.how == "repeat" else "  ")


@dataclass(frozen=True)
class Wordy:
    """Says about so many words."""

    words: int

    def replies(self, dialogues: Sequence[Sequence[Turn]], seeds: Sequence[int]) -> list[Reply]:
        assert len(dialogues) == len(seeds)
        return [Reply(" ".join(["word"] * (self.words + seed % 3)) + f" {seed}") for seed in seeds]

    def signature(self) -> str:
        return f"wordy({self.words})"
