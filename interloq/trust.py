# SPDX-License-Identifier: Apache-2.0
"""One rule for every file that holds a spec: a file describes; it does not act.

Chosen metrics (`@FILE`), baselines, score files, partner sets, files of bots and settings of a study may come from
anyone. A component that such a file names may compute and talk. If it would run code, start a program or contact a
server, it is used only if the user trusts the file, and what it does is printed first. Even then, it gets only the keys
that the user has named in INTERLOQ_KEY_VARIABLES (names of environment variables, separated by commas or spaces). A
spec that the user types on the command line or writes in Python needs neither.

A component says in `side_effect` what it reaches, and in `key_variable` which environment variable it sends. Without
`side_effect`, any server or hub model that a field names counts; a component of another package that does not say may
do anything.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from interloq.errors import InputError
from interloq.registry import complete, create, parts_of

ALLOWED_KEYS = "INTERLOQ_KEY_VARIABLES"
HUB = "hub:"
Trust = Callable[[str], None] | None  # called with what each component will do; None: the file is not trusted


def create_from_file(specs: Mapping[str, str], *, kind: str, where: str, trust: Trust) -> dict[str, Any]:
    """Create the named components of a file; see `check_trust`."""
    components = {name: create(spec, kind=kind) for name, spec in specs.items()}
    check_trust(components, where, trust)
    return components


def check_trust(components: Mapping[str, Any], where: str, trust: Trust) -> None:
    """Refuse components of an untrusted file that reach outside the program; called before any is used."""
    effects = {}
    for name, component in components.items():
        if effect := side_effect(component):
            effects[name] = effect
    check_effects(effects, where, trust)
    for name, effect in effects.items():
        for variable in dict.fromkeys(part.key_variable for part in _with_parts(components[name])):
            is_allowed = variable in os.environ.get(ALLOWED_KEYS, "").replace(",", " ").split()
            if os.environ.get(variable, "") and not is_allowed:
                raise InputError(
                    f"{name!r} would send the key in {variable} to a server named in the file: it {effect}",
                    hint=f"write this spec on the command line, or allow the key: {ALLOWED_KEYS}={variable}",
                    where=where,
                )


def check_effects(effects: Mapping[str, str], where: str, trust: Trust) -> None:
    """Print what components of a trusted file do; refuse an untrusted file if it has any that do."""
    if effects and trust is None:
        listed = "; ".join(f"{name!r} {what}" for name, what in effects.items())
        raise InputError(
            f"its specs reach outside the program: {listed}", hint="if you trust its author, add --trust", where=where
        )
    for name, what in effects.items():
        if trust is not None:
            trust(f"trusted: {where}: {name!r} {what}")


def side_effect(component: Any) -> str:
    """Return in words what a component and its parts run, start or contact; '' if they only compute."""
    effects = dict.fromkeys(map(_describe_effect, _with_parts(component)))
    return ", ".join(filter(None, effects))


def names_download(model: str) -> str:
    """Return in words that a model is downloaded; '' for a model that is on this machine."""
    return f"downloads {model}" if model.startswith(HUB) else ""


def _with_parts(component: Any) -> Iterator[Any]:
    yield component
    for part in parts_of(component):
        yield from _with_parts(part)


def _describe_effect(component: Any) -> str:
    cls = type(component)
    complete(cls)
    stated = component.side_effect
    if stated is None and not cls.__module__.startswith("interloq."):
        return f"runs {cls.__module__}:{cls.__qualname__}"
    effects = [str(stated)] if stated else []
    for name, value in _texts(component):
        if value.startswith(HUB):
            effects.append(names_download(value))
        elif stated is None and "://" in value and name in component.places:
            effects.append(f"contacts {value.rpartition('@')[2]}")
    return ", ".join(dict.fromkeys(effects))


def _texts(component: Any) -> Iterator[tuple[str, str]]:
    """Yield fields with text, including those in tuples."""
    if not dataclasses.is_dataclass(component):
        return
    for field in dataclasses.fields(component):
        value = getattr(component, field.name, None)
        values = value if isinstance(value, tuple) else (value,)
        for text in values:
            if isinstance(text, str):
                yield field.name, text
