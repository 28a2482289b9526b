# SPDX-License-Identifier: Apache-2.0
"""Files that an administrator uploads to make a task: checked and previewed before anything is stored.

An administrator in a browser need not be the person who runs the server. Unless that person allowed more with
`--trust-administrators`, administrators can choose only bots whose specs name no file, program, module or server.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from starlette.datastructures import FormData, UploadFile

from interloq.data.files.opening import pieces
from interloq.data.records.jsonl import Rejected
from interloq.data.records.read_options import ReadOptions
from interloq.data.records.tables import SEPARATOR
from interloq.errors import InputError, MissingDependencyError, SpecError
from interloq.spec_text import read_spec
from interloq.trust import Trust
from interloq.web.access.security import LARGEST_UPLOAD
from interloq.web.chat.chat_task import WHOLE, chat_options, questions_after
from interloq.web.messages import message
from interloq.web.serve_options import TaskFileOptions
from interloq.web.studies.questions import StudyTask
from interloq.web.studies.task_file import PreparedTask, TaskSettings, prepare_chat, prepare_file, read_settings

PREVIEWED = 3  # items
SHOWN_REJECTS = 5
MOST_TEXTS = 500_000  # in an uploaded file; they take up to 300 MB of memory
_BLOCK = 2**20  # bytes
_STARTS = (b"\n", b"[", b"{", SEPARATOR.encode())  # of what is kept in memory, besides quoted texts
_SAFE = re.compile(r"[^\w.-]+")


@dataclass(frozen=True)
class Upload:
    """Uploaded files in their own folder, and the fields of the form."""

    records: Path | None  # none for a chat
    settings: Path | None
    scores: Path | None
    fields: Mapping[str, str]

    @classmethod
    async def receive(cls, form: FormData, folder: Path) -> Upload:
        """Write the files of a form to a folder; their names are kept without paths."""
        files = {name: await _save_file(form.get(name), folder / name) for name in ("records", "settings", "scores")}
        fields = {name: value for name, value in form.items() if isinstance(value, str)}
        return cls(files["records"], files["settings"], files["scores"], fields)


async def _save_file(given: object, folder: Path) -> Path | None:
    if not isinstance(given, UploadFile) or not given.filename:
        return None
    folder.mkdir()
    path = folder / (_SAFE.sub("_", Path(given.filename).name).lstrip(".")[-100:] or "file")
    with path.open("wb") as file:
        while block := await given.read(_BLOCK):
            file.write(block)
    return path


class RejectedLines:
    """Counts bad lines and keeps the first ones."""

    def __init__(self) -> None:
        self.count, self.first = 0, list[Rejected]()

    def __call__(self, rejected: Rejected) -> None:
        self.count += 1
        if len(self.first) < SHOWN_REJECTS:
            self.first.append(rejected)


def check_content(path: Path) -> None:
    """Refuse a file that would fill the server's memory, although it may be small when compressed.

    Memory use depends on the number of texts rather than on bytes: a turn of one letter takes half a kilobyte.
    """
    quotes = texts = 0
    try:
        for piece in pieces(path, limit=LARGEST_UPLOAD):
            quotes += piece.count(b'"')
            texts += sum(piece.count(mark) for mark in _STARTS)
            if quotes // 2 + texts > MOST_TEXTS:
                raise InputError(f"{path.name} has more than {MOST_TEXTS:,} texts, lines and lists")
    except InputError as error:  # the page shows no hints
        raise InputError(f"{error.what}; use interloq serve add STUDY FILE on the server") from error


def prepare(given: Upload, trust: Trust = None) -> tuple[PreparedTask, dict[str, Any]]:
    """Return the task and a preview: counts, questions, the first pages as annotators see them, and bad lines.

    `trust` is called with what the bots of a chat do besides talking; if it is None, such bots are refused.
    """
    rejected = RejectedLines()
    options: dict[str, Any] = {
        name: given.fields.get(name) or None for name in ("kind", "name", "title", "instructions")
    }
    per_item = given.fields.get("per_item", "")
    if per_item and not (per_item.isascii() and per_item.isdigit()):
        raise InputError(f"annotators per item must be a whole number, got {per_item[:20]!r}")
    settings = read_settings(given.settings, **options, per_item=int(per_item) if per_item else None)
    if settings.task.kind == "references":
        raise InputError("its model is on the server", hint="use interloq serve add STUDY FILE --task references")
    if settings.task.kind == "chat":
        return _prepare_chat(given, settings, trust)
    if given.records is None:
        raise InputError("no file was given", hint="choose a file of samples or dialogues")
    for path in (given.records, given.scores):
        if path is not None:
            check_content(path)
    pages = TaskFileOptions(alone=given.fields.get("together", "yes") != "yes", scores=given.scores)
    prepared = prepare_file(given.records, settings, pages, reading=ReadOptions(on_reject=rejected))
    return prepared, _preview(prepared, rejected)


def _prepare_chat(given: Upload, settings: TaskSettings, trust: Trust) -> tuple[PreparedTask, dict[str, Any]]:
    task = with_chat_fields(settings.task, given.fields)
    try:
        if trust is None:
            check_local(chat_options(task).bots)
        prepared = prepare_chat(replace(settings, task=task), trust=trust, where="the form")
    except (MissingDependencyError, SpecError) as error:  # of a bot: the page shows why
        raise InputError(str(error)) from error
    asked = []
    for unit, question in questions_after(task, [WHOLE + 1]):
        about = "about_whole" if unit == WHOLE else "about_each_reply"
        asked.append(message(about, question=question.text or question.aspect))
    bots = [f"{name} = {spec}" for name, spec in chat_options(task).bots.items()]
    return prepared, {**_preview(prepared, RejectedLines(), bots), "questions": asked, "pages": []}


def _preview(prepared: PreparedTask, rejected: RejectedLines, bots: Sequence[str] = ()) -> dict[str, Any]:
    """Return the preview, whose messages are not rendered yet; `bots` are the bots of a chat."""
    task, counts = prepared.settings.task, prepared.counts()
    facts = {"name": task.name, "kind": message(f"kind_{task.kind}"), "items": counts["items"]}
    if bots:
        pages = message("preview_bots", **facts, per_item=task.per_item, bots=list(bots))
    else:
        pages = message("preview_records", **facts, per_item=task.per_item, records=counts["records"])
    needs = counts["needs"]
    needed = message("preview_needs" if needs["answers"] is None else "preview_needs_answers", **needs)
    return {
        "summary": [pages, needed],
        "questions": [question.text or question.aspect for question in task.questions],
        "per_item": task.per_item,
        **counts,
        "pages": [dict(item.shown) for item in prepared.items[:PREVIEWED]],
        "rejected": rejected.count,
        "reasons": [f"{Path(line.where).name}: {line.what}" for line in rejected.first],
    }


def with_chat_fields(task: StudyTask, fields: Mapping[str, str]) -> StudyTask:
    """Return the task with the values of the form; settings from a file are kept where fields are empty."""
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
