# SPDX-License-Identifier: Apache-2.0
"""Parsing of specs, `name(field=value,…)`: in time linear in their length, without evaluating them."""

from __future__ import annotations

import ast
import os.path
import re
import sys
import types
import typing
from dataclasses import dataclass
from typing import Any, Literal, Union

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
        if os.path.isfile(text):  # noqa: PTH113 - unlike Path, it accepts every text
            hint = "metrics chosen with `choose` are named @FILE"
            raise SpecError(f"{_shorten(text)} is a file, not a spec such as bleu(order=2); {hint}")
        raise SpecError(f"cannot read spec {_shorten(text)}; write name or name(field=value,…)")
    try:
        return _parse(name[0], _call(rest or "()", text), text)
    except (RecursionError, MemoryError):
        raise SpecError(f"cannot read spec {_shorten(text)}: it is nested too deeply") from None


def straighten_quotes(text: str) -> str:
    """Return the text with curly quotes replaced by straight ones."""
    return text.translate(_CURLY)


def split_specs(text: str) -> list[str]:
    """Split a list of specs, such as `bleu,chrf`, at commas outside brackets and quotes."""
    parts, start, depth, quote = [], 0, 0, ""
    for i, mark in enumerate(text):
        if quote:
            quote = "" if straighten_quotes(mark) == quote and text[i - 1] != "\\" else quote
        elif mark in _QUOTES:
            quote = straighten_quotes(mark)
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


def fits(value: Any, hint: Any) -> bool:
    """Return whether a value has the annotated type."""
    origin = typing.get_origin(hint)
    if origin is Literal:
        return any(value == choice and type(value) is type(choice) for choice in typing.get_args(hint))
    if origin in (Union, types.UnionType):
        return any(fits(value, part) for part in typing.get_args(hint))
    if hint is float and isinstance(value, int) and abs(value) > sys.float_info.max:
        return False
    if hint in (int, float):
        return isinstance(value, int | hint) and not isinstance(value, bool)
    if hint in (str, bool, type(None)):
        return isinstance(value, hint)
    return True  # components and containers check themselves


def describe_expected(hint: Any, kind: str | None = None) -> str:
    """Describe the expected type, for messages."""
    if kind:
        return f"a tuple of {kind}s" if typing.get_origin(hint) is tuple else f"a {kind}"
    if typing.get_origin(hint) is Literal:
        return "one of " + ", ".join(repr(choice) for choice in typing.get_args(hint))
    return getattr(hint, "__name__", str(hint))


def _call(text: str, whole: str) -> ast.Call:
    """Parse the text as a call. Curly quotes are replaced only if parsing fails, since a value may contain ’."""
    failure: Exception | None = None
    for tried in dict.fromkeys((text, straighten_quotes(text))):
        try:
            call = ast.parse("f" + tried, mode="eval").body
        except (SyntaxError, ValueError) as error:
            failure = error
            continue
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
            return call
    raise SpecError(f"cannot read spec {_shorten(whole)}; write name(field=value,…)") from failure


def _parse(name: str, call: ast.Call, whole: str) -> ParsedSpec:
    nameless = SpecError(f"fields in {_shorten(whole)} need names: write name(field=value)")
    for node in call.args:
        if not isinstance(node, ast.Name | ast.Call):
            raise nameless
    fields: dict[str, Any] = {}
    for keyword in call.keywords:
        if keyword.arg is None:
            raise nameless
        if keyword.arg in fields:
            raise SpecError(f"{keyword.arg!r} is given twice in {_shorten(whole)}")
        fields[keyword.arg] = _value(keyword.value, whole)
    return ParsedSpec(name, fields, tuple(_value(node, whole) for node in call.args))


def _value(node: ast.expr, whole: str) -> Any:
    if isinstance(node, ast.Name):
        return ParsedSpec(node.id, {})
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return _parse(node.func.id, node, whole)
    if isinstance(node, ast.Tuple | ast.List):
        return tuple(_value(part, whole) for part in node.elts)
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError) as error:
        raise SpecError(
            f"{_shorten(ast.unparse(node))} in {_shorten(whole)} is neither a literal nor a spec"
        ) from error
    return value


def _shorten(text: str) -> str:
    """Return the text in quotes, for messages."""
    if len(text) > SHOWN:
        text = text[: SHOWN - 1] + "…"
    return repr(text)
