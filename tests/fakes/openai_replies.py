"""What the fake endpoint says: one :class:`Reply`, rendered to the bytes of an OpenAI chat completion.

Pure: no sockets, no clock. A reply is written once and rendered for what the request asked: streamed or whole, native
tool calls, or one constrained JSON object when the request carries a ``json_schema`` response format.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Fault = Literal[
    "cut",  # the connection is closed after ``after_tokens`` pieces, without the end of the body
    "reset",  # the same with a TCP reset
    "hang",  # after ``after_tokens`` pieces nothing more comes until the client leaves
    "invalid_json",  # after ``after_tokens`` pieces a chunk that is not JSON
    "error_chunk",  # after ``after_tokens`` pieces an ``{"error": …}`` chunk, as gateways send it
    "no_done",  # the body ends cleanly without a finish reason and without [DONE]
    "empty",  # a complete reply with no text and no calls
    "garbage",  # 200 with an HTML page
]
Call = tuple[str, Mapping[str, Any] | str]
"""A tool's name with its arguments; a string is sent as it is (to send broken JSON)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Token counts to report; ``cached`` is part of ``prompt``."""

    prompt: int
    completion: int
    cached: int = 0


@dataclass(frozen=True, slots=True)
class Reply:
    """One scripted reply. Without a ``status`` it is a 200 whose body is a completion."""

    text: str = ""
    tool_calls: Sequence[Call] = ()
    reasoning: str = ""
    reasoning_field: str = "reasoning_content"
    first_byte_s: float = 0.0
    """Wait before the response starts (headers included)."""
    delay_s: float = 0.0
    """Wait before every piece of the stream."""
    fault: Fault | None = None
    after_tokens: int = 2
    status: int | None = None
    error: Mapping[str, Any] | str | None = None
    """Body of an error reply; a string is sent as plain text."""
    headers: Mapping[str, str] | None = None
    finish_reason: str | None = None
    """Sent instead of the natural one (``stop`` or ``tool_calls``)."""
    usage: Usage | Literal["auto"] | None = "auto"
    argument_piece: int = 8
    """Characters of arguments in each tool-call delta."""
    tool_index: bool = True
    """False leaves ``index`` out of tool-call deltas, as some gateways do."""
    model: str | None = None
    raw_text: bool = False
    """Send ``text`` as it is even when a constrained reply was asked for."""

    @classmethod
    def failing(cls, status: int, message: str, *, retry_after: str | None = None, **error: Any) -> Reply:
        """An error reply in OpenAI's shape."""
        headers = {"Retry-After": retry_after} if retry_after is not None else None
        return cls(status=status, error={"error": {"message": message, "type": "error", **error}}, headers=headers)

    @classmethod
    def context_overflow(cls) -> Reply:
        """OpenAI's wording of a prompt that does not fit."""
        message = "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens."
        return cls.failing(400, message, code="context_length_exceeded")


def pieces(text: str) -> list[str]:
    """``text`` cut the way tokens come: words with the blank before them. Joining gives the text back."""
    return re.findall(r"\s*\S+|\s+", text)


def constrained_text(reply: Reply) -> str:
    """The reply as the one JSON object that a schema-constrained model would write."""
    if reply.raw_text:
        return reply.text
    if reply.tool_calls:
        name, arguments = reply.tool_calls[0]
        if isinstance(arguments, str):
            return f'{{"tool": "{name}", "arguments": {arguments}'
        return json.dumps({"tool": name, "arguments": dict(arguments)})
    return json.dumps({"tool": "answer", "arguments": {"text": reply.text}}, ensure_ascii=False)


def adapt(reply: Reply, body: Mapping[str, Any]) -> Reply:
    """The reply in the form that the request asks for."""
    response_format: Any = body.get("response_format") or {}
    if response_format.get("type") != "json_schema" or reply.status is not None or reply.fault == "empty":
        return reply
    fields = {name: getattr(reply, name) for name in Reply.__dataclass_fields__}
    return Reply(**{**fields, "text": constrained_text(reply), "tool_calls": (), "raw_text": True})


