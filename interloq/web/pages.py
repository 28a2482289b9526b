# SPDX-License-Identifier: Apache-2.0
"""Pages from templates. Everything that comes from data is escaped; texts of the interface are in `texts/`."""

from __future__ import annotations

import hashlib
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from jinja2 import Environment, PackageLoader, StrictUndefined

from interloq.web.access.people import Visitor
from interloq.web.chat.chat_task import questions_after
from interloq.web.chat.conversations import Chat
from interloq.web.messages import ADMIN, FOLDER, LANGUAGES, choose_language, say, texts, texts_json
from interloq.web.references.reference_steps import Work
from interloq.web.studies.questions import Question, StudyTask
from interloq.web.work.assign import Assigned

PARTS = ("templates", "static", "texts")


def _version() -> str:
    """Return a hash of everything that makes the pages; it is stored with each answer."""
    files: list[Path] = []
    for part in PARTS:
        files += filter(Path.is_file, (FOLDER / part).rglob("*"))
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


PAGE_VERSION = _version()


class Pages:
    """Renders the pages; `root` is the path under which they are served."""

    def __init__(self, root: str = "") -> None:
        self.templates = Environment(
            loader=PackageLoader("interloq.web"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,  # would look at the time of every file of every page
        )
        self.templates.globals["root"] = root
        self.templates.filters["number"] = "{:.12g}".format

    def item(
        self, task: StudyTask, visitor: Visitor, assigned: Assigned, draft: tuple[int, Any], done: int, total: int
    ) -> str:
        """Render an item with its questions, and the draft that was kept."""
        units = [assigned.shown["units"][i] for i in assigned.order]
        facts = {"assignment": assigned.id, "revision": draft[0], "draft": draft[1]}
        template = "compare.html" if task.kind == "compare" else "rate.html"
        return self._page(
            template, task, visitor=visitor, context=assigned.shown["context"], units=units, facts=facts,
            done=done, total=total,
        )  # fmt: skip

    def references(
        self, task: StudyTask, visitor: Visitor, assigned: Assigned, work: Work, draft: tuple[int, Any], done: int,
        total: int,
    ) -> str:  # fmt: skip
        """Render a query with its references and candidates; the page requests the predictions."""
        facts = {"assignment": assigned.id, "revision": draft[0], "draft": draft[1], **work.show()}
        return self._page(
            "references.html", task, visitor=visitor, context=assigned.shown["context"], facts=facts,
            done=done, total=total,
        )  # fmt: skip

    def chat(self, task: StudyTask, visitor: Visitor, talk: Chat, done: int, total: int) -> str:
        """Render a conversation with a bot."""
        facts = {"assignment": talk.assignment, **talk.show()}
        return self._page("chat.html", task, visitor=visitor, talk=talk, facts=facts, done=done, total=total)

    def chat_questions(
        self, task: StudyTask, visitor: Visitor, talk: Chat, draft: tuple[int, Any], done: int, total: int
    ) -> str:
        """Render the questions after a conversation."""
        asked: dict[int, list[Question]] = {}
        for unit, question in questions_after(task, talk.reply_places):
            asked.setdefault(unit, []).append(question)
        facts = {"assignment": talk.assignment, "revision": draft[0], "draft": draft[1]}
        return self._page(
            "chat_questions.html", task, visitor=visitor, talk=talk, asked=asked, facts=facts, done=done, total=total,
            context=None,
        )  # fmt: skip

    def consent(self, task: StudyTask, visitor: Visitor) -> str:
        """Render the question for consent, before the first item."""
        return self._page("consent.html", task, visitor=visitor)

    def done(self, task: StudyTask, visitor: Visitor, done: int) -> str:
        """Render a thank-you page with the completion code or link."""
        return self._page("done.html", task, visitor=visitor, done=done, link=is_link(task.completion))

    def message(self, task: StudyTask, reason: str) -> str:
        """Render a page with one message and nothing to do."""
        return self._page("message.html", task, reason=reason, detail="")

    def failure(self, reason: str, detail: str, languages: str) -> str:
        """Render a page with an error, in a language that the browser asks for."""
        return self._page("message.html", None, choose_language(languages), reason=reason, detail=detail)

    def admin(self, template: str, visitor: Visitor, language: str, **values: Any) -> str:
        """Render a page for administrators."""
        values |= {"_": partial(say, language), "texts": texts_json(language, ADMIN)}
        return self._page(template, None, language, visitor=visitor, **values)

    def _page(self, template: str, task: StudyTask | None, language: str = "", **values: Any) -> str:
        language = language or (task.language if task else LANGUAGES[0])
        values = {"visitor": None, "facts": None, **values}
        shared = {"task": task, "language": language, "t": texts(language), "texts": texts_json(language)}
        return self.templates.get_template(template).render({**shared, **values})


def is_link(text: str) -> bool:
    """Return whether a text is an address that a page may link to."""
    try:
        parts = urlsplit(text.strip())
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.netloc)
