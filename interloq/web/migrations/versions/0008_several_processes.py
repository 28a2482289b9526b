# SPDX-License-Identifier: Apache-2.0
"""What processes of a server must know of each other: limits of clients, and replies that bots are asked for."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision, down_revision = "0008", "0007"
branch_labels = depends_on = None


def upgrade() -> None:
    """Add the tables."""
    op.create_table(
        "quota",
        sa.Column("client", sa.String(length=64), nullable=False),
        sa.Column("free", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("client", name="pk_quota"),
    )
    op.create_index("ix_quota_free", "quota", ["free"])
    op.create_table(
        "pending_reply",
        sa.Column("assignment_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("process", sa.String(length=120), nullable=False),
        sa.Column("since", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(
            ["assignment_id"], ["assignment.id"], name="fk_pending_reply_assignment_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("assignment_id", name="pk_pending_reply"),
    )


def downgrade() -> None:
    """Drop the tables."""
    for table in ("pending_reply", "quota"):
        op.drop_table(table)
