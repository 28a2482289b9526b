# SPDX-License-Identifier: Apache-2.0
"""Formats numbers and texts for the reader."""

from __future__ import annotations

import math
import re
import unicodedata

from interloq.report.elements import Folded, Name
from interloq.spec_text import split_label

MISSING = "n/a"
MINUS = "\N{MINUS SIGN}"
LONG = 1e9  # larger numbers are written in scientific notation
FOLD = 420  # characters shown before the fold
_JOINS = "\u200d\ufe0e\ufe0f"  # zero-width joiner and variation selectors: part of the character before them
_DIRECTIONS = {  # change the direction of the following text: a reader must see them, not their effect
    0x202A: "LRE", 0x202B: "RLE", 0x202C: "PDF", 0x202D: "LRO", 0x202E: "RLO",
    0x2066: "LRI", 0x2067: "RLI", 0x2068: "FSI", 0x2069: "PDI",
}  # fmt: skip
_HIDDEN = {code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\t\n"} | {0x7F: "\u2421"}
_HIDDEN |= {code: f"\u27e8{name}\u27e9" for code, name in _DIRECTIONS.items()}


def number(value: float | None, digits: int = 3) -> str:
    """A number with a real minus sign, or `n/a` if it is missing."""
    if value is None or math.isnan(value):
        return MISSING
    text = f"{value:.{digits}f}"
    if abs(value) >= LONG:
        text = f"{value:.4g}"
    if text.startswith("-") and float(text):
        return MINUS + text[1:]
    return text.removeprefix("-")


def score(value: float | None) -> str:
    """A metric's value: four digits for small values, to distinguish close systems; two for lengths and NIST."""
    return number(value, 4 if value is None or abs(value) < 10 else 2)


def signed(value: float, digits: int = 3) -> str:
    """A number with its sign."""
    text = number(value, digits)
    if text == MISSING or text.startswith(MINUS) or not float(text):
        return text
    return f"+{text}"


def interval(ci: tuple[float, float] | None, digits: int = 3) -> str:
    """An interval in brackets; empty if there is none."""
    if ci is None:
        return ""
    return f"[{number(ci[0], digits)}, {number(ci[1], digits)}]"


def p_value(p: float | None) -> str:
    """A p-value as papers print it."""
    if p is None or math.isnan(p):
        return MISSING
    if p < 0.001:
        return "< .001"
    return f"{p:.3f}".removeprefix("0")


def or_nan(value: float | None) -> float:
    """A number from JSON, where a missing one is null."""
    return math.nan if value is None else float(value)


def sort_key(value: float | None) -> str:
    """Sort key of a cell; empty cells sort last."""
    return "" if value is None or math.isnan(value) else repr(float(value))


def name(spec: str, number: int) -> Name:
    """A spec split after each bracket and comma, where it may wrap; its head is the label if it has one."""
    head, *rest = re.split(r"(?==)" if split_label(spec)[0] else r"(?=\()", spec, maxsplit=1)
    pieces = re.split(r"(?<=[(,|])", "".join(rest))
    return Name(number, head, tuple(filter(None, pieces)))


def visible(text: str) -> str:
    """Text with control characters and direction changes made visible, and lone surrogates replaced."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").translate(_HIDDEN)
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def cut(text: str, length: int) -> str:
    """The start of a text, with `…` if it was cut."""
    text = " ".join(text.split())
    if len(text) <= length:
        return text
    return text[: _whole(text, length)].rstrip() + "…"


def folded(text: str) -> Folded:
    """A text in two parts: the part shown at once, and the rest of a long text."""
    if len(text) <= FOLD * 5 // 4:  # folding only a few words is useless
        return Folded(text)
    at = max(text.rfind(" ", FOLD - 80, FOLD), text.rfind("\n", FOLD - 80, FOLD)) + 1
    if at == 0:  # no space near the fold
        at = _whole(text, FOLD)
    return Folded(text[:at], text[at:])


def _whole(text: str, at: int) -> int:
    """The nearest position before `at` that does not split a character from its accents or an emoji."""
    while at > 1 and (unicodedata.combining(text[at]) or text[at] in _JOINS or text[at - 1] in _JOINS):
        at -= 1
    return at
