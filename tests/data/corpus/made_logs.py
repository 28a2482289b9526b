"""Logs read from lines."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from interloq.data.corpus.clean import RawPost
from interloq.data.corpus.formats import read_piece
from interloq.data.corpus.shards import Logs

Rejects = list[tuple[int, str]]


def read(*paths: Path, format: str = "auto", fields: Mapping[str, str] | None = None) -> tuple[list[RawPost], Rejects]:
    """All posts, and the numbers of bad lines with what is wrong."""
    rejects: Rejects = []
    posts = [
        post
        for shard in Logs(list(paths), format, fields or {}).shards()
        for piece in shard.pieces
        for post in read_piece(piece, lambda number, _, error: rejects.append((number, error.what)))
    ]
    return posts, rejects


def lines(path: Path, *values: Any) -> Path:
    path.write_bytes(b"".join(v if isinstance(v, bytes) else json.dumps(v).encode() + b"\n" for v in values))
    return path


OWN = {"id": "2", "user": "ann", "text": "hi", "time": "2018-10-10T12:00:00Z", "reply_to": "1", "lang": "en"}
V1: dict[str, Any] = {
    "id": 2,
    "id_str": "2",
    "created_at": "Wed Oct 10 12:00:00 +0000 2018",
    "text": "cut…",
    "user": {"id_str": "77", "screen_name": "ann"},
    "in_reply_to_status_id_str": "1",
    "lang": "en",
}
V2: dict[str, Any] = {
    "id": "2",
    "author_id": "77",
    "text": "hi",
    "created_at": "2018-10-10T12:00:00.000Z",
    "lang": "en",
    "referenced_tweets": [{"type": "replied_to", "id": "1"}],
}
IRC = """\
[23:58] <ann> how do I print?
=== bob has joined #help
[23:59] <bob> ann: with lpr
[00:01] <ann> bob, thanks a lot
* ann waves
what is this
[00:02] <cat> everyone: hello
"""
