# SPDX-License-Identifier: Apache-2.0
"""Reddit dumps: comments and submissions as JSON lines. Texts are Markdown; deleted posts have no text and no user."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from interloq.data.corpus.clean import RawPost, unescape, without_markdown
from interloq.data.corpus.logs import Piece, Reject, as_text, objects
from interloq.data.corpus.times import microseconds
from interloq.errors import InputError

DELETED = ("[deleted]", "[removed]")


def read(piece: Piece, reject: Reject) -> Iterator[RawPost]:
    """Yield the posts of a Reddit dump: comments and submissions."""
    for number, line, value in objects(piece, reject):
        try:
            if "body" in value:
                text, reply_to = as_text(value["body"], "body"), as_text(value.get("parent_id"), "parent_id")
                post = _post(value, "t1_", text, reply_to)
            else:
                post = _submission(value)
        except InputError as error:
            reject(number, line, error)
            continue
        yield post


def is_reddit(value: Mapping[str, Any]) -> bool:
    """Return whether an object looks like a comment or submission."""
    comment = "body" in value and ("link_id" in value or "subreddit" in value)
    return comment or ("title" in value and ("selftext" in value or "subreddit" in value))


def _submission(value: Mapping[str, Any]) -> RawPost:
    if "title" not in value:
        raise InputError("the object has neither body nor title", hint="give comments or submissions of Reddit")
    parts = []
    for name in ("title", "selftext"):
        part = as_text(value.get(name), name)
        if part and part not in DELETED:
            parts.append(part)
    return _post(value, "t3_", "\n\n".join(parts), "")


def _post(value: Mapping[str, Any], prefix: str, text: str, reply_to: str) -> RawPost:
    id = as_text(value.get("name") or value.get("id"), "id")
    if not id:
        raise InputError("id is missing", hint="give comments or submissions of Reddit")
    user = as_text(value.get("author"), "author")
    if user in DELETED:
        user = ""
    if text in DELETED:
        text = ""
    text = without_markdown(unescape(text))
    return RawPost(prefix + id.removeprefix(prefix), user, text, microseconds(value.get("created_utc")), reply_to)
