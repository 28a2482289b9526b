# SPDX-License-Identifier: Apache-2.0
"""Count the calls of bots, and their cost, per person and per task."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision, down_revision = "0005", "0004"
branch_labels = depends_on = None


def upgrade() -> None:
    """Add the columns; calls that were made before are not counted."""
    for table in ("task", "person"):
        op.add_column(table, sa.Column("calls", sa.Integer(), server_default="0", nullable=False))
        op.add_column(table, sa.Column("cost", sa.Float(), server_default="0", nullable=False))
    op.add_column("task", sa.Column("most_calls", sa.Integer(), nullable=True))
    op.add_column("task", sa.Column("most_cost", sa.Float(), nullable=True))


def downgrade() -> None:
    """Drop the columns."""
    with op.batch_alter_table("task") as batch:
        for column in ("most_cost", "most_calls", "cost", "calls"):
            batch.drop_column(column)
    with op.batch_alter_table("person") as batch:
        for column in ("cost", "calls"):
            batch.drop_column(column)
