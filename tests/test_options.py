"""Options as fields of dataclasses: their flags, limits and commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import pytest

from interloq import InputError
from interloq.options import REQUIRED, Options, command_words, direction_option, flags_of, option
from interloq.trust import Trust


@dataclass(frozen=True, slots=True, kw_only=True)
class Made(Options):
    """One field of each type."""

    samples: str | Path = option(REQUIRED, "the samples", path=True, metavar="FILE")
    n: int = option(10, "how many", flag="--number", short="-n", least=0)
    rate: float | None = option(None, "how fast", above=0, shown="slowly")
    kind: Literal["", "a", "b"] = option("", "which kind")
    files: Sequence[str] = option((), "more files", path=True)
    slice_by: Sequence[str] | None = option(None, "a field", instead={"--no-slices": ((), "none")})
    compare: bool = option(True, "do not compare", flag="--no-compare")
    loud: bool = option(False, "say more")
    lower_is_better: bool | None = direction_option()
    names: Mapping[str, str] | None = option(None, "names", flag="--map")
    trust: Trust = option(None, "trust files")
    python_only: int = 3


MADE = Made(samples="dir/s.jsonl")


def test_types_decide_how_a_flag_is_read() -> None:
    flags = {flag.name: flag for flag in flags_of(Made)}
    assert "python_only" not in flags
    assert (flags["samples"].required, flags["n"].required) == (True, False)
    assert flags["kind"].choices == ("a", "b")
    assert {name for name, flag in flags.items() if flag.is_repeatable} == {"files", "slice_by"}
    assert {name for name, flag in flags.items() if flag.is_switch} == {"compare", "loud", "lower_is_better"}
    assert (flags["compare"].switch_value, flags["loud"].switch_value) == (False, True)


def test_help_says_what_the_default_is() -> None:
    texts = {flag.name: flag.help_text() for flag in flags_of(Made)}
    assert texts["n"] == "how many (default 10)"
    assert texts["rate"] == "how fast (default: slowly)"
    assert texts["files"] == "more files; repeatable"
    assert texts["loud"] == "say more"
    assert next(flag.help_text() for flag in flags_of(replace(MADE, n=2)) if flag.name == "n") == "how many (default 2)"


@pytest.mark.parametrize(
    ("values", "message"),
    [({"n": -1}, "n must not be negative, got -1"), ({"rate": 0.0}, "rate must be above 0"), ({"rate": -1.0}, "rate")],
)
def test_limits_are_checked(values: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        replace(MADE, **values)


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (MADE, []),
        (replace(MADE, n=0), ["--number", "0"]),
        (replace(MADE, files=["x", "y"]), ["--files", "file x", "--files", "file y"]),
        (replace(MADE, slice_by=()), ["--no-slices"]),
        (replace(MADE, slice_by=["a", "b"]), ["--slice-by", "a", "--slice-by", "b"]),
        (replace(MADE, compare=False, loud=True), ["--no-compare", "--loud"]),
        (replace(MADE, lower_is_better=True), ["--lower-is-better"]),
        (replace(MADE, lower_is_better=False), ["--higher-is-better"]),
        (replace(MADE, names={"a": "b", "c": "d"}, kind="b"), ["--kind", "b", "--map", "a=b,c=d"]),
        (replace(MADE, trust=print), ["--trust"]),
    ],
)
def test_a_command_sets_what_differs(made: Made, words: list[str]) -> None:
    assert command_words(made, lambda path: f"file {path}", with_defaults=False)[2:] == words


def test_a_command_names_defaults_too() -> None:
    assert command_words(MADE) == ["--samples", "dir/s.jsonl", "--number", "10"]
