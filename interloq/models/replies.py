"""What a bot or a chat server answers, and what went wrong where it did not."""

from __future__ import annotations

import re
from dataclasses import dataclass

SAID = 300  # characters of an error that are kept
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")


@dataclass(frozen=True, slots=True)
class Reply:
    """What a bot said, or why it said nothing."""

    text: str
    failure: str = ""  # "", or what went wrong: "crashed: …", "timed out", "empty", "too long" …


def one_line(text: str, longest: int = SAID) -> str:
    """A message as it may stand in a record: one failure on one line, without control characters, not too long."""
    text = _CONTROLS.sub(" ", text).replace(";", ",").strip()
    return text if len(text) <= longest else text[: longest - 1] + "…"
