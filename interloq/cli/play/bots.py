# SPDX-License-Identifier: Apache-2.0
"""Bots named on the command line: NAME=SPEC, or a TOML or JSON file that maps names to specs."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from interloq.data.files.opening import read_small
from interloq.errors import InputError, short_repr
from interloq.play.bot import Bot
from interloq.play.schedule import check_name
from interloq.registry import create, spec
from interloq.trust import Trust, check_trust

_NAMED = re.compile(r"([^=(]+)=(.*)", re.DOTALL)


def named_bots(options: Sequence[str], file: str | None, what: str, *, trust: Trust = None) -> dict[str, Bot]:
    """Name → bot. Duplicate names are refused, equal specs share one bot, and bots from a file must be trusted."""
    bots: dict[str, Bot] = {}
    same: dict[str, Bot] = {}
    for name, text in [*map(_split, options), *(_file(file) if file else ())]:
        check_name(name)
        if name in bots:
            raise InputError(f"two {what}s are called {name!r}", hint="give each a different name")
        bot = create(text, kind="bot")
        bots[name] = same.setdefault(spec(bot), bot)
    if file:
        check_trust(dict(list(bots.items())[len(options) :]), file, trust)
    return bots


def _split(option: str) -> tuple[str, str]:
    """`mine=eliza` → mine, eliza; a spec without a name gets its component's name."""
    if match := _NAMED.fullmatch(option):
        return match[1].strip(), match[2].strip()
    return option.partition("(")[0].strip(), option


def _file(path: str) -> list[tuple[str, str]]:
    try:
        text = read_small(path).decode("utf-8")
        pairs: Any = (
            json.loads(text, object_pairs_hook=list)
            if Path(path).suffix == ".json"
            else list(tomllib.loads(text).items())
        )
    except (ValueError, RecursionError) as error:  # both formats' errors are ValueErrors
        raise InputError(
            f"cannot be read: {error}", hint='write lines such as name = "spec" (TOML), or JSON', where=path
        ) from error
    return list(_checked(pairs, path))


def _checked(pairs: Any, path: str) -> Iterable[tuple[str, str]]:
    if not isinstance(pairs, list):
        raise InputError(
            f"contains a {type(pairs).__name__}, not names and specs", hint="map names to specs", where=path
        )
    for pair in pairs:
        if not isinstance(pair, tuple) or not isinstance(pair[1], str):
            raise InputError(
                f"{short_repr(pair)} is not a name with a spec as text", hint="map names to specs", where=path
            )
        yield pair
