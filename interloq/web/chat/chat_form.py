# SPDX-License-Identifier: Apache-2.0
"""A chat from the form of the administrators' page.

An administrator in a browser may be somebody else than the person who runs the server. Unless that person allowed more
with `--trust-administrators`, they choose only bots whose specs name nothing: no file, program, module or server.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from interloq.errors import InputError
from interloq.spec_text import read_spec
from interloq.web.studies.questions import StudyTask


def with_chat_fields(task: StudyTask, fields: Mapping[str, str]) -> StudyTask:
    """The task with what the form has; settings from a file are kept for fields that are empty."""
    options: dict[str, Any] = dict(task.options)
    if bots := _lines(fields.get("bots", "")):
        options["bots"] = dict(map(_bot, bots))
        if len(options["bots"]) < len(bots):
            raise InputError("two bots have the same name")
    if topics := _lines(fields.get("topics", "")):
        options["topics"] = topics
    if fields.get("guess") == "yes":
        options["guess"] = True
    turns = fields.get("turns", "")
    if turns and not (turns.isascii() and turns.isdigit()):
        raise InputError(f"messages of a person must be a whole number, got {turns[:20]!r}")
    return replace(task, options=options, turns=int(turns) if turns else task.turns)


def check_local(bots: Mapping[str, str]) -> None:
    """Refuse bots that name anything outside the program."""
    for name, spec in bots.items():
        if any(not isinstance(value, bool | int | float | None) for value in read_spec(spec).fields.values()):
            raise InputError(
                f"the bot {name!r} names a file, a program or a server: an owner can check the box that allows it, "
                "which also needs a server that was started with --trust-administrators"
            )


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _bot(line: str) -> tuple[str, str]:
    name, equals, spec = line.partition("=")
    if not (name.strip() and equals and spec.strip()):
        raise InputError(f"not a bot: {line[:80]!r}", hint="write lines such as: old = eliza")
    return name.strip(), spec.strip()
