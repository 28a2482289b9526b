"""A job of another package."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from interloq.learn.settings import Training
from interloq.learn.trainable import Trainable
from interloq.options import option


@dataclass(frozen=True)
class Own:
    """Settings of a job that another package trains."""

    width: int = option(7, "how wide; 100 % is all")
    how: Literal["a", "b"] = option("a", "in which way")
    rate: float | None = option(None, "how fast", shown="slowly")
    more: tuple[str, ...] = option((), "further files", path=True)
    loud: bool = option(False, "say more")
    inner: int = 3
    seed: int = 0


PLUGIN = Trainable("something else", (Own(), Training(epochs=4)), job="nowhere:job", result=lambda *_: "", extra="x")
