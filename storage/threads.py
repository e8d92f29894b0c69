"""Tables of conversations: threads, their messages as a tree, and content-addressed texts.

Messages are append-only. A branch is a leaf and its chain of parents; editing a message makes a sibling.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import JSON, Column, Index
from sqlmodel import Field, SQLModel


class Thread(SQLModel, table=True):
    """One conversation."""

    __tablename__ = "threads"  # pyright: ignore[reportAssignmentType]

    id: str = Field(primary_key=True)
    title: str = ""
    """What the list shows; made from the first message until a person renames it."""
    titled_by: str = "auto"
    """``auto`` or ``person``: a person's title is never overwritten."""
    created_at: float
    updated_at: float = Field(index=True)
    leaf_id: str | None = None
    """Last message of the branch that is shown; None in an empty thread."""
    workspace: str | None = None
    """Folder the agent works in; None means the workspace of the settings."""
    model: str | None = None
    """Model chosen for this thread; None means the model of the settings."""
    mode: str | None = None
    """Permission mode chosen for this thread; None means the mode of the settings."""
    deleted_at: float | None = None
    """Set when a person deleted the thread; it can be restored until it is purged."""


class Message(SQLModel, table=True):
    """One entry of a thread's transcript; never changed after it was written."""

    __tablename__ = "messages"  # pyright: ignore[reportAssignmentType]
    __table_args__ = (Index("ix_messages_thread_parent", "thread_id", "parent_id"),)

    id: str = Field(primary_key=True)
    thread_id: str = Field(foreign_key="threads.id", ondelete="CASCADE")
    parent_id: str | None = None
    run_id: str | None = None
    """Run that wrote it; None for what a person wrote."""
    depth: int
    """Number of ancestors."""
    role: str
    """``user``, ``assistant`` or ``tool``."""
    text: str = ""
    extra: dict[str, Any] | None = Field(default=None, sa_column=Column(JSON(none_as_null=True)))
    """tool_calls, tool_call_id, attachments, partial, origin …: JSON values, absent when empty."""
    created_at: float


class Blob(SQLModel, table=True):
    """A text kept once under its SHA-256: system prompts, tool lists, attachments."""

    __tablename__ = "blobs"  # pyright: ignore[reportAssignmentType]

    sha256: str = Field(primary_key=True)
    text: str
