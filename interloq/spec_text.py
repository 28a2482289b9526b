# SPDX-License-Identifier: Apache-2.0
"""Parsing of specs, `name(field=value,…)`: in time linear in their length, without evaluating them."""

from __future__ import annotations

import ast
import os.path
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from interloq.errors import SpecError

LONGEST = 20_000  # characters; longer specs were not written by hand
SHOWN = 80
_NAME = re.compile(r"[A-Za-z0-9_][\w-]*")
_LABEL = re.compile(r"\s*([^\s()\[\]{}='\",][^()\[\]{}='\",]*)=")
_CURLY = str.maketrans({**dict.fromkeys("“”„‟", '"'), **dict.fromkeys("‘’‚‛", "'")})
_OPEN, _CLOSE, _QUOTES = "([{", ")]}", "'\"“”‘’"


@dataclass(frozen=True)
class ParsedSpec:
    """A parsed spec: a name, and fields with values that are literals or further specs.

    `parts` are specs given without a field's name: they fill the fields that hold components, in order.
    """

    name: str
    fields: dict[str, Any]
    parts: tuple[ParsedSpec, ...] = ()


def read_spec(text: str) -> ParsedSpec:
    """Parse a spec. Curly quotes, as word processors insert them, are read as straight quotes."""
    if len(text) > LONGEST:
        raise SpecError(f"the spec has {len(text):,} characters; at most {LONGEST:,} are allowed")
    text = text.strip()
    name = _NAME.match(text)
    rest = text[name.end() :].lstrip() if name else ""
    if not name or (rest and not (rest.startswith("(") and rest.endswith(")"))):
        raise SpecError(_describe_unreadable(text))
    try:
        return _parsed(name[0], _call(rest or "()", text), text)
    except (RecursionError, MemoryError):
        raise SpecError(f"cannot read spec {_shown(text)}: it is nested too deeply") from None


def _describe_unreadable(text: str) -> str:
    """Return why a text is not a spec; the path of a file is the likeliest mistake."""
    if os.path.isfile(text):  # noqa: PTH113 - unlike Path, it accepts every text
        return (
            f"{_shown(text)} is a file, not a spec such as bleu(order=2); metrics chosen with `choose` are named @FILE"
        )
    return f"cannot read spec {_shown(text)}; write name or name(field=value,…)"


def straight(text: str) -> str:
    """The text with curly quotes replaced by straight ones."""
    return text.translate(_CURLY)


def split_specs(text: str) -> list[str]:
    """Split a list of specs, `bleu,chrf`, at commas outside brackets and quotes."""
    parts, start, depth, quote = [], 0, 0, ""
    for i, mark in enumerate(text):
        if quote:
            quote = "" if straight(mark) == quote and text[i - 1] != "\\" else quote
        elif mark in _QUOTES:
            quote = straight(mark)
        elif mark in _OPEN:
            depth += 1
        elif mark in _CLOSE:
            depth -= 1
        elif mark == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    return [part.strip() for part in (*parts, text[start:])]


def split_label(text: str) -> tuple[str, str]:
    """Split `uBLEU=vbleu(…)` into label and spec; the label is empty if there is none."""
    label = _LABEL.match(text)
    return (label[1].strip(), text[label.end() :].strip()) if label else ("", text.strip())


def _call(text: str, whole: str) -> ast.Call:
    """Parse the text as a call. Curly quotes are replaced only if parsing fails, since a value may contain ’."""
    failure: Exception | None = None
    for tried in dict.fromkeys((text, straight(text))):
        try:
            call = ast.parse("f" + tried, mode="eval").body
        except (SyntaxError, ValueError) as error:
            failure = error
            continue
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
            return call
    raise SpecError(f"cannot read spec {_shown(whole)}; write name(field=value,…)") from failure


def _parsed(name: str, call: ast.Call, whole: str) -> ParsedSpec:
    specs = [node for node in call.args if isinstance(node, ast.Name | ast.Call)]
    if len(specs) < len(call.args) or any(keyword.arg is None for keyword in call.keywords):
        raise SpecError(f"fields in {_shown(whole)} need names: write name(field=value)")
    return ParsedSpec(name, _fields(call, whole), tuple(_value(node, whole) for node in specs))


def _fields(call: ast.Call, whole: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in _named(call):
        if name in found:
            raise SpecError(f"{name!r} is given twice in {_shown(whole)}")
        found[name] = _value(value, whole)
    return found


def _named(call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    return ((keyword.arg, keyword.value) for keyword in call.keywords if keyword.arg)


def _value(node: ast.expr, whole: str) -> Any:
    if isinstance(node, ast.Name):
        return ParsedSpec(node.id, {})
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return _parsed(node.func.id, node, whole)
    if isinstance(node, ast.Tuple | ast.List):
        return tuple(_value(part, whole) for part in node.elts)
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError) as error:
        raise SpecError(f"{_shown(ast.unparse(node))} in {_shown(whole)} is neither a literal nor a spec") from error
    return value


def _shown(text: str) -> str:
    return repr(text if len(text) <= SHOWN else text[: SHOWN - 1] + "…")
