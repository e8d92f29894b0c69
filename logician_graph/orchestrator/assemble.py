"""What a model call sends: history, window and prompt put together, and the record from which it can be rebuilt.

The record (``request`` of the ``model.started`` event) names the first and last message, what between them was
shortened or left out, and the hash of the frame (system prompt and tool list), which is kept once as a blob.
:func:`rebuild` makes the same request.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from logician_graph.inference import ChatMessage, ChatRequest, ToolCall, ToolSpec, estimate_tokens
from logician_graph.orchestrator.history import repair, to_chat
from logician_graph.orchestrator.window import Entry, WindowPlan, plan_window, shorten_text
from storage import Message

LEFT_OUT = "(Earlier turns of this conversation were left out to fit the context window.)"
STEPS_LEFT_OUT = "(Your earlier steps for this were left out to fit the context window.)"
DEFAULT_WINDOW = 32_768
"""Tokens assumed when neither the provider nor the settings know the window."""


@dataclass(frozen=True, slots=True)
class Assembled:
    """A request ready to send, with its record."""

    request: ChatRequest
    record: dict[str, Any]
    blobs: dict[str, str]
    plan: WindowPlan
    first_id: str
    budget: int
    issues: list[str]


class _Converted:
    """Messages never change, so each is converted and measured once. Bounded; safe from any thread."""

    def __init__(self, most: int = 50_000) -> None:
        self._most = most
        self._known: dict[str, tuple[ChatMessage, Entry]] = {}

    def __call__(self, message: Message) -> tuple[ChatMessage, Entry]:
        known = self._known.get(message.id)
        if known is None:
            if len(self._known) >= self._most:
                self._known.clear()
            known = self._known[message.id] = _convert(message)
        return known


_converted = _Converted()


def _convert(message: Message) -> tuple[ChatMessage, Entry]:
    chat = to_chat(message)
    arguments = [call.arguments for call in chat.tool_calls]
    fixed = estimate_tokens(json.dumps(arguments, ensure_ascii=False)) if arguments else 0
    by_person = message.role == "user" and (message.extra or {}).get("origin") is None
    return chat, Entry(estimate_tokens(chat.text) + fixed, by_person, message.role == "tool", fixed)


def sha256(text: str) -> str:
    """Hex SHA-256 of ``text`` in UTF-8."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def tools_text(tools: Sequence[ToolSpec]) -> str:
    """The tool list as one canonical JSON text."""
    plain = [{"name": t.name, "description": t.description, "parameters": t.parameters} for t in tools]
    return json.dumps(plain, ensure_ascii=False, sort_keys=True)


def assemble(
    history: Sequence[Message],
    *,
    system: str,
    tools: Sequence[ToolSpec],
    model: str,
    window: int | None,
    window_from: str | None,
    max_output_tokens: int | None,
    temperature: float | None,
    seed: int | None,
    excluded: Sequence[ToolCall] = (),
    settled: Sequence[ToolCall] = (),
    squeeze: float = 1.0,
) -> Assembled:
    """The request for the branch ``history`` (oldest first, ending with what the model answers).

    ``squeeze`` < 1 makes the budget smaller, after the provider said that the request was too long.
    """
    window = window or DEFAULT_WINDOW
    tool_list = tools_text(tools)
    reserve = max_output_tokens or min(4096, window // 4)
    fixed = estimate_tokens(system) + estimate_tokens(tool_list)
    budget = max(256, int((window - reserve - fixed) * 0.95 * squeeze))
    entries = [_converted(message)[1] for message in history]
    start = next((index for index, message in enumerate(history) if message.id == window_from), 0)
    plan = plan_window(entries, budget, start=start)
    shortened = {history[index].id: tokens for index, tokens in plan.shortened.items()}
    omitted = [history[plan.omitted[0]].id, history[plan.omitted[-1]].id] if plan.omitted else []
    messages, issues = _render(history[plan.start :], shortened, omitted)
    frame = json.dumps({"system": system, "tools": tool_list}, ensure_ascii=False)
    frame_id = sha256(frame)[:32]
    request = ChatRequest(
        model=model,
        messages=(ChatMessage("system", system), *messages),
        tools=tuple(tools),
        temperature=temperature,
        max_output_tokens=max_output_tokens,
        seed=seed,
        excluded_calls=tuple(excluded),
        settled_calls=tuple(settled),
    )
    record: dict[str, Any] = {
        "first": history[plan.start].id,
        "last": history[-1].id,
        "frame": frame_id,
        "window": window,
        "estimated": {"system": estimate_tokens(system), "tools": estimate_tokens(tool_list), "history": plan.tokens},
    }
    options = {"max_output_tokens": max_output_tokens, "temperature": temperature, "seed": seed}
    record |= {name: value for name, value in options.items() if value is not None}
    if shortened:
        record["shortened"] = shortened
    if omitted:
        record["omitted"] = omitted
    for name, calls in (("excluded", excluded), ("settled", settled)):
        if calls:
            record[name] = [{"id": c.id, "name": c.name, "arguments": c.arguments} for c in calls]
    return Assembled(request, record, {frame_id: frame}, plan, history[plan.start].id, budget, issues)


def _render(
    history: Sequence[Message], shortened: Mapping[str, int], omitted: Sequence[str]
) -> tuple[list[ChatMessage], list[str]]:
    ids = [message.id for message in history]
    left_out = range(ids.index(omitted[0]), ids.index(omitted[1]) + 1) if omitted else range(0)
    chats: list[ChatMessage] = []
    for index, message in enumerate(history):
        if index in left_out:
            continue
        chat, entry = _converted(message)
        if message.id in shortened:
            chat = replace(chat, text=shorten_text(chat.text, shortened[message.id], entry.tokens - entry.fixed))
        if index == 0 and message.parent_id is not None and chat.role == "user":
            chat = replace(chat, text=f"{LEFT_OUT}\n\n{chat.text}")
        if index + 1 in left_out:
            chat = replace(chat, text=f"{chat.text}\n\n{STEPS_LEFT_OUT}")
        chats.append(chat)
    return repair(chats)


def rebuild(record: Mapping[str, Any], model: str, branch: Sequence[Message], blobs: Mapping[str, str]) -> ChatRequest:
    """The request that ``record`` describes. ``branch`` must hold the messages from first to last, in order."""
    ids = [message.id for message in branch]
    history = branch[ids.index(record["first"]) : ids.index(record["last"]) + 1]
    frame = json.loads(blobs[record["frame"]])
    messages, _ = _render(history, record.get("shortened") or {}, record.get("omitted") or ())
    return ChatRequest(
        model=model,
        messages=(ChatMessage("system", frame["system"]), *messages),
        tools=tuple(ToolSpec(**tool) for tool in json.loads(frame["tools"])),
        temperature=record.get("temperature"),
        max_output_tokens=record.get("max_output_tokens"),
        seed=record.get("seed"),
        excluded_calls=tuple(ToolCall(**call) for call in record.get("excluded") or ()),
        settled_calls=tuple(ToolCall(**call) for call in record.get("settled") or ()),
    )
