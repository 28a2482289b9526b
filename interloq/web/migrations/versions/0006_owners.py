# SPDX-License-Identifier: Apache-2.0
"""The participant who alone may get an item."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision, down_revision = "0006", "0005"
branch_labels = depends_on = None

INDEX = "ix_item_open"
COLUMNS = ("task_id", "priority", "active", "place", "answer_key")
OPEN = sa.text("correct IS NULL")


def upgrade() -> None:
    """Add the column; everybody may get earlier items."""
    op.add_column("item", sa.Column("owner", sa.String(length=200), server_default="", nullable=False))
    _replace_index(*COLUMNS, "owner")


def downgrade() -> None:
    """Drop the column."""
    _replace_index(*COLUMNS)
    with op.batch_alter_table("item") as batch:
        batch.drop_column("owner")


def _replace_index(*columns: str) -> None:
    op.drop_index(INDEX, "item")
    op.create_index(INDEX, "item", list(columns), sqlite_where=OPEN, postgresql_where=OPEN)
