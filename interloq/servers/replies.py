# SPDX-License-Identifier: Apache-2.0
"""Replies of bots and chat servers."""

from __future__ import annotations

import re
from dataclasses import dataclass

LONGEST = 300  # characters kept of an error
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")


@dataclass(frozen=True, slots=True)
class Reply:
    """A bot's reply, or why there is none."""

    text: str
    failure: str = ""  # "", or what went wrong: "crashed: …", "timed out", "empty", "too long" …


def without_reasoning(text: str) -> str:
    """The answer without what a model wrote in `<think>…</think>` before it; '' while it is still reasoning."""
    reasoning, end, answer = text.partition("</think>")
    if text.lstrip().startswith("<think>"):
        return answer.lstrip()  # empty without an end
    if end and "<think>" not in reasoning:  # some servers leave out the opening mark
        return answer.lstrip()
    return text


def one_line(text: str, longest: int = LONGEST) -> str:
    """The message on one line, shortened, and without control characters or semicolons, which separate messages."""
    text = _CONTROLS.sub(" ", text).replace(";", ",").strip()
    if len(text) <= longest:
        return text
    return text[: longest - 1] + "…"
