# SPDX-License-Identifier: Apache-2.0
"""Options, stated once: the fields of a frozen dataclass are the keywords of a Python function and a verb's flags.

@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions(Options):
    worst: int = option(10, "largest disagreements to show per metric", least=0)

The command line (`interloq.cli.shared.arguments`), the command that a result stores (`command_words`) and the tables of
options in the documentation (`tests/test_option_tables.py`) are generated from the fields. A field without `option` can
be set in Python only.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any, Literal

from interloq.errors import InputError

REQUIRED: Any = MISSING  # the default of an option that must be given


@dataclass(frozen=True, slots=True)
class Flag:
    """The command-line side of a field; see `option` for the meaning of each value."""

    name: str  # of the field
    help: str
    default: Any
    kind: Any  # type of a single value
    is_optional: bool  # None is a value of its own
    is_repeatable: bool
    switch_value: bool  # what the flag of a `bool` sets
    flag: str
    short: str = ""
    metavar: str = ""
    path: bool = False
    writes: bool = False
    required: bool = False
    shown: str | None = None
    parse: Callable[[str], Any] | None = None
    choices: tuple[Any, ...] = ()
    instead: Mapping[str, tuple[Any, str]] = field(default_factory=dict)

    @property
    def is_switch(self) -> bool:
        """Whether the flag takes no value."""
        return self.kind is bool

    def help_text(self, default: str | None = None) -> str:
        """Return the help with the option's default; `default` replaces the value itself."""
        text = self.help
        if self.is_repeatable and "repeatable" not in text:
            text += "; repeatable"
        if self.shown is not None:
            default = f": {self.shown}" if self.shown else ""
        elif default is None:
            default = format_default(self.default)
        return f"{text} (default{default})" if default else text


def option(default: Any, help: str, **flag: Any) -> Any:
    """Return a dataclass field that is also a command-line option; it must be given if the default is `REQUIRED`.

    The type of the field decides how its flag is read: `bool` is a switch (one that turns it off if the default is
    True), `Literal` offers choices, a sequence is repeatable, and `None` in a union means that it was not given.
    `flag` may have:
    - `flag` (default: `--` and the name of the field), `short` (`-m`) and `metavar`;
    - `path=True`, a file or folder to read, or `writes=True`, a file to write, or a folder if
      its metavar is DIR;
    - `required=True`, required on the command line only;
    - `choices`, if the type does not list them, and `parse`, a function that reads the text;
    - `least`, `least` with `most`, or `above`: limits that `check_limits` checks;
    - `shown`, the default as the help prints it (by default its value; empty: nothing);
    - `instead`, further flags that set a fixed value: `{"--no-slices": ((), "compare only whole sets")}`.
    """
    return field(default=default, metadata={"help": help, **flag})


def limited(default: Any, **limit: float) -> Any:
    """Return a dataclass field that can be set in Python only, with limits for `check_limits`; see `option`."""
    return field(default=default, metadata=limit)


def option_fields(options: Any) -> list[Field[Any]]:
    """Return the fields of a dataclass, or of an instance, that are command-line options."""
    return [item for item in fields(options) if "help" in item.metadata]


def flags_of(options: Any) -> Iterator[Flag]:
    """Yield the flags of a dataclass; for an instance, its values are the defaults."""
    is_class = isinstance(options, type)
    cls: Any = options if is_class else type(options)
    hints = _type_hints(cls)
    for item in option_fields(options):
        details = dict(item.metadata)
        for limit in ("least", "most", "above"):
            details.pop(limit, None)
        default = item.default if is_class else getattr(options, item.name)
        details.setdefault("required", default is REQUIRED)
        details.setdefault("flag", f"--{item.name.replace('_', '-')}")
        kind, is_optional, is_repeatable = _single_type(hints[item.name])
        if typing.get_origin(kind) is Literal:
            details.setdefault("choices", tuple(choice for choice in typing.get_args(kind) if choice != ""))
        default = None if default is REQUIRED else default
        yield Flag(
            name=item.name,
            default=default,
            kind=kind,
            is_optional=is_optional,
            is_repeatable=is_repeatable,
            switch_value=item.default is not True,
            **details,
        )


@cache
def _type_hints(options: Any) -> dict[str, Any]:
    return typing.get_type_hints(options)  # cached: annotations are slow to evaluate


