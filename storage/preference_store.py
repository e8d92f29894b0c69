"""Reading and writing settings and permission rules."""

from __future__ import annotations

from typing import Any

from sqlalchemy import delete
from sqlmodel import col, select

from storage.database import Database
from storage.ids import now
from storage.preferences import Rule, Setting


class PreferenceStore:
    """Settings and rules of one database."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def settings(self) -> dict[str, Any]:
        """Stored settings by name."""
        with self.database.read() as session:
            return {setting.name: setting.value for setting in session.exec(select(Setting))}

    def put_setting(self, name: str, value: Any) -> None:
        """Store a setting; None removes it."""
        with self.database.write() as session:
            if value is None:
                session.connection().execute(delete(Setting).where(col(Setting.name) == name))
            else:
                session.merge(Setting(name=name, value=value, updated_at=now()))

    def rules(self) -> list[Rule]:
        """Standing permission rules, oldest first."""
        with self.database.read() as session:
            return list(session.exec(select(Rule).order_by(col(Rule.created_at), col(Rule.id))))

    def put_rule(self, rule: Rule) -> None:
        """Store a rule."""
        with self.database.write() as session:
            session.merge(rule)

    def delete_rule(self, rule_id: str) -> bool:
        """Remove a rule; False when there is none."""
        with self.database.write() as session:
            found = (
                session.connection()
                .execute(delete(Rule).where(col(Rule.id) == rule_id).returning(col(Rule.id)))
                .first()
            )
        return found is not None
