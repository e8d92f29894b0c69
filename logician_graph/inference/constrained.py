"""Tool calls by schema-constrained decoding: the reply is always one JSON object that names a tool or answers.

Small models write calls in every form but the endpoint's own; under a JSON schema with one variant per tool and an
``answer`` variant the call always parses. Needs an endpoint that enforces ``response_format: json_schema`` (llama.cpp,
vLLM and others). Where an endpoint does not, the reply is read as text and calls in it are recovered.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, cast

from logician_graph.inference.answer_stream import AnswerStream
from logician_graph.inference.dialect import Reader, RecoveringReader
from logician_graph.inference.transcript import ANSWER, call_json, in_plain_messages, tool_list
from logician_graph.inference.types import (
    ChatMessage,
    ChatPart,
    ChatRequest,
    ChatResult,
    InvalidToolCall,
    TextDelta,
    ToolCall,
    ToolSpec,
)
from logician_graph.inference.wire import CUT_CALL, ReplyAssembler, new_call_id, scrub

LONGEST_REPLY_TOKENS = 2048
"""Sent where the request names no bound: a grammar cannot stop a model that repeats itself inside a string."""

_AFTER_RESULT = "\n\nIf the task is done, answer. If not, make the next call."
_PREFACE = (
    'Reply with one JSON object: {{"tool": NAME, "arguments": {{…}}}}. Tools:\n{tools}\n'
    "- answer(text: string): Tell the person the answer. Use it only when the work is done or no tool is needed."
)


def constrained_schema(tools: Sequence[ToolSpec], *, thought_chars: int = 0) -> dict[str, Any]:
    """The schema of a reply: ``anyOf`` over the tools and ``answer``.

    With ``thought_chars`` each variant begins with a ``thought`` of at most so many characters.
    """
    answer = ToolSpec(ANSWER, "", {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]})
    return {"anyOf": [_variant(_without_switches(tool), thought_chars) for tool in (*tools, answer)]}


class ConstrainedDialect:
    """Schema-constrained replies."""

    def __init__(self, *, thought_chars: int = 0) -> None:
        self._thought_chars = thought_chars

    def messages(self, request: ChatRequest) -> tuple[ChatMessage, ...]:
        """Plain messages, in which the model's own turns are the JSON that it writes."""
        if not request.tools:
            return request.messages
        preface = _PREFACE.format(tools=tool_list([_told(tool) for tool in request.tools]))
        return in_plain_messages(request.messages, preface=preface, say=self._say, after_result=_AFTER_RESULT)

    def fields(self, request: ChatRequest) -> dict[str, Any]:
        """The schema; without tools there is nothing to constrain."""
        bound = {} if request.max_output_tokens is not None else {"max_tokens": LONGEST_REPLY_TOKENS}
        if not request.tools:
            return bound
        tools = [tool for tool in request.tools if tool.name not in request.withheld]
        schema = constrained_schema(tools, thought_chars=self._thought_chars)
        wrapped = {"name": "reply", "strict": True, "schema": schema}
        return {**bound, "response_format": {"type": "json_schema", "json_schema": wrapped}}

    def reader(self, request: ChatRequest) -> Reader:
        """A reader of the one object."""
        return ConstrainedReader(request) if request.tools else RecoveringReader(request)

    def _say(self, message: ChatMessage) -> str:
        if not message.tool_calls:
            return call_json(ANSWER, {"text": message.text})
        thought = message.text[: self._thought_chars]
        return "\n".join(call_json(call.name, call.arguments, thought=thought) for call in message.tool_calls)


