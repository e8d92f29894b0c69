"""Alembic's entry: runs the migrations on the connection that ``storage.schema`` hands over."""

from __future__ import annotations

from alembic import context
from sqlmodel import SQLModel

from storage import preferences, runs, threads

TABLES = (preferences, runs, threads)  # importing them registers their tables with the metadata

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=SQLModel.metadata, render_as_batch=True)
with context.begin_transaction():
    context.run_migrations()
