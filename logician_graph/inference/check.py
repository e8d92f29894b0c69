"""Tries an endpoint for real: what the Test button and ``doctor`` show.

Three short completions at most: plain text (latency, streaming), a tool call, a constrained reply. Nothing is guessed:
what was not tried is None.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from logician_graph.errors import AuthenticationFailed, ProviderError
from logician_graph.inference.endpoint import Endpoint
from logician_graph.inference.types import ChatMessage, ProviderCheck, ToolSpec
from logician_graph.inference.wire import ReplyAssembler, tool_payload

_NUMBERS = (ChatMessage("user", "Count from 1 to 5, nothing else."),)
_WEATHER = (ChatMessage("user", "What is the weather in Paris? Use the tool."),)
_TOOL = ToolSpec(
    "get_weather",
    "Weather in a city.",
    {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)
_SCHEMA = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
_TOKENS = 64


async def check_endpoint(
    endpoint: Endpoint, model: str, models: tuple[str, ...], *, clock: Callable[[], float] = time.perf_counter
) -> ProviderCheck:
    """Measure ``model`` at ``endpoint``; the first failure ends the check and its message says what to mend."""
    measured = ProviderCheck(ok=False, message="", models=models)
    started = clock()
    first: float | None = None
    pieces = 0
    reply = ReplyAssembler()
    try:
        async with aclosing(endpoint.stream(model, _NUMBERS, {"max_tokens": _TOKENS})) as batches:
            async for batch in batches:
                grown = sum(1 for chunk in batch for _ in reply.feed(chunk))
                pieces += grown
                first = first if first is not None or not grown else clock() - started
        measured = replace(
            measured, latency_s=clock() - started, first_token_s=first, streaming=pieces > 1 if pieces else None
        )
        if not reply.text.strip() and not reply.reasoning:
            return replace(measured, message=f"{model!r} answered with nothing.")
        measured = replace(measured, tools=await _calls_tools(endpoint, model))
        measured = replace(measured, json_schema=await _keeps_schema(endpoint, model))
    except ProviderError as error:
        return replace(measured, message=str(error))
    return replace(measured, ok=True, message=_summary(measured, model))


async def _calls_tools(endpoint: Endpoint, model: str) -> bool:
    """Whether the endpoint reports a tool call as one; an endpoint that refuses ``tools`` does not."""
    reply = await _reply(endpoint, model, _WEATHER, {"tools": tool_payload([_TOOL])})
    return reply is not None and bool(reply.calls()[0])


async def _keeps_schema(endpoint: Endpoint, model: str) -> bool:
    """Whether the endpoint holds the model to a JSON schema."""
    schema = {"type": "json_schema", "json_schema": {"name": "check", "schema": _SCHEMA}}
    reply = await _reply(endpoint, model, _NUMBERS, {"response_format": schema})
    try:
        value: Any = json.loads(reply.text) if reply is not None else None
    except ValueError:
        return False
    return isinstance(value, dict) and isinstance(value.get("ok"), bool)  # pyright: ignore[reportUnknownMemberType]


async def _reply(
    endpoint: Endpoint, model: str, messages: tuple[ChatMessage, ...], fields: dict[str, Any]
) -> ReplyAssembler | None:
    reply = ReplyAssembler()
    try:
        async with aclosing(endpoint.stream(model, messages, {"max_tokens": _TOKENS, **fields})) as batches:
            async for batch in batches:
                for chunk in batch:
                    for _ in reply.feed(chunk):
                        pass
    except AuthenticationFailed:
        raise
    except ProviderError:
        return None
    return reply


def _summary(measured: ProviderCheck, model: str) -> str:
    calling = "tool calls work" if measured.tools else "no native tool calls"
    schema = "JSON schemas are kept" if measured.json_schema else "JSON schemas are not kept"
    seconds = measured.first_token_s or measured.latency_s or 0.0
    return f"{model!r} answers, first token after {seconds:.1f} s; {calling}; {schema}."
