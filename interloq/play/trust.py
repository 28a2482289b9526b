# SPDX-License-Identifier: Apache-2.0
"""Bots that come from a file: a file describes, it does not execute.

A partner set or a file of specs may come from anyone. By default its bots may only talk: one that starts a program,
imports a module or contacts a server is used only if the user trusts the file, and what it does is printed. Even then
it gets only the keys that the user has named in INTERLOQ_KEY_VARIABLES (names of environment variables, separated by
commas or spaces). A bot that the user writes on the command line needs neither.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from interloq.errors import InputError
from interloq.play.bot import Bot

ALLOWED_KEYS = "INTERLOQ_KEY_VARIABLES"
Trust = Callable[[str], None] | None  # called with what each bot will do; None: the file is not trusted


def check_trust(bots: Mapping[str, Bot], where: str, trust: Trust) -> None:
    """Refuse bots from a file that do more than talk, unless it is trusted; called before any of them is used."""
    found = {name: effect for name, bot in bots.items() if (effect := side_effect(bot))}
    if found and trust is None:
        raise InputError(
            f"bots in this file do more than talk: {'; '.join(f'{name!r} {what}' for name, what in found.items())}",
            hint="if you trust its author, add --trust",
            where=where,
        )
    for name, what in found.items():
        if trust is not None:
            trust(f"trusted: {where}: {name!r} {what}")
        _check_key(name, bots[name], where)


def side_effect(bot: Bot) -> str:
    """Text that names what the bot starts, imports or contacts; '' if it only talks.

    It is the bot's `side_effect`. A bot from another package without one may do anything.
    """
    effect = getattr(bot, "side_effect", None)
    if effect is not None:
        return str(effect)
    cls = type(bot)
    return "" if cls.__module__.startswith("interloq.") else f"runs {cls.__module__}:{cls.__qualname__}"


def sent_key(bot: Bot) -> str:
    """The environment variable whose value the bot sends to a server, or ''."""
    name = str(getattr(bot, "key_variable", ""))
    return name if os.environ.get(name, "") else ""


def _check_key(name: str, bot: Bot, where: str) -> None:
    variable = sent_key(bot)
    if variable and variable not in os.environ.get(ALLOWED_KEYS, "").replace(",", " ").split():
        raise InputError(
            f"{name!r} would send the key in {variable} to a server named in the file: it {side_effect(bot)}",
            hint=f"write this bot on the command line, or allow the key: {ALLOWED_KEYS}={variable}",
            where=where,
        )
