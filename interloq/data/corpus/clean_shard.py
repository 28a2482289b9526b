# SPDX-License-Identifier: Apache-2.0
"""Cleaning one shard: from raw lines to a table of kept posts, with counts and examples of dropped posts.

The table and the bad lines are written first and the counts last, each atomically: if the counts exist, the shard is
done.
"""

from __future__ import annotations

import base64
import gc
import heapq
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from interloq.data.corpus import scan
from interloq.data.corpus.clean import (
    NO_TIME,
    Cleaning,
    Columns,
    RawPost,
    find_answered_id,
    reason_of_post,
    without_digits,
)
from interloq.data.corpus.formats import read_batches
from interloq.data.corpus.language_filter import are_in_language
from interloq.data.corpus.shards import Shard
from interloq.data.files.durable import atomic_path, write_atomically
from interloq.data.files.opening import read_json
from interloq.errors import InputError

SHOWN = 200  # characters of an example's text
KEPT_OF_LINE = 2**16  # bytes of a bad line
COLUMNS = ("id", "who", "text", "time", "reply_to", "normal", "bare")


@dataclass
class Cleaned:
    """The kept posts of a shard as columns, and counts of the others."""

    columns: dict[str, list[Any]] = field(default_factory=lambda: {name: [] for name in COLUMNS})
    read: Counter[str] = field(default_factory=Counter)  # posts per file
    dropped: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[tuple[str, str, str]]] = field(default_factory=dict)
    rejected: list[bytes] = field(default_factory=list)
    most_examples: int = 5  # examples by reason


def read_counts(folder: Path, number: int) -> dict[str, Any] | None:
    """Return the counts of a shard; None if it is not finished."""
    path = folder / f"{number:06}.json"
    if not path.exists():
        return None
    return read_json(path)


def clean_shard(shard: Shard, cleaning: Cleaning, folder: Path, examples: int, strict: bool) -> int:
    """Clean a shard and write it; return the bytes of input read up to its end."""
    cleaned = Cleaned(most_examples=examples)
    was_collecting = gc.isenabled()
    gc.disable()  # a shard creates hundreds of thousands of objects and no cycles
    try:
        for piece in shard.pieces:

            def reject(number: int, line: bytes, error: InputError, name: str = piece.name) -> None:
                if strict:
                    raise InputError(error.what, hint=error.hint, where=f"{name}:{number}")
                cleaned.rejected.append(_format_bad_line(f"{name}:{number}", line, error))

            for posts in read_batches(piece, reject):
                cleaned.read[piece.name] += len(posts.id)
                _add(posts, cleaning, cleaned)
        _write(shard, cleaned, folder)
    finally:
        if was_collecting:
            gc.enable()
    return shard.read


def _add(posts: Columns, cleaning: Cleaning, cleaned: Cleaned) -> None:
    """Clean a batch; the first reason to drop a post is counted."""
    are_ordinary = all(posts.user) and not any(posts.shape) and not (cleaning.need_time and NO_TIME in posts.time)
    if not are_ordinary:
        reasons = [reason_of_post(RawPost._make(row), cleaning) for row in zip(*posts, strict=True)]
        posts = _without(posts, reasons, posts.text, cleaned)
    before = posts.text
    texts, reasons = scan.clean_texts(before, cleaning)
    posts = _without(posts._replace(text=texts), reasons, before, cleaned)
    if cleaning.lang:
        in_language = are_in_language(posts.text, posts.lang, cleaning.lang, cleaning.detectors)
        posts = _without(posts, ["" if yes else "language" for yes in in_language], posts.text, cleaned)
    _keep(posts, cleaning, cleaned)


def _without(posts: Columns, reasons: Sequence[str], texts: Sequence[str], cleaned: Cleaned) -> Columns:
    """Return the posts without a reason to be dropped; the others are counted, and some kept as examples."""
    if not any(reasons):
        return posts
    for reason, count in Counter(reasons).items():
        if reason:
            cleaned.dropped[reason] += count
            examples = cleaned.examples.get(reason, [])
            for row, why in enumerate(reasons):
                if why == reason:
                    examples.append((posts.id[row], posts.user[row], texts[row]))
            cleaned.examples[reason] = heapq.nsmallest(cleaned.most_examples, examples)
    return posts.where([not reason for reason in reasons])


