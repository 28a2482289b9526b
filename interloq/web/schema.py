# SPDX-License-Identifier: Apache-2.0
"""Tables of a study. Answers, steps, turns and events are only ever added; deleting a person removes them."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

NAMES = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}
METADATA = MetaData(naming_convention=NAMES)
_Number = BigInteger().with_variant(Integer, "sqlite")  # SQLite numbers rows by itself only in INTEGER columns


def _id() -> Column[int]:
    return Column("id", _Number, primary_key=True)


def _of(table: str, *, nullable: bool = False) -> Column[int]:
    return Column(f"{table}_id", _Number, ForeignKey(f"{table}.id", ondelete="CASCADE"), nullable=nullable)


def _make_spending_columns() -> tuple[Column[int], Column[float]]:
    """Return the columns for calls of bots and their cost, which nothing decreases."""
    return (
        Column("calls", Integer, nullable=False, server_default="0"),
        Column("cost", Float, nullable=False, server_default="0"),
    )


task = Table(
    "task",
    METADATA,
    _id(),
    Column("name", String(80), nullable=False, unique=True),
    Column("kind", String(20), nullable=False),
    Column("settings", JSON, nullable=False),
    Column("source", JSON, nullable=False),  # name and fingerprint of the file, its kind and its header
    Column("created", Float, nullable=False),
    Column("closed", Float),
    *_make_spending_columns(),
    Column("most_calls", Integer),  # of bots, if an administrator changed the limits
    Column("most_cost", Float),
)

item = Table(
    "item",
    METADATA,
    _id(),
    _of("task"),
    Column("place", Integer, nullable=False),
    Column("answer_key", String(200), nullable=False),  # nobody gets two items with the same one
    Column("shown", JSON, nullable=False),  # may be sent to annotators: no ids and no system names
    Column("hidden", JSON, nullable=False),  # ids and systems of the units, and the records to export
    Column("correct", JSON(none_as_null=True)),  # answers that pass, for attention checks
    Column("priority", Float, nullable=False, server_default="0"),  # larger ones are given out first
    Column("active", Integer, nullable=False, server_default="0"),  # annotators who have or had it
    Column("owner", String(200), nullable=False, server_default=""),  # the participant who alone may get it
    UniqueConstraint("task_id", "place"),
    Index(  # everything that choosing the next item reads, without the texts
        "ix_item_open",
        *("task_id", "priority", "active", "place", "answer_key", "owner"),
        sqlite_where=text("correct IS NULL"),
        postgresql_where=text("correct IS NULL"),
    ),
    Index(
        "ix_item_check",
        "task_id",
        sqlite_where=text("correct IS NOT NULL"),
        postgresql_where=text("correct IS NOT NULL"),
    ),
)

invitation = Table(
    "invitation",
    METADATA,
    _id(),
    _of("task", nullable=True),  # none for administrators
    Column("token", String(64), nullable=False, unique=True),  # a hash: the link is shown once
    Column("role", String(20), nullable=False),
    Column("label", String(80), nullable=False, server_default=""),
    Column("parameter", String(40), nullable=False, server_default=""),  # of the URL, with a participant's id
    Column("most_people", Integer, nullable=False, server_default="1000"),  # who may come, if there is a parameter
    Column("created", Float, nullable=False),
    Column("revoked", Float),
)

person = Table(
    "person",
    METADATA,
    _id(),
    _of("invitation"),
    Column("participant", String(200), nullable=False, server_default=""),
    Column("created", Float, nullable=False),
    Column("consented", Float),
    Column("withdrawn", Float),
    Column("browser", String(64)),  # hash of the secret of the browser that the id of a platform belongs to
    Column("readmitted", Float),  # when an administrator let the person continue in another browser
    Column("number", Integer),  # among the people of a task who are drawn into groups, from 1
    *_make_spending_columns(),
    UniqueConstraint("invitation_id", "participant"),
)

session = Table(
    "session",
    METADATA,
    Column("token", String(64), primary_key=True),  # a hash of the cookie
    _of("person"),
    Column("csrf", String(64), nullable=False),
    Column("created", Float, nullable=False),
    Index(None, "person_id"),
)

assignment = Table(
    "assignment",
    METADATA,
    _id(),
    _of("task"),
    _of("item"),
    _of("person"),
    Column("answer_key", String(200), nullable=False),
    Column("order", JSON, nullable=False),  # place shown → place of the unit
    Column("started", Float, nullable=False),
    Column("seen", Float, nullable=False),
    Column("finished", Float),
    Column("returned", Float),  # abandoned, so given to somebody else
    UniqueConstraint("item_id", "person_id"),
    Index(None, "task_id", "person_id", "answer_key"),
    Index(None, "task_id", "finished", "returned", "seen"),
)

draft = Table(
    "draft",
    METADATA,
    Column("assignment_id", _Number, ForeignKey("assignment.id", ondelete="CASCADE"), primary_key=True),
    Column("revision", Integer, nullable=False),
    Column("body", JSON, nullable=False),
    Column("updated", Float, nullable=False),
)

answer = Table(
    "answer",
    METADATA,
    _id(),
    _of("assignment"),
    Column("submission", String(40), nullable=False),  # chosen by the page, so that sending twice stores once
    Column("unit", Integer, nullable=False),  # place of the unit in the item, not on the page
    Column("aspect", String(80), nullable=False),
    Column("value", Float),
    Column("choice", String(20)),
    Column("reason", Text, nullable=False, server_default=""),
    Column("time", Float, nullable=False),
    Column("page", String(16), nullable=False),  # version of the page
    CheckConstraint("value IS NULL OR choice IS NULL", name="one_answer"),
    UniqueConstraint("assignment_id", "submission", "unit", "aspect"),
)

turn = Table(
    "turn",
    METADATA,
    _id(),
    _of("assignment"),
    Column("place", Integer, nullable=False),
    Column("speaker", String(20), nullable=False),
    Column("text", Text, nullable=False),
    Column("failure", Text, nullable=False, server_default=""),
    Column("time", Float, nullable=False),
    UniqueConstraint("assignment_id", "place"),
)

step = Table(
    "step",
    METADATA,
    _id(),
    _of("assignment"),
    Column("place", Integer, nullable=False),
    Column("body", JSON, nullable=False),
    Column("time", Float, nullable=False),
    UniqueConstraint("assignment_id", "place"),
)

event = Table(
    "event",
    METADATA,
    _id(),
    _of("person"),
    _of("assignment", nullable=True),
    Column("kind", String(20), nullable=False),
    Column("time", Float, nullable=False),
    Column("data", JSON, nullable=False),
    Index(None, "person_id", "kind"),
)

quota = Table(  # of clients, if several processes serve the study
    "quota",
    METADATA,
    Column("client", String(64), primary_key=True),  # a keyed hash of an address or a session
    Column("free", Float, nullable=False),  # when the client may do everything again, and is forgotten
    Index(None, "free"),
)

pending_reply = Table(
    "pending_reply",
    METADATA,
    Column("assignment_id", _Number, ForeignKey("assignment.id", ondelete="CASCADE"), primary_key=True),
    Column("place", Integer, nullable=False),
    Column("process", String(120), nullable=False),  # that asks the bot
    Column("since", Float, nullable=False),
)
PASSING = (quota, pending_reply)  # of servers that run; not part of backups
