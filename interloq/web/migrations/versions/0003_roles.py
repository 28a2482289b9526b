# SPDX-License-Identifier: Apache-2.0
"""Roles of administrators; all earlier ones are owners."""

from __future__ import annotations

from alembic import op

revision, down_revision = "0003", "0002"
branch_labels = depends_on = None


def upgrade() -> None:
    """Make every administrator an owner."""
    op.execute("UPDATE invitation SET role = 'owner' WHERE role = 'admin'")


def downgrade() -> None:
    """Make everybody who is not an annotator an administrator."""
    op.execute("UPDATE invitation SET role = 'admin' WHERE role <> 'annotator'")