def _keep(posts: Columns, cleaning: Cleaning, cleaned: Cleaned) -> None:
    """Add clean posts to the columns; a text without letters and digits is compared as it is."""
    normal = []
    for text, compared in zip(posts.text, scan.letters_and_digits(posts.text), strict=True):
        normal.append(compared or text)
    columns = cleaned.columns
    columns["id"] += posts.id
    columns["who"] += posts.user
    columns["text"] += posts.text
    columns["time"] += posts.time
    if cleaning.quotes == "reply":
        posts = posts._replace(
            reply_to=[find_answered_id(RawPost._make(row), cleaning) for row in zip(*posts, strict=True)]
        )
    columns["reply_to"] += posts.reply_to
    columns["normal"] += normal
    # None: the same as the normal text
    columns["bare"] += [None if text.isalpha() else without_digits(text) for text in normal]


def _format_bad_line(where: str, line: bytes, error: InputError) -> bytes:
    """Return a line for the file of bad lines, in the format of `jsonl.py`; a very long line is truncated."""
    record: dict[str, Any] = {"where": where, "what": error.what, "hint": error.hint}
    is_cut = len(line) > KEPT_OF_LINE
    try:
        record["line"] = line[:KEPT_OF_LINE].decode("utf-8", "ignore" if is_cut else "strict")
    except UnicodeDecodeError:
        record["base64"] = base64.b64encode(line[:KEPT_OF_LINE]).decode()
    if is_cut:
        record["cut_to"] = KEPT_OF_LINE
    return orjson.dumps(record) + b"\n"


def _write(shard: Shard, cleaned: Cleaned, folder: Path) -> None:
    _write_table(shard.number, cleaned.columns, folder / f"{shard.number:06}.parquet")
    if cleaned.rejected:
        write_atomically(folder / f"{shard.number:06}.rejected", b"".join(cleaned.rejected))
    counts: dict[str, Any] = {
        "digest": shard.digest,
        "read": dict(sorted(cleaned.read.items())),
        "kept": len(cleaned.columns["id"]),
        "rejected": len(cleaned.rejected),
        "dropped": dict(sorted(cleaned.dropped.items())),
        "examples": {},
    }
    for reason, examples in sorted(cleaned.examples.items()):
        counts["examples"][reason] = [{"id": id, "user": user, "text": cut(text)} for id, user, text in examples]
    write_atomically(folder / f"{shard.number:06}.json", orjson.dumps(counts))


def cut(text: str) -> str:
    """Return the text, cut to a limited length."""
    if len(text) <= SHOWN:
        return text
    return text[: SHOWN - 1] + "…"


def _write_table(number: int, columns: dict[str, list[Any]], path: Path) -> None:
    """Write the table; texts that are only compared are stored as 64-bit hashes."""
    import duckdb

    count = len(columns["id"])
    arrays: dict[str, Any] = {name: np.array(values, dtype=object) for name, values in columns.items()}
    arrays["time"] = np.array(columns["time"], dtype=np.int64)
    arrays["place"] = np.arange(number << 32, (number << 32) + count)  # the number of a post
    connection = _connection()
    connection.register("arrays", arrays)
    with atomic_path(path, duckdb.IOException) as part:
        connection.sql(_TABLE).write_parquet(str(part), compression="snappy")
    connection.unregister("arrays")


_TABLE = """
SELECT place, id::VARCHAR AS id, who::VARCHAR AS who, text::VARCHAR AS text,
    nullif(time, (-9223372036854775808)::BIGINT) AS time, reply_to::VARCHAR AS reply_to,
    hash(normal::VARCHAR) AS text_key, hash(coalesce(bare, normal)::VARCHAR) AS bare_key
FROM arrays
"""


@cache
def _connection() -> Any:
    """Return one connection per process, because opening one takes longer than writing a thousand posts."""
    import duckdb

    return duckdb.connect(config={"threads": 1})
