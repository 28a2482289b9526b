# SPDX-License-Identifier: Apache-2.0
"""The first tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = branch_labels = depends_on = None
NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create the tables."""
    _create_tasks()
    _create_people()
    _create_answers()
    _create_logs()


def _create_tasks() -> None:
    op.create_table(
        "task",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("name", sa.String(length=80), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("source", sa.JSON(), nullable=False),
        sa.Column("created", sa.Float(), nullable=False),
        sa.Column("closed", sa.Float(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_task"),
        sa.UniqueConstraint("name", name="uq_task_name"),
    )
    op.create_table(
        "invitation",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("task_id", NUMBER, nullable=True),
        sa.Column("token", sa.String(length=64), nullable=False),
        sa.Column("role", sa.String(length=20), nullable=False),
        sa.Column("label", sa.String(length=80), server_default="", nullable=False),
        sa.Column("parameter", sa.String(length=40), server_default="", nullable=False),
        sa.Column("created", sa.Float(), nullable=False),
        sa.Column("revoked", sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(["task_id"], ["task.id"], name="fk_invitation_task_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_invitation"),
        sa.UniqueConstraint("token", name="uq_invitation_token"),
    )
    op.create_table(
        "item",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("task_id", NUMBER, nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("answer_key", sa.String(length=200), nullable=False),
        sa.Column("shown", sa.JSON(), nullable=False),
        sa.Column("hidden", sa.JSON(), nullable=False),
        sa.Column("correct", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("priority", sa.Float(), server_default="0", nullable=False),
        sa.Column("active", sa.Integer(), server_default="0", nullable=False),
        sa.ForeignKeyConstraint(["task_id"], ["task.id"], name="fk_item_task_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_item"),
        sa.UniqueConstraint("task_id", "place", name="uq_item_task_id_place"),
    )
    op.create_index(
        "ix_item_open",
        "item",
        ["task_id", "active", "priority", "place", "answer_key"],
        sqlite_where=sa.text("correct IS NULL"),
        postgresql_where=sa.text("correct IS NULL"),
    )


def _create_people() -> None:
    op.create_table(
        "person",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("invitation_id", NUMBER, nullable=False),
        sa.Column("participant", sa.String(length=200), server_default="", nullable=False),
        sa.Column("created", sa.Float(), nullable=False),
        sa.Column("consented", sa.Float(), nullable=True),
        sa.Column("withdrawn", sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(
            ["invitation_id"], ["invitation.id"], name="fk_person_invitation_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_person"),
        sa.UniqueConstraint("invitation_id", "participant", name="uq_person_invitation_id_participant"),
    )
    op.create_table(
        "assignment",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("task_id", NUMBER, nullable=False),
        sa.Column("item_id", NUMBER, nullable=False),
        sa.Column("person_id", NUMBER, nullable=False),
        sa.Column("answer_key", sa.String(length=200), nullable=False),
        sa.Column("order", sa.JSON(), nullable=False),
        sa.Column("started", sa.Float(), nullable=False),
        sa.Column("seen", sa.Float(), nullable=False),
        sa.Column("finished", sa.Float(), nullable=True),
        sa.Column("returned", sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(["item_id"], ["item.id"], name="fk_assignment_item_id", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["person_id"], ["person.id"], name="fk_assignment_person_id", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["task_id"], ["task.id"], name="fk_assignment_task_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_assignment"),
        sa.UniqueConstraint("item_id", "person_id", name="uq_assignment_item_id_person_id"),
    )
    op.create_index(
        "ix_assignment_task_id_finished_returned_seen",
        "assignment",
        ["task_id", "finished", "returned", "seen"],
        unique=False,
    )
    op.create_index("ix_assignment_task_id_person_id", "assignment", ["task_id", "person_id"], unique=False)
    op.create_table(
        "session",
        sa.Column("token", sa.String(length=64), nullable=False),
        sa.Column("person_id", NUMBER, nullable=False),
        sa.Column("csrf", sa.String(length=64), nullable=False),
        sa.Column("created", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["person_id"], ["person.id"], name="fk_session_person_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("token", name="pk_session"),
    )
    op.create_index("ix_session_person_id", "session", ["person_id"], unique=False)


def _create_answers() -> None:
    op.create_table(
        "answer",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("assignment_id", NUMBER, nullable=False),
        sa.Column("submission", sa.String(length=40), nullable=False),
        sa.Column("unit", sa.Integer(), nullable=False),
        sa.Column("aspect", sa.String(length=80), nullable=False),
        sa.Column("value", sa.Float(), nullable=True),
        sa.Column("choice", sa.String(length=20), nullable=True),
        sa.Column("reason", sa.Text(), server_default="", nullable=False),
        sa.Column("time", sa.Float(), nullable=False),
        sa.Column("page", sa.String(length=16), nullable=False),
        sa.CheckConstraint("value IS NULL OR choice IS NULL", name="ck_answer_one_answer"),
        sa.ForeignKeyConstraint(
            ["assignment_id"], ["assignment.id"], name="fk_answer_assignment_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_answer"),
        sa.UniqueConstraint(
            "assignment_id", "submission", "unit", "aspect", name="uq_answer_assignment_id_submission_unit_aspect"
        ),
    )
    op.create_table(
        "draft",
        sa.Column("assignment_id", NUMBER, nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("body", sa.JSON(), nullable=False),
        sa.Column("updated", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(
            ["assignment_id"], ["assignment.id"], name="fk_draft_assignment_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("assignment_id", name="pk_draft"),
    )


def _create_logs() -> None:
    op.create_table(
        "event",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("person_id", NUMBER, nullable=False),
        sa.Column("assignment_id", NUMBER, nullable=True),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("time", sa.Float(), nullable=False),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["assignment_id"], ["assignment.id"], name="fk_event_assignment_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["person_id"], ["person.id"], name="fk_event_person_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_event"),
    )
    op.create_index("ix_event_person_id_kind", "event", ["person_id", "kind"], unique=False)
    op.create_table(
        "step",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("assignment_id", NUMBER, nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("body", sa.JSON(), nullable=False),
        sa.Column("time", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["assignment_id"], ["assignment.id"], name="fk_step_assignment_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_step"),
        sa.UniqueConstraint("assignment_id", "place", name="uq_step_assignment_id_place"),
    )
    op.create_table(
        "turn",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("assignment_id", NUMBER, nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("speaker", sa.String(length=20), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("failure", sa.Text(), server_default="", nullable=False),
        sa.Column("time", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["assignment_id"], ["assignment.id"], name="fk_turn_assignment_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_turn"),
        sa.UniqueConstraint("assignment_id", "place", name="uq_turn_assignment_id_place"),
    )


def downgrade() -> None:
    """Drop the tables."""
    op.drop_table("turn")
    op.drop_table("step")
    op.drop_index("ix_event_person_id_kind", table_name="event")
    op.drop_table("event")
    op.drop_table("draft")
    op.drop_table("answer")
    op.drop_index("ix_session_person_id", table_name="session")
    op.drop_table("session")
    op.drop_index("ix_assignment_task_id_person_id", table_name="assignment")
    op.drop_index("ix_assignment_task_id_finished_returned_seen", table_name="assignment")
    op.drop_table("assignment")
    op.drop_table("person")
    op.drop_index("ix_item_open", table_name="item")
    op.drop_table("item")
    op.drop_table("invitation")
    op.drop_table("task")
