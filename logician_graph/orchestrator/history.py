"""From stored messages to a history that every provider accepts: pure functions, run before every model call.

:func:`repair` guarantees: each tool message directly follows the assistant message that called it (after its earlier
siblings); each call has exactly one result; call ids are unique within a message; no assistant message is empty; texts
are valid Unicode. It is idempotent and never drops or reorders what a person wrote. It does not shorten anything
(:mod:`.window` does).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from logician_graph.inference import ChatMessage, ToolCall
from logician_graph.orchestrator.texts import valid_unicode
from storage import Message

UNKNOWN_OUTCOME = "Interrupted: this call has no recorded result; whether it had an effect is unknown."


def to_chat(message: Message) -> ChatMessage:
    """A stored message as the model sees it. Malformed calls appear as calls without arguments."""
    extra = message.extra or {}
    if message.role == "user":
        return ChatMessage("user", _user_text(message.text, extra))
    if message.role == "tool":
        return ChatMessage("tool", message.text, tool_call_id=str(extra.get("tool_call_id", "")))
    calls = tuple(
        ToolCall(call["id"], call["name"], call.get("arguments") or {}) for call in extra.get("tool_calls") or ()
    )
    text = message.text
    if extra.get("partial"):
        text = f"{text}\n[Stopped here by the person.]" if text else "[Stopped by the person before an answer.]"
    return ChatMessage("assistant", text, tool_calls=calls)


def _user_text(text: str, extra: dict[str, Any]) -> str:
    parts = [text]
    parts += [f'<attachment name="{a["name"]}">\n{a["shown"]}\n</attachment>' for a in extra.get("attachments") or ()]
    if context := extra.get("context"):
        parts.append(context)
    return "\n\n".join(part for part in parts if part)


def repair(messages: Sequence[ChatMessage]) -> tuple[list[ChatMessage], list[str]]:
    """A valid history with the same content, and what had to be mended (in words, empty when nothing was)."""
    issues: list[str] = []
    clean = [_clean_text(message, issues) for message in messages]
    used: set[int] = set()
    repaired: list[ChatMessage] = []
    for index, message in enumerate(clean):
        if message.role == "tool":
            continue
        if message.role != "assistant":
            repaired.append(_without_calls(message))
            continue
        if not message.text.strip() and not message.tool_calls:
            issues.append("an empty reply was left out")
            continue
        reply, wanted = _unique_ids(message, issues)
        repaired.append(reply if reply.tool_call_id is None else replace(reply, tool_call_id=None))
        for call, original_id in zip(reply.tool_calls, wanted, strict=True):
            found = _find_result(clean, index, original_id, used)
            if found is None:
                issues.append(f"call {call.id!r} of {call.name!r} had no result")
                repaired.append(ChatMessage("tool", UNKNOWN_OUTCOME, tool_call_id=call.id))
            else:
                used.add(found)
                result = clean[found]
                same = result.tool_call_id == call.id and not result.tool_calls
                repaired.append(result if same else ChatMessage("tool", result.text, tool_call_id=call.id))
    for index, message in enumerate(clean):
        if message.role == "tool" and index not in used:
            issues.append(f"a result for {message.tool_call_id!r} that no call asked for was left out")
    return repaired, issues


def _clean_text(message: ChatMessage, issues: list[str]) -> ChatMessage:
    text = valid_unicode(message.text)
    if text == message.text:
        return message
    issues.append("invalid Unicode was replaced")
    return replace(message, text=text)


def _without_calls(message: ChatMessage) -> ChatMessage:
    if message.tool_calls or message.tool_call_id is not None:
        return replace(message, tool_calls=(), tool_call_id=None)
    return message


def _unique_ids(message: ChatMessage, issues: list[str]) -> tuple[ChatMessage, list[str]]:
    """The message with distinct call ids, and for each call the id under which its result is found."""
    wanted = [call.id for call in message.tool_calls]
    if len(set(wanted)) == len(wanted) and all(wanted):
        return message, wanted
    issues.append("calls shared an id or had none")
    taken = set(wanted) - {""}
    seen: set[str] = set()
    calls: list[ToolCall] = []
    for call in message.tool_calls:
        new_id, number = call.id, 2
        while not new_id or new_id in seen or (new_id != call.id and new_id in taken):
            new_id, number = f"{call.id or 'call'}-{number}", number + 1
        seen.add(new_id)
        calls.append(replace(call, id=new_id))
    return replace(message, tool_calls=tuple(calls)), wanted


def _find_result(messages: Sequence[ChatMessage], start: int, call_id: str, used: set[int]) -> int | None:
    for index in range(start + 1, len(messages)):
        message = messages[index]
        if message.role == "tool" and message.tool_call_id == call_id and index not in used:
            return index
        if message.role == "assistant" and any(call.id == call_id for call in message.tool_calls):
            return None
    return None
