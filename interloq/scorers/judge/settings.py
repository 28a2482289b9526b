"""Settings of the scorer `judge`, in their own module so that reading the defaults does not import torch."""

from __future__ import annotations

from dataclasses import dataclass

from interloq.learn.settings import check_positive, option
from interloq.registry import Component


@dataclass(frozen=True)
class Frozen:
    """The network whose states are used; it is not trained further."""

    scorer: str = option(
        "", "folder of a trained relevance scorer, or ready", path=True, required=True, metavar="FOLDER"
    )


@dataclass(frozen=True)
class JudgeSettings(Component):
    """What is learned from ratings."""

    least: int = option(50, "minimum number of rated replies per set to learn an aspect from")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, "least")
