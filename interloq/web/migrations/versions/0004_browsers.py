# SPDX-License-Identifier: Apache-2.0
"""The browser that an id of a crowd platform belongs to, and how many people may come by one link."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision, down_revision = "0004", "0003"
branch_labels = depends_on = None


def upgrade() -> None:
    """Add the columns."""
    op.add_column("invitation", sa.Column("most_people", sa.Integer(), server_default="1000", nullable=False))
    op.add_column("person", sa.Column("browser", sa.String(length=64), nullable=True))
    op.add_column("person", sa.Column("readmitted", sa.Float(), nullable=True))


def downgrade() -> None:
    """Drop the columns."""
    for table, column in (("person", "readmitted"), ("person", "browser"), ("invitation", "most_people")):
        with op.batch_alter_table(table) as batch:
            batch.drop_column(column)
