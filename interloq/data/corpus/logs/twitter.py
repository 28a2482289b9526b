# SPDX-License-Identifier: Apache-2.0
"""Posts of X (formerly Twitter): objects of API versions 1.1 and 2, and whole responses of version 2."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from interloq.data.corpus.clean import NO_TIME, PostShape, RawPost
from interloq.data.corpus.logs import Piece, Reject, as_text, objects
from interloq.data.corpus.times import microseconds
from interloq.data.files.opening import as_line
from interloq.errors import InputError, short_repr

NOTICES = ("delete", "limit", "scrub_geo", "status_withheld", "user_withheld", "disconnect", "warning")


def read(piece: Piece, reject: Reject) -> Iterator[RawPost]:
    """Yield the posts of an API response or a dump of X/Twitter."""
    for number, line, value in objects(piece, reject):
        for part in _parts(value):
            try:
                post = _post(part, answer=part is not value)
            except InputError as error:
                reject(number, line if part is value else as_line(part), error)
                continue
            yield post


def is_twitter(value: Mapping[str, Any]) -> bool:
    """Return whether an object looks like an object of the API."""
    if isinstance(value.get("data"), list | dict) and ("meta" in value or "includes" in value):
        return True
    newer = "author_id" in value and "text" in value
    return newer or ("created_at" in value and ("id_str" in value or "in_reply_to_status_id" in value))


def _parts(value: Mapping[str, Any]) -> list[Any]:
    """Return the posts of a response of version 2, which may have many; any other object is one post."""
    data = value.get("data")
    if isinstance(data, list):
        return data
    if isinstance(data, dict):
        return [data]
    return [value]


def _post(value: Any, *, answer: bool) -> RawPost:
    if answer or not isinstance(value, dict) or "author_id" in value or "referenced_tweets" in value:
        return _version_2(value)
    if any(name in value for name in NOTICES) and "text" not in value:
        return RawPost("", "", "", NO_TIME, shape="notice")
    return _version_1(value)


def _version_1(value: Mapping[str, Any]) -> RawPost:
    user = value.get("user")
    if not isinstance(user, dict):
        user = {}
    return RawPost(
        _require_id(value, "id_str", "id"),
        as_text(_first(user, "id_str", "id", "screen_name"), "user"),
        _full_text(value),
        microseconds(value.get("created_at")),
        as_text(_first(value, "in_reply_to_status_id_str", "in_reply_to_status_id"), "in_reply_to_status_id"),
        as_text(value.get("lang"), "lang"),
        _shape("retweeted_status" in value, bool(value.get("is_quote_status"))),
        as_text(_first(value, "quoted_status_id_str", "quoted_status_id"), "quoted_status_id"),
    )


def _version_2(value: Any) -> RawPost:
    if not isinstance(value, dict):
        raise InputError(f"expected a post, got {short_repr(value)}", hint="use the objects of the API")
    ids = dict(map(_reference, _list(value, "referenced_tweets")))
    return RawPost(
        _require_id(value, "id"),
        as_text(value.get("author_id"), "author_id"),
        _full_text(value),
        microseconds(value.get("created_at")),
        ids.get("replied_to", ""),
        as_text(value.get("lang"), "lang"),
        _shape("retweeted" in ids, "quoted" in ids),
        ids.get("quoted", ""),
    )


def _shape(is_retweet: bool, is_quote: bool) -> PostShape:
    if is_retweet:
        return "retweet"
    if is_quote:
        return "quote"
    return ""


def _reference(entry: Any) -> tuple[str, str]:
    """Return the type and id of a reference to another post."""
    if not isinstance(entry, dict):
        raise InputError(f"a referenced post must be an object, got {short_repr(entry)}", hint="fix its type")
    return as_text(entry.get("type"), "type"), as_text(entry.get("id"), "id")


def _list(value: Mapping[str, Any], name: str) -> list[Any]:
    entries = value.get(name)
    if entries is not None and not isinstance(entries, list):
        raise InputError(f"{name} must be a list, got {short_repr(entries)}", hint="fix its type")
    return entries or []


def _full_text(value: Mapping[str, Any]) -> str:
    """Return the full text; the old field is truncated at 140 characters."""
    longer = value.get("extended_tweet") or value.get("note_tweet")
    text = None
    if isinstance(longer, dict):
        text = _first(longer, "full_text", "text")
    if text is None:
        text = _first(value, "full_text", "text")
    return as_text(text, "text")


def _first(value: Mapping[str, Any], *names: str) -> Any:
    for name in names:
        if value.get(name) is not None:
            return value[name]
    return None


def _require_id(value: Mapping[str, Any], *names: str) -> str:
    id = as_text(_first(value, *names), "id")
    if not id:
        raise InputError("id is missing", hint="use the objects of the API, one per line")
    return id