def deltas(reply: Reply, completion_id: str) -> Iterator[dict[str, Any]]:
    """The reply's deltas in order: reasoning, text, then each call with its arguments in fragments."""
    for piece in pieces(reply.reasoning):
        yield {reply.reasoning_field: piece}
    for piece in pieces(reply.text):
        yield {"content": piece}
    for index, (name, arguments) in enumerate(reply.tool_calls):
        written = arguments if isinstance(arguments, str) else json.dumps(dict(arguments))
        place = {"index": index} if reply.tool_index else {}
        head = {"id": call_id(completion_id, index), "type": "function", "function": {"name": name, "arguments": ""}}
        yield {"tool_calls": [{**place, **head}]}
        for start in range(0, len(written), reply.argument_piece):
            fragment = written[start : start + reply.argument_piece]
            yield {"tool_calls": [{**place, "function": {"arguments": fragment}}]}


def call_id(completion_id: str, index: int) -> str:
    """Unique over the server's life, as real ones are."""
    return f"call_{completion_id.rpartition('-')[2]}_{index}"


def finish_reason(reply: Reply) -> str:
    """The reason given or the natural one."""
    return reply.finish_reason or ("tool_calls" if reply.tool_calls else "stop")


def usage_of(reply: Reply, body: Mapping[str, Any]) -> dict[str, Any] | None:
    """The usage object to report: the scripted one, or a count by characters (four to a token)."""
    if reply.usage is None:
        return None
    if reply.usage == "auto":
        written = len(reply.text) + len(reply.reasoning) + sum(len(str(call)) for call in reply.tool_calls)
        usage = Usage(prompt=len(json.dumps(body.get("messages", []))) // 4, completion=written // 4 + 1)
    else:
        usage = reply.usage
    return {
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.completion,
        "total_tokens": usage.prompt + usage.completion,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
    }


def sse(data: Mapping[str, Any] | str) -> bytes:
    """One server-sent event."""
    return f"data: {data if isinstance(data, str) else json.dumps(data)}\n\n".encode()


def stream_events(reply: Reply, body: Mapping[str, Any], completion_id: str) -> list[bytes]:
    """The whole stream, one entry an event, [DONE] last."""
    frame = {"id": completion_id, "object": "chat.completion.chunk", "created": 1_700_000_000}
    frame["model"] = reply.model or str(body.get("model", "fake"))

    def chunk(delta: Mapping[str, Any], reason: str | None = None) -> bytes:
        return sse({**frame, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})

    events = [chunk({"role": "assistant", "content": ""})]
    events.extend(chunk(delta) for delta in deltas(reply, completion_id))
    if reply.fault == "no_done":
        return events
    events.append(chunk({}, finish_reason(reply)))
    usage = usage_of(reply, body)
    if usage is not None and (body.get("stream_options") or {}).get("include_usage"):
        events.append(sse({**frame, "choices": [], "usage": usage}))
    return [*events, sse("[DONE]")]


def completion(reply: Reply, body: Mapping[str, Any], completion_id: str) -> dict[str, Any]:
    """The whole reply as one object, for requests that do not stream."""
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
    if reply.reasoning:
        message[reply.reasoning_field] = reply.reasoning
    if reply.tool_calls:
        message["tool_calls"] = [
            {
                "id": call_id(completion_id, index),
                "type": "function",
                "function": {
                    "name": name,
                    "arguments": arguments if isinstance(arguments, str) else json.dumps(dict(arguments)),
                },
            }
            for index, (name, arguments) in enumerate(reply.tool_calls)
        ]
    return {
        "id": completion_id,
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": reply.model or str(body.get("model", "fake")),
        "choices": [{"index": 0, "message": message, "finish_reason": finish_reason(reply)}],
        "usage": usage_of(reply, body),
    }
