# SPDX-License-Identifier: Apache-2.0
"""Replies of bots and chat servers, and the roles of speakers in a request."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from interloq.records import Turn

NOTHING_TO_ANSWER = "nothing to answer"  # failure of a reply to a dialogue without turns
LONGEST = 300  # characters kept of an error
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")


@dataclass(frozen=True, slots=True)
class Reply:
    """A bot's reply, or why there is none. With `ends` the bot ends the dialogue, also without a text."""

    text: str
    failure: str = ""  # "", or what went wrong: "crashed: …", "timed out", "empty", "too long" …
    ends: bool = False


def without_reasoning(text: str) -> str:
    """Return the answer without what a model wrote in `<think>…</think>` before it; '' while it is still reasoning."""
    reasoning, end, answer = text.partition("</think>")
    if text.lstrip().startswith("<think>"):
        return answer.lstrip()  # empty without an end
    if end and "<think>" not in reasoning:  # some servers leave out the opening mark
        return answer.lstrip()
    return text


def one_line(text: str, longest: int = LONGEST) -> str:
    """Return the message on one line, shortened, without control characters and semicolons, which separate messages."""
    text = _CONTROLS.sub(" ", text).replace(";", ",").strip()
    if len(text) <= longest:
        return text
    return text[: longest - 1] + "…"


def roles(turns: Sequence[Turn]) -> list[Literal["user", "assistant"]]:
    """Return the role of the speaker of each turn, from the side of the bot that speaks next.

    With two named speakers, the last one is the user. Without names, or with more speakers, turns alternate backwards
    from the last.
    """
    speakers = [turn.speaker for turn in turns]
    if len(set(speakers)) == 2 and all(speakers):
        return ["user" if speaker == speakers[-1] else "assistant" for speaker in speakers]
    return ["assistant" if (len(turns) - i) % 2 == 0 else "user" for i in range(len(turns))]
