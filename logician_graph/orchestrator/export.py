"""A thread as a file: Markdown to read, JSON to process. Both hold the shown branch; JSON holds every branch too."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from logician_graph.orchestrator.events import message_json
from storage import Message, Run, Thread


def _when(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _fence(text: str, language: str = "") -> str:
    ticks = "```"
    while ticks in text:
        ticks += "`"
    return f"{ticks}{language}\n{text}\n{ticks}"


def to_markdown(thread: Thread, branch: Sequence[Message], runs: dict[str, Run]) -> str:
    """The shown branch as Markdown."""
    parts = [f"# {thread.title or 'Untitled chat'}", f"Started {_when(thread.created_at)} · thread `{thread.id}`"]
    previous: str | None = None
    for message in branch:
        if message.run_id is not None and message.run_id != previous:
            parts.append(_run_line(runs.get(message.run_id)))
        previous = message.run_id
        parts.append(_message_markdown(message))
    return "\n\n".join(part for part in parts if part) + "\n"


def _run_line(run: Run | None) -> str:
    if run is None:
        return ""
    usage = run.usage
    tokens = f"{usage.get('input_tokens')} tokens in, {usage.get('output_tokens')} out"
    cost = "cost unknown" if usage.get("cost_usd") is None else f"${usage['cost_usd']:.4f}"
    outcome = run.outcome or run.status
    return f"*Run `{run.id}` · {run.options.get('model')} · {outcome} · {tokens} · {cost} · {usage.get('seconds')} s*"


def _message_markdown(message: Message) -> str:
    extra = message.extra or {}
    if message.role == "tool":
        heading = f"**{extra.get('tool', 'tool')}** ({extra.get('status', '')})"
        return f"<details><summary>{heading}</summary>\n\n{_fence(message.text)}\n\n</details>"
    who = "You" if message.role == "user" else "Logician"
    if extra.get("origin") == "acceptance":
        who = "Check"
    parts = [f"## {who}", message.text]
    parts += [f"Attachment `{a['name']}` ({a['characters']} characters)" for a in extra.get("attachments") or ()]
    if extra.get("partial"):
        parts.append("*Stopped here.*")
    for call in extra.get("tool_calls") or ():
        parts.append(
            f"Calls `{call['name']}`:\n\n{_fence(json.dumps(call['arguments'], indent=2, ensure_ascii=False), 'json')}"
        )
    return "\n\n".join(part for part in parts if part)


def to_json(
    thread: Thread, messages: Sequence[Message], runs: dict[str, Run], events: dict[str, list[dict[str, Any]]]
) -> str:
    """Everything of a thread: all branches, runs and their events."""
    data = {
        "format": "logician.thread",
        "version": 1,
        "thread": thread.model_dump(exclude={"deleted_at"}),
        "messages": [{**message_json(message), "run_id": message.run_id} for message in messages],
        "runs": [
            {**run.model_dump(exclude={"owner", "reserved_for", "last_seq"}), "events": events.get(run.id, [])}
            for run in runs.values()
        ],
    }
    return json.dumps(data, ensure_ascii=False, indent=2) + "\n"
