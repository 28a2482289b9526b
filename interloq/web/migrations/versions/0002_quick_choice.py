# SPDX-License-Identifier: Apache-2.0
"""Indexes with which the next item is chosen without reading all items."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision, down_revision = "0002", "0001"
branch_labels = depends_on = None


def upgrade() -> None:
    """Replace two indexes, and add one for attention checks."""
    op.drop_index("ix_item_open", "item")
    _item_index("ix_item_open", ["task_id", "priority", "active", "place", "answer_key"], "correct IS NULL")
    _item_index("ix_item_check", ["task_id"], "correct IS NOT NULL")
    op.drop_index("ix_assignment_task_id_person_id", "assignment")
    columns = ["task_id", "person_id", "answer_key"]
    op.create_index("ix_assignment_task_id_person_id_answer_key", "assignment", columns)


def _item_index(name: str, columns: list[str], where: str) -> None:
    op.create_index(name, "item", columns, sqlite_where=sa.text(where), postgresql_where=sa.text(where))


def downgrade() -> None:
    """Restore the first indexes."""
    op.drop_index("ix_assignment_task_id_person_id_answer_key", "assignment")
    op.create_index("ix_assignment_task_id_person_id", "assignment", ["task_id", "person_id"])
    op.drop_index("ix_item_check", "item")
    op.drop_index("ix_item_open", "item")
    _item_index("ix_item_open", ["task_id", "active", "priority", "place", "answer_key"], "correct IS NULL")
