"""What a run is asked to do, what it used, and the state that travels through the graph."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypedDict

from pydantic import BaseModel, ConfigDict, Field

from logician_graph.tools import Mode

RunStatus = Literal["queued", "running", "waiting", "done"]
Outcome = Literal["completed", "needs_input", "blocked", "failed", "cancelled"]


class RunOptions(BaseModel):
    """What was asked of one run; fixed when it is accepted and kept with it."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    model: str
    """Model reference: ``local:<catalogue id>`` or ``endpoint:<name>``."""
    mode: Mode = "accept_edits"
    workspace: str
    """Absolute path of the folder the run may write."""
    verify: tuple[str, ...] = ()
    """Commands that must exit 0 before the run counts as completed."""
    interactive: bool = True
    """False when nobody can answer: what would wait for a person ends the run as ``needs_input``."""
    max_turns: int = Field(default=40, ge=1)
    max_tool_calls: int = Field(default=200, ge=0)
    max_tokens: int | None = Field(default=None, ge=1)
    max_seconds: float = Field(default=3600.0, gt=0)
    max_cost_usd: float | None = Field(default=None, ge=0)
    max_repairs: int = Field(default=2, ge=0)
    """How often a failing verify command sends the work back before the run fails."""
    temperature: float | None = None
    seed: int | None = None

    def stored(self) -> dict[str, Any]:
        """As kept with the run: model, mode and workspace always, the rest where it differs from the default."""
        always = {"model": self.model, "mode": self.mode, "workspace": self.workspace}
        return {**self.model_dump(mode="json", exclude_defaults=True), **always}


class RunUsage(BaseModel):
    """What one run used, measured. Token sums cover the calls whose usage the provider reported."""

    model_calls: int = 0
    unreported_calls: int = 0
    """Model calls for which the provider reported no tokens (interrupted ones included)."""
    tool_calls: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    """Part of the input tokens that the provider served from its cache."""
    cost_usd: float | None = None
    """None when a price or a token count is unknown; never a guess."""
    seconds: float = 0.0
    """Seconds of work over all attempts; waiting for a person does not count."""


class CallState(TypedDict):
    """One tool call of the last reply, as it travels through gate and tools."""

    id: str
    name: str
    arguments: dict[str, Any]
    result_id: str
    """Id reserved for the message that will hold the result."""
    parent_id: str
    """Message that the result follows: the previous call's result or the reply itself."""
    invalid: str | None
    """Why the call cannot run at all (malformed, truncated), else None."""


class GateDecision(TypedDict):
    """What the gate decided for one call."""

    action: Literal["allow", "deny", "invalid", "cancelled", "needs_input", "answered", "budget"]
    reason: str


class CallResult(TypedDict):
    """What became of one call, without its text (that is in the transcript)."""

    status: str
    signature: str
    """Hash of name, arguments and result text: the loop guard compares these."""
    untrusted: bool


def merge(old: dict[str, Any] | None, new: dict[str, Any] | None) -> dict[str, Any]:
    """Reducer: entries are added; None starts over (a new reply came)."""
    return {} if new is None else {**(old or {}), **new}


class GraphState(TypedDict, total=False):
    """State of the graph. Plain JSON values only; the transcript itself stays in the ledger."""

    step: int
    """Model calls made."""
    leaf_id: str
    """Last complete message of the run's branch."""
    calls: list[CallState]
    decisions: Annotated[dict[str, GateDecision], merge]
    results: Annotated[dict[str, CallResult], merge]
    repeat: dict[str, Any]
    """Loop guard: the last signature, how often it came in a row, and the calls just made."""
    tainted: bool
    """Text from the network was read: writing and executing need a person."""
    repairs: int
    finish: Outcome | None
    reason: str
    call: CallState
    """Only in a fanned-out task: its own call."""
