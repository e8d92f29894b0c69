"""The limits of one run: a pure check of what was used against what was allowed."""

from __future__ import annotations

from dataclasses import dataclass

from logician_graph.orchestrator.types import RunOptions, RunUsage


@dataclass(frozen=True, slots=True)
class Exhausted:
    """A budget that is used up."""

    budget: str
    limit: float
    used: float

    @property
    def sentence(self) -> str:
        """What happened, for a person."""
        return f"The budget of {self.limit:g} {self.budget} is used up ({self.used:g} used)."


def calls_spent(options: RunOptions, usage: RunUsage) -> str | None:
    """Why no further tool call may run, or None."""
    if usage.tool_calls < options.max_tool_calls:
        return None
    return f"The budget of {options.max_tool_calls} tool calls is used up."


def exhausted(options: RunOptions, usage: RunUsage) -> Exhausted | None:
    """The first budget that forbids another model call, or None. A limit of 0 lets through what uses nothing."""
    tokens = (usage.input_tokens or 0) + (usage.output_tokens or 0)
    checks: list[tuple[str, float | None, float]] = [
        ("turns", options.max_turns, usage.model_calls),
        ("tokens", options.max_tokens, tokens),
        ("seconds", options.max_seconds, usage.seconds),
        ("US dollars", options.max_cost_usd, usage.cost_usd or 0.0),
    ]
    for name, limit, used in checks:
        if limit is not None and used >= limit and used > 0:
            return Exhausted(name, limit, used)
    return None