class ConstrainedReader:
    """Shows the reply while it is written and reads it as a whole at the end."""

    def __init__(self, request: ChatRequest) -> None:
        self._request = request
        self._known = {tool.name for tool in request.tools}
        self._stream = AnswerStream()

    def feed(self, part: ChatPart) -> Iterator[ChatPart]:
        """See :class:`Reader`."""
        if isinstance(part, TextDelta):
            yield from self._stream.feed(part.text)
        else:
            yield part

    def finish(self, reply: ReplyAssembler) -> Iterator[ChatPart]:
        """See :class:`Reader`."""
        try:
            value: Any = json.loads(reply.text)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict):
            yield self._whole(cast(dict[str, Any], value), reply)
        elif reply.text.lstrip().startswith("{") and reply.finish_reason == "length":
            yield self._cut(reply)
        else:
            yield from RecoveringReader(self._request).finish(reply)

    def _whole(self, value: dict[str, Any], reply: ReplyAssembler) -> ChatResult:
        named: Any = value.get("tool")
        tool = named if isinstance(named, str) else ""
        arguments: Any = scrub(value.get("arguments"))
        thought = str(value.get("thought") or "")
        text, calls, invalid = "", (), ()
        if tool == ANSWER and isinstance(arguments, dict):
            text = str(cast(dict[str, Any], arguments).get("text", ""))
        elif tool in self._known and isinstance(arguments, dict):
            calls = (ToolCall(new_call_id(), tool, self._as_text(tool, cast(dict[str, Any], arguments))),)
        else:
            error = f"the reply names no tool that there is: {tool!r}"
            invalid = (InvalidToolCall(new_call_id(), tool, reply.text, error),)
        finish = "tool_calls" if calls or invalid else reply.finish_reason
        return ChatResult(text, calls, invalid, finish, reasoning=reply.reasoning or scrub(thought), model=reply.model)

    def _as_text(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The arguments with what was written as JSON in place of a file's text turned into that text."""
        texts = next((_files(tool) for tool in self._request.tools if tool.name == name), set[str]())
        return {
            key: json.dumps(value, indent=2, ensure_ascii=False) + "\n"
            if key in texts and isinstance(value, dict | list)
            else value
            for key, value in arguments.items()
        }

    def _cut(self, reply: ReplyAssembler) -> ChatResult:
        """A reply that ran into the output limit: a partial answer is kept, a partial call is invalid."""
        shown = AnswerStream()
        answer = "".join(part.text for part in shown.feed(reply.text) if isinstance(part, TextDelta))
        invalid = ()
        if shown.tool != ANSWER:
            invalid = (InvalidToolCall(new_call_id(), shown.tool, reply.text, CUT_CALL),)
        return ChatResult(answer, (), invalid, "length", reasoning=reply.reasoning, model=reply.model)


def _without_switches(tool: ToolSpec) -> ToolSpec:
    """The tool without its optional switches: a small model sets every switch that it sees, such as ``replace_all``."""
    required = set[str](tool.parameters.get("required") or ())
    properties = cast("dict[str, Any]", tool.parameters.get("properties") or {})
    kept = {name: what for name, what in properties.items() if name in required or what.get("type") != "boolean"}
    return replace(tool, parameters={**tool.parameters, "properties": kept})


def _told(tool: ToolSpec) -> ToolSpec:
    """The tool as the prompt lists it."""
    hints = [f' For a .json file give the JSON itself: "{name}": {{"key": "value"}}.' for name in _files(tool)]
    return replace(_without_switches(tool), description=tool.description + "".join(hints))


def _files(tool: ToolSpec) -> set[str]:
    """Arguments that are the text of a file."""
    properties = cast("dict[str, Any]", tool.parameters.get("properties") or {})
    return {name for name, what in properties.items() if "contentMediaType" in what}


def _or_json(tool: ToolSpec) -> dict[str, Any]:
    """The parameters, where a file's text may be written as JSON: a small model shuns quotes that need a backslash."""
    properties = cast("dict[str, Any]", tool.parameters.get("properties") or {})
    either = {"anyOf": [{"type": "string"}, {"type": "object"}, {"type": "array"}]}
    return {**tool.parameters, "properties": properties | dict.fromkeys(_files(tool), either)}


def _variant(tool: ToolSpec, thought_chars: int) -> dict[str, Any]:
    thought = {"thought": {"type": "string", "maxLength": thought_chars}} if thought_chars else {}
    return {
        "type": "object",
        "properties": {**thought, "tool": {"const": tool.name}, "arguments": _or_json(tool)},
        "required": [*thought, "tool", "arguments"],
        "additionalProperties": False,
    }
