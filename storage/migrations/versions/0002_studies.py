"""Studies of the evolution of heuristics"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def _json(name: str, *, nullable: bool = False) -> sa.Column[object]:
    return sa.Column(name, sa.JSON(none_as_null=True), nullable=nullable)


def upgrade() -> None:
    op.create_table(
        "studies",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=True),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("problem", sa.String(), nullable=False),
        sa.Column("direction", sa.String(), nullable=False),
        _json("settings"),
        _json("state"),
        sa.Column("records", sa.Integer(), nullable=False),
        sa.Column("replays", sa.String(), nullable=True),
        sa.Column("thread_id", sa.String(), nullable=True),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.Column("deleted_at", sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], ondelete="SET NULL"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_studies_created", "studies", ["created_at"])
    op.create_table(
        "samples",
        sa.Column("study_id", sa.String(), nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("operator", sa.String(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("island", sa.Integer(), nullable=False),
        _json("parents"),
        sa.Column("model", sa.String(), nullable=True),
        sa.Column("phase", sa.String(), nullable=False),
        sa.Column("outcome", sa.String(), nullable=True),
        sa.Column("verdict", sa.String(), nullable=True),
        sa.Column("thought", sa.String(), nullable=False),
        sa.Column("code", sa.String(), nullable=True),
        sa.Column("code_key", sa.String(), nullable=True),
        sa.Column("same_as", sa.Integer(), nullable=True),
        sa.Column("objective", sa.Float(), nullable=True),
        _json("per_instance", nullable=True),
        sa.Column("error", sa.String(), nullable=True),
        _json("notes", nullable=True),
        sa.Column("output", sa.String(), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("input_tokens", sa.Integer(), nullable=True),
        sa.Column("output_tokens", sa.Integer(), nullable=True),
        sa.Column("cost_usd", sa.Float(), nullable=True),
        sa.Column("model_seconds", sa.Float(), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column("cpu_seconds", sa.Float(), nullable=False),
        sa.Column("record", sa.Integer(), nullable=True),
        sa.Column("left_record", sa.Integer(), nullable=True),
        sa.Column("best", sa.Boolean(), nullable=False),
        sa.Column("proposed_at", sa.Float(), nullable=False),
        sa.Column("recorded_at", sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("study_id", "n"),
    )
    op.create_index("ix_samples_outcome", "samples", ["study_id", "outcome"])
    op.create_index("ix_samples_key", "samples", ["study_id", "code_key"])
    op.create_table(
        "exchanges",
        sa.Column("study_id", sa.String(), nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("model", sa.String(), nullable=False),
        _json("request"),
        sa.Column("request_sha256", sa.String(), nullable=False),
        sa.Column("reply", sa.String(), nullable=False),
        sa.Column("finish_reason", sa.String(), nullable=False),
        _json("usage"),
        sa.Column("cost_usd", sa.Float(), nullable=True),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("study_id", "n", "attempt"),
    )
    op.create_table(
        "scores",
        sa.Column("study_id", sa.String(), nullable=False),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("set_name", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("objective", sa.Float(), nullable=True),
        _json("per_instance"),
        sa.Column("error", sa.String(), nullable=True),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("study_id", "subject", "set_name"),
    )
