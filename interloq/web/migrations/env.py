# SPDX-License-Identifier: Apache-2.0
"""Run by Alembic: applies the migrations on the connection that `database.py` passes."""

from alembic import context

from interloq.web.schema import METADATA

context.configure(connection=context.config.attributes["connection"], target_metadata=METADATA, render_as_batch=True)
with context.begin_transaction():
    context.run_migrations()
