"""Orchestrator: how one piece of work gets done. A LangGraph state machine over a durable ledger.

The room takes runs from the queue and works on them until they are done, wait for a person, or the engine stops. It
never learns who asked. Its truth is the ledger (``storage``); the graph's checkpoints are only the program counter of
one run. Importing this package is cheap; :mod:`.worker`, :mod:`.graph` and :mod:`.runner` bring LangGraph in.
"""

from logician_graph.orchestrator.assemble import rebuild
from logician_graph.orchestrator.branch import BranchCache
from logician_graph.orchestrator.context import RunContext
from logician_graph.orchestrator.conversations import Attachment, Conversations
from logician_graph.orchestrator.events import TRANSIENT, envelope, left_out
from logician_graph.orchestrator.export import to_json, to_markdown
from logician_graph.orchestrator.history import repair, to_chat
from logician_graph.orchestrator.hub import EventHub
from logician_graph.orchestrator.surroundings import list_workspace
from logician_graph.orchestrator.thread_view import AgentTurn, Siblings, ThreadView, UserTurn, thread_view
from logician_graph.orchestrator.types import Outcome, RunOptions, RunStatus, RunUsage
from logician_graph.orchestrator.view import RunView, Step, fold

__all__ = [
    "TRANSIENT",
    "AgentTurn",
    "Attachment",
    "BranchCache",
    "Conversations",
    "EventHub",
    "Outcome",
    "RunContext",
    "RunOptions",
    "RunStatus",
    "RunUsage",
    "RunView",
    "Siblings",
    "Step",
    "ThreadView",
    "UserTurn",
    "envelope",
    "fold",
    "left_out",
    "list_workspace",
    "rebuild",
    "repair",
    "thread_view",
    "to_chat",
    "to_json",
    "to_markdown",
]
