# SPDX-License-Identifier: Apache-2.0
"""A bot that repeats the last turn: the simplest partner, useful for tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from interloq.play.bot import Bot
from interloq.records import Turn
from interloq.servers.replies import NOTHING_TO_ANSWER, Reply
from interloq.signature import Signature, signature


@dataclass(frozen=True)
class Echo(Bot, name="echo"):
    """Repeats the last turn."""

    def replies(self, dialogues: Sequence[Sequence[Turn]], seeds: Sequence[int]) -> list[Reply]:  # noqa: ARG002
        return [Reply(turns[-1].text) if turns else Reply("", NOTHING_TO_ANSWER) for turns in dialogues]

    def signature(self) -> Signature:
        return signature(self)