def _single_type(hint: Any) -> tuple[Any, bool, bool]:
    """Return the type of one value of a field, whether it may be None, and whether it is a sequence of values."""
    members = [hint]
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        members = list(typing.get_args(hint))
    is_optional = type(None) in members
    kind = next(member for member in members if member is not type(None))
    is_repeatable = typing.get_origin(kind) in (tuple, Sequence, list)
    if is_repeatable:
        kind = _single_type(typing.get_args(kind)[0])[0]
    return kind, is_optional, is_repeatable


def format_default(value: Any) -> str:
    """Return a default as the help shows it, after a space; empty if there is none to show."""
    if value is None or isinstance(value, bool) or value in ((), "", {}):
        return ""
    if isinstance(value, float):
        return f" {value:g}"
    return f" {value}"


class Options:
    """Base class of options whose limits are checked when they are made."""

    __slots__ = ()

    def __post_init__(self) -> None:
        check_limits(self)


def check_limits(options: Any) -> None:
    """Refuse values of a dataclass outside the limits of its fields; call it in a `__post_init__` of your own."""
    for item in fields(options):
        value = getattr(options, item.name)
        least, most, above = map(item.metadata.get, ("least", "most", "above"))
        if value is None:
            continue
        if most is not None and not least <= value <= most:
            raise InputError(f"{item.name} must be from {least:g} to {most:g}, got {value}")
        if least is not None and not value >= least:
            bound = "must not be negative" if least == 0 else f"must be at least {least:g}"
            raise InputError(f"{item.name} {bound}, got {value}")
        if above is not None and not value > above:
            raise InputError(f"{item.name} must be above {above:g}, got {value}")


def command_words(options: Any, rename: Callable[[str | Path], str] = str, *, with_defaults: bool = True) -> list[str]:
    """Return the words of a command that sets these options; `rename` is called with paths.

    Options that have their default value are omitted unless defaults are requested.
    """
    words: list[str] = []
    for flag, item in zip(flags_of(options), option_fields(options), strict=True):
        if with_defaults or flag.default != item.default:
            words += _flag_words(flag, rename)
    return words


def _flag_words(flag: Flag, rename: Callable[[str | Path], str]) -> list[str]:
    """Return the words that give an option its value, the default of the flag; none if it has no value."""
    value = flag.default
    if value is None or value == "":
        return []
    for name, (constant, _) in flag.instead.items():
        if value == constant:
            return [name]
    if callable(value):  # what `--trust` prints with
        return [flag.flag]
    if flag.is_switch:
        return [flag.flag] if value is flag.switch_value else []
    if isinstance(value, Mapping):
        values: Sequence[Any] = [",".join(f"{name}={other}" for name, other in value.items())] if value else []
    else:
        values = value if flag.is_repeatable else [value]
    words = []
    for single_value in values:
        words += [flag.flag, rename(single_value) if flag.path else str(single_value)]
    return words


def direction_option() -> Any:
    """Return the field `lower_is_better: bool | None`, with the flags --lower-is-better and --higher-is-better."""
    text = "{} scores are better, for metrics that do not define it themselves"
    return option(None, text.format("lower"), instead={"--higher-is-better": (False, text.format("higher"))})


def permutations_option(tested: str) -> Any:
    """Return the field `n_permutations: int | None` with the flag --permutations."""
    text = f"permutations per test (default 1000, or 100 per {tested} if that is more)"
    return option(None, text, flag="--permutations", shown="")


def trust_option(
    help: str = "allow metrics FILE.py:NAME, which execute the file, and metrics in files (@FILE, baselines) that "
    "contact a server or run code; what they do is printed",
) -> Any:
    """Return the field `trust: Trust` (`interloq.trust`); on the command line, what a trusted file does is printed."""
    return option(None, help, flag="--trust")


def normalise_option() -> Any:
    """Return the field `normalise: Normalise`."""
    return option("", "put each rater's ratings on a common scale: z-scores, or ranks among the rater's own ratings")


def drop_own_replies_option() -> Any:
    """Return the field `drop_own_replies: bool`."""
    return option(False, "drop references that are identical to the reply being judged")


def without_system_option() -> Any:
    """Return the field `without: Sequence[str]` with the flag --without-system."""
    return option((), "exclude this system", flag="--without-system", metavar="NAME")


def device_option() -> Any:
    """Return the field `device: str`."""
    return option("auto", "where to compute", choices=("auto", "cpu", "cuda"))


def user_key_option(help: str = "key that user ids were hashed with") -> Any:
    """Return the field `user_key: str | None`."""
    return option(None, f"{help} (default: interloq/user.key in ~/.config)", metavar="FILE|env:NAME")
