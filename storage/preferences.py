"""Tables of what a person chose: settings and standing permission rules. Secrets are never stored here."""

from __future__ import annotations

from typing import Any

from sqlalchemy import JSON, Column
from sqlmodel import Field, SQLModel


class Setting(SQLModel, table=True):
    """A stored setting; the environment wins over it."""

    __tablename__ = "settings"  # pyright: ignore[reportAssignmentType]

    name: str = Field(primary_key=True)
    value: Any = Field(sa_column=Column(JSON(none_as_null=True)))
    updated_at: float


class Rule(SQLModel, table=True):
    """A standing permission decision."""

    __tablename__ = "permission_rules"  # pyright: ignore[reportAssignmentType]

    id: str = Field(primary_key=True)
    action: str
    tool: str
    argv_prefix: list[str] | None = Field(default=None, sa_column=Column(JSON(none_as_null=True)))
    path_prefix: str | None = None
    workspace: str | None = None
    note: str = ""
    created_at: float
