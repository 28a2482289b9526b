# SPDX-License-Identifier: Apache-2.0
"""Sends the conversations of a chat to blind outsiders: a task of kind rate with the same questions."""

from __future__ import annotations

from sqlalchemy import Connection

from interloq.data.pseudonyms import HASHED, Pseudonyms
from interloq.errors import InputError
from interloq.web.chat.chat_export import chat_dialogues
from interloq.web.studies.guesses import OPTIONS, guesses, with_guesses
from interloq.web.studies.items import rate_items
from interloq.web.studies.questions import StudyTask
from interloq.web.studies.tasks import Stored, add_task

SUFFIX = "-outsiders"


def send_to_outsiders(connection: Connection, stored: Stored, name: Pseudonyms) -> int:
    """Number of a new task with all conversations that are over; its page shows the gap to the chatters' ratings."""
    settings = stored.settings
    if settings.kind != "chat":
        raise InputError(f"{settings.name!r} is not a chat but of kind {settings.kind!r}")
    dialogues = list(chat_dialogues(connection, stored, name))
    if not dialogues:
        raise InputError("no conversation is over yet", hint="wait until somebody finished one")
    options = {name: settings.options[name] for name in OPTIONS if name in settings.options}
    task = StudyTask(
        "rate", f"{settings.name[: 80 - len(SUFFIX)]}{SUFFIX}", settings.questions,
        language=settings.language, consent=settings.consent, options=options,
    )  # fmt: skip
    items = rate_items(dialogues, mark_bots=not guesses(task).human)
    source = {"name": settings.name, "kind": "dialogues", "users": HASHED}
    return add_task(connection, with_guesses(task), items, source)
