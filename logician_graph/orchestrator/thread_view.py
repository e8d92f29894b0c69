"""A thread as the chat page shows it: the newest part of the shown branch, turn by turn, with its branch points."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from logician_graph.orchestrator.events import message_json
from logician_graph.orchestrator.hub import EventHub
from logician_graph.orchestrator.view import RunView, fold
from storage import Message, Run, RunLedger, Thread, ThreadStore


@dataclass(frozen=True, slots=True)
class Siblings:
    """Versions of one turn: their first messages, oldest first, and which of them is shown (from 0)."""

    ids: tuple[str, ...]
    position: int


@dataclass(slots=True)
class UserTurn:
    """What a person wrote."""

    message: dict[str, Any]
    siblings: Siblings


@dataclass(slots=True)
class AgentTurn:
    """What a run did about it."""

    run: Run
    view: RunView
    siblings: Siblings
    """Versions of the answer; ids of the messages that open them."""


@dataclass(slots=True)
class ThreadView:
    """The part of a thread that is drawn."""

    thread: Thread
    turns: list[UserTurn | AgentTurn] = field(default_factory=list[UserTurn | AgentTurn])
    earlier: bool = False
    """True when older messages exist above the first turn."""

    @property
    def active(self) -> AgentTurn | None:
        """The turn that still works or waits, if any."""
        return next((t for t in reversed(self.turns) if isinstance(t, AgentTurn) and t.run.status != "done"), None)


def thread_view(
    ledger: RunLedger, threads: ThreadStore, hub: EventHub, thread: Thread, *, limit: int = 40
) -> ThreadView:
    """The newest ``limit`` messages of the shown branch (a little more: a turn is never cut)."""
    view = ThreadView(thread)
    if thread.leaf_id is None:
        return view
    branch = threads.branch(thread.leaf_id, limit=limit + 1)
    starts = [index for index, message in enumerate(branch) if _by_person(message)]
    first = branch[0]
    if first.parent_id is not None:
        view.earlier = True
        branch = branch[starts[0] :] if starts and len(branch) - starts[0] > limit // 2 else branch
    questions = [message for message in branch if _by_person(message)]
    runs = _runs(ledger, thread.id, branch)
    siblings = _siblings(threads, thread.id, branch, questions)
    for index, message in enumerate(branch):
        if _by_person(message):
            view.turns.append(UserTurn(message_json(message), siblings[message.id]))
            following = branch[index + 1] if index + 1 < len(branch) else None
            if following is None or _by_person(following):
                unanswered = _unanswered(runs, message.id, branch)
                if unanswered is not None:
                    view.turns.append(_agent_turn(hub, unanswered, None, siblings))
        elif index == 0 or _by_person(branch[index - 1]):
            run = runs.get(message.run_id or "")
            if run is not None:
                view.turns.append(_agent_turn(hub, run, message, siblings))
    return view


def _by_person(message: Message) -> bool:
    return message.role == "user" and (message.extra or {}).get("origin") is None


def _runs(ledger: RunLedger, thread_id: str, branch: list[Message]) -> dict[str, Run]:
    ids = {message.run_id for message in branch if message.run_id is not None}
    asked = {message.id for message in branch if _by_person(message)}
    runs = ledger.many(ids) if ids else {}
    for run in ledger.asked_by(asked) if asked else ():
        runs.setdefault(run.id, run)
    return {run_id: run for run_id, run in runs.items() if run.thread_id == thread_id}


def _unanswered(runs: dict[str, Run], message_id: str, branch: list[Message]) -> Run | None:
    """The newest run for a message that has no reply on this branch."""
    on_branch = {message.run_id for message in branch}
    candidates = [run for run in runs.values() if run.input_message_id == message_id and run.id not in on_branch]
    return max(candidates, key=lambda run: (run.created_at, run.id), default=None)


def _siblings(
    threads: ThreadStore, thread_id: str, branch: list[Message], questions: list[Message]
) -> dict[str, Siblings]:
    parents = {message.parent_id for message in questions} | {message.id for message in questions}
    children = threads.children(thread_id, parents)
    result: dict[str, Siblings] = {}
    for message in branch:
        same = [c.id for c in children if c.parent_id == message.parent_id and _by_person(c) == _by_person(message)]
        ids = tuple(same) or (message.id,)
        result[message.id] = Siblings(ids, ids.index(message.id) if message.id in ids else 0)
    return result


def _agent_turn(hub: EventHub, run: Run, first: Message | None, siblings: dict[str, Siblings]) -> AgentTurn:
    versions = siblings[first.id] if first is not None else Siblings((), 0)
    return AgentTurn(run, fold(run.id, hub.stored(run.id)), versions)
