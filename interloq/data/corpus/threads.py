# SPDX-License-Identifier: Apache-2.0
"""Joining posts into threads out of core: from clean posts on disk to the ordered posts of threads, in limited memory.

DuckDB joins and sorts the tables, on disk if they do not fit into memory. Every step reads files and writes one
atomically, so a build that was killed resumes after the last finished step. Nothing depends on the order of the posts
in the logs: the earliest of several copies is kept, and ties are resolved by ids and texts.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from interloq.data.corpus.clean_shard import cut
from interloq.data.corpus.split import Split, borders
from interloq.data.corpus.times import DAY, SECOND
from interloq.data.files.durable import atomic_path
from interloq.data.files.folders import find_matching
from interloq.errors import InputError, MissingDependencyError

DROPPED = {
    "duplicate_id": "another post has the same id",
    "bot": "its user is a bot",
    "same_day": "a copy of a post of the same day",
    "seen_earlier": "its text is in an earlier part",
}
BROKEN = {
    "missing": "answers a post that is missing or was dropped",
    "self": "answers itself",
    "backwards": "is older than the post it answers",
    "late": "came later than joining.max_gap allows",
    "cycle": "replies form a cycle",
}
MAX_THREAD = 200_000  # posts: a thread is processed in memory
CHUNK = 100_000  # posts of the threads that are processed at a time
STEPS = 16  # approximate number of tables: deep threads need a few more


@dataclass(frozen=True, slots=True)
class BotFilter:
    """Which users count as bots."""

    per_day: Annotated[int, "users with more posts on one day are bots; 0: off"] = 300
    posts: Annotated[int, "or with at least this many posts in total …"] = 20
    repeats: Annotated[float, "… of which this share repeat another, ignoring numbers; 0: off"] = 0.5
    names: Annotated[bool, "users with 'bot' as a part of their name are bots"] = False
    users: Annotated[tuple[str, ...], "also drop these users"] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "users", tuple(sorted(self.users)))  # their order does not matter


@dataclass(frozen=True, slots=True)
class Joining:
    """How posts are joined into threads."""

    duplicates: Annotated[Literal["user", "any", "off"], "drop same-day copies by one user, or by anybody"] = "user"
    utc_offset: Annotated[float, "hours from UTC at which days start, 9 for Japan"] = 0.0
    orphans: Annotated[bool, "a reply to a missing post may start a thread"] = False
    max_gap: Annotated[float, "hours after which a reply no longer counts; 0: no limit"] = 0.0


class Tables:
    """The steps, each a file in a folder, and their `counts`."""

    def __init__(self, posts: Path, folder: Path, *, memory: str, threads: int) -> None:
        import duckdb

        self.folder, self.made = folder, 0
        self.progress: Callable[[float], None] = lambda _: None
        folder.mkdir(parents=True, exist_ok=True)
        spill = folder / "spill"
        shutil.rmtree(spill, ignore_errors=True)
        config = {"threads": threads, "temp_directory": str(spill), "memory_limit": check_memory(memory)}
        self.connection: Any = duckdb.connect(config=config)
        self.connection.read_parquet([str(path) for path in find_matching(posts, "*.parquet")]).create_view("posts")

    def close(self) -> None:
        """Close the database."""
        self.connection.close()
        shutil.rmtree(self.folder / "spill", ignore_errors=True)

    def make(self, name: str, query: str) -> None:
        """Write the result of a query as a table, unless it exists, and register it by name."""
        path = self.folder / f"{name}.parquet"
        if not path.exists():
            with atomic_path(path) as part:
                self.connection.sql(query).write_parquet(str(part), compression="snappy", row_group_size=61_440)
        self.know(name)
        self.made += 1
        self.progress(min(0.95, self.made / STEPS))

    def know(self, name: str, as_name: str = "") -> None:
        """Register a Parquet file as a table."""
        table = self.connection.read_parquet(str(self.folder / f"{name}.parquet"))
        table.create_view(as_name or name, replace=True)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        rows: list[tuple[Any, ...]] = self.connection.execute(query).fetchall()
        return rows

    def number(self, query: str) -> int:
        """Return the single number of a query."""
        return int(self.rows(query)[0][0] or 0)

    def set(self, **values: Any) -> None:
        """Set values that queries read with getvariable()."""
        for name, value in values.items():
            self.connection.execute(f"SET VARIABLE {name} = ?", [value])


def duckdb_version() -> str:
    """Return the version of DuckDB, which must be installed."""
    try:
        import duckdb
    except ImportError:
        raise MissingDependencyError("interloq corpus build", "duckdb", "corpus") from None
    return str(duckdb.__version__)


def check_memory(size: str) -> str:
    """Check a size: DuckDB treats some that it does not understand as no limit."""
    if not re.fullmatch(r"[1-9]\d*(\.\d+)? ?[KMGT]i?B", size):
        raise InputError(f"cannot use {size!r} as a memory limit", hint="write --memory 4GB")
    return size


def keep_posts(tables: Tables, joining: Joining, bots: BotFilter) -> None:
    """Drop copies and bots; create the tables `again`, `bots`, `copies` and `kept`."""
    tables.set(
        day=DAY,
        day_offset=round(joining.utc_offset * 3600 * SECOND),
        per_day=bots.per_day or 2**62,
        posts=bots.posts,
        repeats=bots.repeats or 2.0,
        bot_name="(?i)(^|[^a-z])bot|bot($|[^a-z])|^automoderator$" if bots.names else "$^",
        users=list(bots.users) or [""],
        scope=joining.duplicates,
    )
    tables.make("again", _AGAIN)
    tables.make("bots", _BOTS)
    tables.make("copies", _COPIES)
    tables.make("kept", _KEPT)


_AGAIN = """
SELECT place FROM (
    SELECT place, row_number() OVER (PARTITION BY id ORDER BY time, who, text, reply_to) AS copy
    FROM posts WHERE id IN (SELECT id FROM posts GROUP BY id HAVING count(*) > 1)
) WHERE copy > 1
"""
_BOTS = """
WITH known AS (SELECT who, time, bare_key FROM posts ANTI JOIN again USING (place)),
dated AS (SELECT who, (time + getvariable('day_offset')) // getvariable('day') AS day FROM known),
days AS (SELECT who, day, count(*) AS posts FROM dated GROUP BY ALL),
busiest AS (SELECT who, max(posts) AS most FROM days WHERE day IS NOT NULL GROUP BY who),
texts AS (SELECT who, bare_key, count(*) AS posts FROM known GROUP BY ALL),
said AS (SELECT who, sum(posts) AS posts, count(*) AS texts FROM texts GROUP BY who)
SELECT who, CASE
    WHEN list_contains(getvariable('users'), who) THEN 'user'
    WHEN regexp_matches(who, getvariable('bot_name')) THEN 'name'
    WHEN most > getvariable('per_day') THEN 'rate'
    WHEN posts >= getvariable('posts') AND 1 - texts / posts >= getvariable('repeats') THEN 'repeats'
END AS why
FROM said LEFT JOIN busiest USING (who) WHERE why IS NOT NULL
"""
_COPIES = """
WITH people AS (
    SELECT place, id, time, text_key, (time + getvariable('day_offset')) // getvariable('day') AS day,
        CASE getvariable('scope') WHEN 'user' THEN who ELSE '' END AS writer
    FROM posts ANTI JOIN again USING (place) ANTI JOIN bots USING (who)
    WHERE getvariable('scope') <> 'off' AND time IS NOT NULL
), said_twice AS (SELECT day, writer, text_key FROM people GROUP BY ALL HAVING count(*) > 1)
SELECT place FROM (
    SELECT place, row_number() OVER (PARTITION BY day, writer, text_key ORDER BY time, id) AS copy
    FROM people SEMI JOIN said_twice USING (day, writer, text_key)
) WHERE copy > 1
"""
_KEPT = """
SELECT place, id, who, time, reply_to FROM posts
ANTI JOIN again USING (place) ANTI JOIN bots USING (who) ANTI JOIN copies USING (place)
"""


def link(tables: Tables, joining: Joining) -> None:
    """Join every reply to its post and find the first post of each thread; create the tables `links` and `roots`."""
    tables.set(max_gap=round(joining.max_gap * 3600 * SECOND) or 2**62)
    tables.make("links", _LINKS)
    tables.make("up_0", "SELECT child AS place, parent AS up FROM links WHERE broken = ''")
    rounds, left = 0, 2**62
    while True:
        # Pointers go to the parent, then to the parent's parent, then four up: a few rounds reach every first post.
        tables.know(f"up_{rounds}", "up")
        unfinished = tables.number("SELECT count(*) FROM up SEMI JOIN up AS above ON up.up = above.place")
        if not unfinished or unfinished >= left:  # the rest are cycles
            break
        tables.make(f"up_{rounds + 1}", _JUMP)
        rounds, left = rounds + 1, unfinished
    tables.make("roots", _ROOTS)


_LINKS = """
SELECT reply.place AS child, post.place AS parent, CASE
    WHEN reply.place = post.place THEN 'self'
    WHEN reply.time < post.time THEN 'backwards'
    WHEN reply.time - post.time > getvariable('max_gap') THEN 'late'
    ELSE '' END AS broken
FROM kept AS reply JOIN kept AS post ON reply.reply_to = post.id WHERE reply.reply_to <> ''
"""
_JUMP = "SELECT up.place, coalesce(above.up, up.up) AS up FROM up LEFT JOIN up AS above ON up.up = above.place"
_ROOTS = "SELECT place, up AS root FROM up ANTI JOIN up AS above ON up.up = above.place"


def join_threads(tables: Tables, joining: Joining, split: Split) -> tuple[int, ...]:
    """Assign threads to parts, sort their posts and return the borders; create the tables `threads` and `ordered`."""
    tables.set(orphans=joining.orphans, max_thread=MAX_THREAD)
    tables.make("members", _MEMBERS)
    tables.make("trees", _TREES)
    at = borders(split, lambda width, first, last: _histogram(tables, width, first, last))
    dev_from, test_from = at or (2**62, 2**62)
    tables.set(dev_from=dev_from, test_from=test_from, unseen=split.unseen)
    tables.make("threads", _THREADS)
    tables.make("seen", _SEEN)
    tables.make("ordered", _ORDERED)
    return at


def _histogram(tables: Tables, width: int, first: int | None, last: int | None) -> list[tuple[int, int]]:
    tables.set(width=width, first=-(2**62) if first is None else first, last=2**62 if last is None else last)
    return tables.rows(
        "SELECT start // getvariable('width') AS step, count(*) FROM trees"
        " WHERE why = '' AND start >= getvariable('first') AND start < getvariable('last') GROUP BY step"
    )


_MEMBERS = """
SELECT roots.place, root, parent FROM roots JOIN links ON roots.place = links.child
UNION ALL SELECT DISTINCT root AS place, root, NULL AS parent FROM roots
"""
_TREES = """
WITH sizes AS (
    SELECT root, min(time) AS start, max(time) AS finish, count(*) AS posts
    FROM members JOIN kept USING (place) GROUP BY root
)
SELECT root, id AS root_id, coalesce(start, 0) AS start, coalesce(finish, 0) AS finish, posts, CASE
    WHEN reply_to <> '' AND NOT getvariable('orphans') THEN 'orphan'
    WHEN posts > getvariable('max_thread') THEN 'too_large' ELSE '' END AS why
FROM sizes JOIN kept ON sizes.root = kept.place
"""
_THREADS = """
SELECT * REPLACE (CASE WHEN why = '' AND part <> part_of_end THEN 'crosses' ELSE why END AS why) FROM (
    SELECT *, (start >= getvariable('dev_from'))::TINYINT + (start >= getvariable('test_from'))::TINYINT AS part,
        (finish >= getvariable('dev_from'))::TINYINT + (finish >= getvariable('test_from'))::TINYINT AS part_of_end
    FROM trees
)
"""
_SEEN = """
WITH texts AS (
    SELECT place, text_key, part FROM members JOIN threads USING (root) JOIN posts USING (place)
    WHERE why = '' AND getvariable('unseen')
)
SELECT place FROM texts JOIN (SELECT text_key, min(part) AS earliest FROM texts GROUP BY text_key) USING (text_key)
WHERE part > earliest
"""
_ORDERED = """
SELECT row_number() OVER () AS line, * FROM (
    SELECT part, root, place, parent, posts.id, who, text, time
    FROM members JOIN threads USING (root) JOIN posts USING (place) ANTI JOIN seen USING (place)
    WHERE why = '' ORDER BY start, root_id, time, posts.id
)
"""


def chunks(tables: Tables) -> Iterator[tuple[int, int, int]]:
    """Yield part, first line and end of ranges of complete threads."""
    for part, first, last in tables.rows("SELECT part, min(line), max(line) FROM ordered GROUP BY part ORDER BY part"):
        while first <= last:
            end = last + 1
            if first + CHUNK < end:
                tables.set(line=first + CHUNK, reach=first + CHUNK + MAX_THREAD)
                end = 1 + tables.number(_END_OF_THREAD)
            yield part, first, end
            first = end


_END_OF_THREAD = """
SELECT max(line) FROM ordered WHERE line >= getvariable('line') AND line < getvariable('reach')
AND root = (SELECT root FROM ordered WHERE line = getvariable('line'))
"""


def counts(tables: Tables, examples: int) -> dict[str, Any]:
    """Return the numbers of dropped posts, links and threads by reason, with examples."""
    dropped = {reason: _count_dropped(tables, query, examples) for reason, query in _DROPPED.items()}
    why = dict(tables.rows("SELECT why, count(*) FROM threads GROUP BY why"))
    members = dict(tables.rows("SELECT why, sum(posts)::BIGINT FROM threads GROUP BY why"))
    numbers = dict(tables.rows("SELECT broken, count(*) FROM links WHERE broken <> '' GROUP BY broken"))
    missing = "SELECT count(*) FROM kept ANTI JOIN links ON kept.place = links.child WHERE reply_to <> ''"
    circling = "SELECT count(*) FROM links ANTI JOIN roots ON links.child = roots.place WHERE broken = ''"
    numbers |= {"missing": tables.number(missing), "cycle": tables.number(circling)}
    return {
        "dropped": dropped,
        "bots": dict(sorted(tables.rows("SELECT why, count(*) FROM bots GROUP BY why"))),
        "kept": tables.number("SELECT count(*) FROM kept"),
        "users": tables.number("SELECT count(DISTINCT who) FROM kept"),
        "replies": tables.number("SELECT count(*) FROM kept WHERE reply_to <> ''"),
        "broken": {reason: numbers.get(reason, 0) for reason in BROKEN},
        "unanswered": tables.number("SELECT count(*) FROM kept ANTI JOIN members USING (place) WHERE reply_to = ''"),
        "threads": {reason or "kept": why.get(reason, 0) for reason in ("", "orphan", "crosses", "too_large")},
        "thread_posts": {reason or "kept": members.get(reason, 0) for reason in ("", "orphan", "crosses", "too_large")},
    }


_DROPPED = {
    "duplicate_id": "SELECT * FROM posts SEMI JOIN again USING (place)",
    "bot": "SELECT * FROM posts ANTI JOIN again USING (place) SEMI JOIN bots USING (who)",
    "same_day": "SELECT * FROM posts SEMI JOIN copies USING (place)",
    "seen_earlier": "SELECT * FROM posts SEMI JOIN seen USING (place)",
}


def _count_dropped(tables: Tables, query: str, examples: int) -> dict[str, Any]:
    tables.set(examples=examples)
    tables.connection.sql(query).create_view("gone", replace=True)
    shown = tables.rows("SELECT id, who, text FROM gone ORDER BY id, who, text LIMIT getvariable('examples')")
    return {
        "count": tables.number("SELECT count(*) FROM gone"),
        "examples": [{"id": id, "user": user, "text": cut(text)} for id, user, text in shown],
    }


def users_by_part(tables: Tables) -> dict[int, int]:
    """Return the number of users per part."""
    return dict(tables.rows("SELECT part, count(DISTINCT who) FROM ordered GROUP BY part"))


def read_lines(ordered: Path, first: int, end: int) -> Sequence[tuple[Any, ...]]:
    """Return rows of the ordered table: root, place, parent, id, user, text and time."""
    import duckdb

    with duckdb.connect(config={"threads": 1, "memory_limit": "1GB"}) as connection:
        query = (
            "SELECT root, place, parent, id, who, text, time FROM read_parquet(?)"
            " WHERE line >= ? AND line < ? ORDER BY line"
        )
        rows: list[tuple[Any, ...]] = connection.execute(query, [str(ordered), first, end]).fetchall()
    return rows
