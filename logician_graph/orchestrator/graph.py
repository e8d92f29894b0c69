"""The state machine: which node follows which. See ``docs/architecture.md`` §5 for the picture.

intake → model ─ calls → gate (a task per call) → dispatch → tools (a task per call) → observe → model
               └ answer → acceptance → END, or back to the model with what failed
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langgraph.graph import END, START, StateGraph  # pyright: ignore[reportMissingTypeStubs]
from langgraph.runtime import Runtime
from langgraph.types import Send

from logician_graph.orchestrator.context import RunContext
from logician_graph.orchestrator.nodes.acceptance import acceptance
from logician_graph.orchestrator.nodes.dispatch import next_batch, send_batch
from logician_graph.orchestrator.nodes.gate import gate
from logician_graph.orchestrator.nodes.intake import intake
from logician_graph.orchestrator.nodes.model import model
from logician_graph.orchestrator.nodes.observe import observe
from logician_graph.orchestrator.nodes.tools import tools
from logician_graph.orchestrator.types import GraphState, RunOptions

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver
    from langgraph.graph.state import CompiledStateGraph  # pyright: ignore[reportMissingTypeStubs]


def recursion_limit(options: RunOptions) -> int:
    """Supersteps that the budgets can need at most; LangGraph's own default of ten thousand is no limit."""
    return 10 + 5 * (options.max_turns + 1) + options.max_tool_calls + 2 * options.max_repairs


async def _dispatch(_state: GraphState) -> GraphState:
    return {}


def _after_intake(state: GraphState) -> str:
    return END if state.get("finish") else "model"


def _after_model(state: GraphState) -> list[Send] | str:
    if state.get("finish"):
        return END
    calls = state.get("calls", [])
    if not calls:
        return "acceptance"
    tainted = state.get("tainted", False)
    return [Send("gate", {"call": call, "tainted": tainted}) for call in calls]


def _run_next(state: GraphState, runtime: Runtime[RunContext]) -> list[Send]:
    bus = runtime.context.bus

    def parallel_safe(name: str) -> bool:
        tool = bus.get(name)
        return tool is None or tool.declaration.parallel_safe

    batch = next_batch(state.get("calls", []), state.get("results", {}), parallel_safe)
    return send_batch(state, batch)


def _after_observe(state: GraphState, runtime: Runtime[RunContext]) -> list[Send] | str:
    if state.get("finish"):
        return END
    return _run_next(state, runtime) or "model"


def _after_acceptance(state: GraphState) -> str:
    return END if state.get("finish") else "model"


def build_graph(checkpoints: BaseCheckpointSaver[str]) -> CompiledStateGraph[Any, RunContext, Any, Any]:
    """The compiled graph; one serves all runs."""
    graph: Any = StateGraph(GraphState, context_schema=RunContext)  # its overloads are not typed to the end
    nodes: dict[str, Any] = {
        "intake": intake,
        "model": model,
        "gate": gate,
        "dispatch": _dispatch,
        "tools": tools,
        "observe": observe,
        "acceptance": acceptance,
    }
    for name, node in nodes.items():
        graph.add_node(name, node)
    graph.add_edge(START, "intake")
    graph.add_conditional_edges("intake", _after_intake, ["model", END])
    graph.add_conditional_edges("model", _after_model, ["gate", "acceptance", END])
    graph.add_edge("gate", "dispatch")
    graph.add_conditional_edges("dispatch", _run_next, ["tools"])
    graph.add_edge("tools", "observe")
    graph.add_conditional_edges("observe", _after_observe, ["tools", "model", END])
    graph.add_conditional_edges("acceptance", _after_acceptance, ["model", END])
    return graph.compile(checkpointer=checkpoints)
