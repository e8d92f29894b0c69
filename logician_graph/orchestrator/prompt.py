"""The system prompt: a template file and what is filled in. Changes once a day at most, so prefix caches hold."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from string import Template


@cache
def _template() -> Template:
    return Template((files("logician_graph.orchestrator") / "prompts" / "system.md").read_text(encoding="utf-8"))


def system_prompt(workspace: str, at: float) -> str:
    """The system prompt for a run that works in ``workspace``; ``at`` is the run's start, seconds since the epoch."""
    day = datetime.fromtimestamp(at, UTC).strftime("%A, %d %B %Y")
    return _template().substitute(workspace=workspace, date=day).strip()
