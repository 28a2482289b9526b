# SPDX-License-Identifier: Apache-2.0
"""The number by which a person is drawn into a group."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision, down_revision = "0007", "0006"
branch_labels = depends_on = None


def upgrade() -> None:
    """Add the column; earlier tasks have no groups."""
    op.add_column("person", sa.Column("number", sa.Integer(), nullable=True))


def downgrade() -> None:
    """Drop the column."""
    with op.batch_alter_table("person") as batch:
        batch.drop_column("number")
