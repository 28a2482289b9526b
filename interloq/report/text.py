# SPDX-License-Identifier: Apache-2.0
"""Format numbers and texts for the reader: the filters of the report's templates."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from typing import Literal, Protocol

from interloq.records import Turn

MISSING = "n/a"
MINUS = "\N{MINUS SIGN}"
LONG = 1e9  # larger numbers are written in scientific notation
FOLD = 420  # characters shown before the fold
RECENT = 3  # turns of a context that are shown; the earlier ones are folded
_JOINS = "\u200d\ufe0e\ufe0f"  # zero-width joiner and variation selectors: part of the character before them
_DIRECTIONS = {  # change the direction of the following text: a reader must see them, not their effect
    0x202A: "LRE", 0x202B: "RLE", 0x202C: "PDF", 0x202D: "LRO", 0x202E: "RLO",
    0x2066: "LRI", 0x2067: "RLI", 0x2068: "FSI", 0x2069: "PDI",
}  # fmt: skip
_HIDDEN = {code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\t\n"} | {0x7F: "\u2421"}
_HIDDEN |= {code: f"\u27e8{name}\u27e9" for code, name in _DIRECTIONS.items()}


class Estimated(Protocol):
    """A value with its interval."""

    @property
    def value(self) -> float:
        """The estimate."""

    @property
    def ci(self) -> tuple[float, float] | None:
        """The interval, if there is one."""


def is_known(value: float | None) -> bool:
    """Return whether there is a value."""
    return value is not None and not math.isnan(value)


def is_bounded(ci: tuple[float, float] | None) -> bool:
    """Return whether there is an interval with finite ends."""
    return ci is not None and all(map(math.isfinite, ci))


def number(value: float | None, digits: int = 3) -> str:
    """Format a number with a real minus sign, or `n/a` if it is missing."""
    if value is None or math.isnan(value):
        return MISSING
    text = f"{value:.{digits}f}"
    if abs(value) >= LONG:
        text = f"{value:.4g}"
    if text.startswith("-") and float(text):
        return MINUS + text[1:]
    return text.removeprefix("-")


def digits(value: float, small: int = 4) -> int:
    """Return how many digits to show: `small` below 10, to distinguish close systems; two for lengths and NIST."""
    return small if abs(value) < 10 else 2


def score(value: float | None) -> str:
    """Format a metric's value."""
    if value is None:
        return MISSING
    return number(value, digits(value))


def format_signed(value: float, digits: int = 3) -> str:
    """Format a number with its sign."""
    text = number(value, digits)
    if text == MISSING or text.startswith(MINUS) or not float(text):
        return text
    return f"+{text}"


def interval(ci: tuple[float, float] | None, digits: int = 3) -> str:
    """Format an interval in brackets; empty if there is none."""
    if ci is None:
        return ""
    return f"[{number(ci[0], digits)}, {number(ci[1], digits)}]"


def estimate(row: Estimated | None, digits: int = 3) -> str:
    """Format a value and its interval."""
    if row is None:
        return MISSING
    return f"{number(row.value, digits)} {interval(row.ci, digits)}".rstrip()


def p_value(p: float | None) -> str:
    """Format a p-value as papers print it."""
    if p is None or math.isnan(p):
        return MISSING
    if p < 0.001:
        return "< .001"
    return f"{p:.3f}".removeprefix("0")


def or_nan(value: float | None) -> float:
    """Return a number from JSON, in which null means missing."""
    return math.nan if value is None else float(value)


def sort_key(value: float | None) -> str:
    """Return the sort key of a cell; empty cells sort last."""
    return "" if value is None or math.isnan(value) else repr(float(value))


def thousands(n: int) -> str:
    """Format a count with commas between thousands."""
    return f"{n:,}"


def duration(seconds: float) -> str:
    """Format a time in its two largest units."""
    hours, rest = divmod(round(seconds), 3600)
    if hours:
        return f"{hours} h {rest // 60} min"
    if rest >= 60:
        return f"{rest // 60} min {rest % 60} s"
    return f"{rest} s"


def sentence(text: str) -> str:
    """Return a text with a capital letter at its start."""
    return text[:1].upper() + text[1:]


def visible(text: str) -> str:
    """Return text with control characters and direction changes made visible, and lone surrogates replaced."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").translate(_HIDDEN)
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def cut(text: str, length: int) -> str:
    """Return the start of a text, with `…` if it was cut."""
    text = " ".join(text.split())
    if len(text) <= length:
        return text
    return text[: _whole(text, length)].rstrip() + "…"


def fold(text: str) -> tuple[str, str]:
    """Return a text in two parts: the part shown at once, and the rest of a long text."""
    if len(text) <= FOLD * 5 // 4:  # folding only a few words is useless
        return text, ""
    at = max(text.rfind(" ", FOLD - 80, FOLD), text.rfind("\n", FOLD - 80, FOLD)) + 1
    if at == 0:  # no space near the fold
        at = _whole(text, FOLD)
    return text[:at], text[at:]


Bubble = tuple[Literal["left", "right"], Turn]


def bubbles(context: Sequence[Turn]) -> tuple[list[Bubble], list[Bubble]]:
    """Return the earlier turns of a context, to be folded, and the recent ones, each with its side.

    The reply is on the right, so the last speaker is on the left; unnamed turns alternate.
    """
    named = any(turn.speaker for turn in context)
    turns: list[Bubble] = []
    for i, turn in enumerate(context):
        is_other = (len(context) - i) % 2 == 1
        if named:
            is_other = turn.speaker == context[-1].speaker
        turns.append(("left" if is_other else "right", turn))
    if len(turns) <= RECENT + 1:
        return [], turns
    return turns[:-RECENT], turns[-RECENT:]


def _whole(text: str, at: int) -> int:
    """Return the nearest position before `at` that does not split a character from its accents or an emoji."""
    while at > 1 and (unicodedata.combining(text[at]) or text[at] in _JOINS or text[at - 1] in _JOINS):
        at -= 1
    return at
