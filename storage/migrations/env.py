"""Alembic's entry: runs the migrations on the connection that ``storage.schema`` hands over."""

from __future__ import annotations

from alembic import context
from sqlmodel import SQLModel

import storage.preferences  # noqa: F401  (registers its tables)
import storage.runs  # noqa: F401
import storage.threads  # noqa: F401

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=SQLModel.metadata, render_as_batch=True)
with context.begin_transaction():
    context.run_migrations()
