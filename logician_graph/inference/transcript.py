"""A conversation with tools, told in plain messages: for models that get tools in the prompt instead of the API.

Assistant calls become the JSON that the model would have written, tool results become user messages, and the system
message gets a list of the tools. Deterministic, so that the same history gives the same prompt prefix and the server's
prompt cache holds. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from logician_graph.inference.types import ChatMessage, ToolCall, ToolSpec

ANSWER = "answer"
"""The name of the variant in which a constrained model speaks to the person."""


def tool_list(tools: Sequence[ToolSpec]) -> str:
    """One line a tool: signature and description, in as few tokens as a small model needs."""
    return "\n".join(f"- {signature(tool)}: {' '.join(tool.description.split())}" for tool in tools)


def signature(tool: ToolSpec) -> str:
    """``name(path: string, limit?: integer)``; optional parameters carry a question mark."""
    properties: Mapping[str, Any] = tool.parameters.get("properties") or {}
    required = set[str](tool.parameters.get("required") or ())
    parts = [f"{name}{'' if name in required else '?'}: {_type(schema)}" for name, schema in properties.items()]
    return f"{tool.name}({', '.join(parts)})"


def call_json(name: str, arguments: Mapping[str, Any], *, thought: str = "") -> str:
    """The object that a constrained model writes for a call."""
    head = {"thought": thought} if thought else {}
    return json.dumps({**head, "tool": name, "arguments": arguments}, ensure_ascii=False)


def in_plain_messages(
    messages: Iterable[ChatMessage], *, preface: str, say: Callable[[ChatMessage], str], after_result: str = ""
) -> tuple[ChatMessage, ...]:
    """``messages`` with system, user and assistant roles only, no two of one role in a row.

    ``preface`` is added to the system message (one is made where there is none); ``say`` writes an assistant message
    as the model would have written it; ``after_result`` stands behind every tool result.
    """
    names: dict[str, str] = {}
    plain: list[ChatMessage] = []
    for message in messages:
        for call in message.tool_calls:
            names[call.id] = call.name
        match message.role:
            case "tool":
                name = names.get(message.tool_call_id or "", "the tool")
                told = ChatMessage("user", f"Result of {name}:\n{message.text}{after_result}")
            case "assistant":
                told = ChatMessage("assistant", say(message))
            case _:
                told = message
        if plain and plain[-1].role == told.role:
            plain[-1] = replace(plain[-1], text=f"{plain[-1].text}\n\n{told.text}")
        else:
            plain.append(told)
    if plain and plain[0].role == "system":
        return (replace(plain[0], text=f"{plain[0].text}\n\n{preface}"), *plain[1:])
    return (ChatMessage("system", preface), *plain)


def same_call(one: ToolCall, other: ToolCall) -> bool:
    """Whether two calls would do exactly the same; how long one may take makes no difference."""
    return one.name == other.name and _deeds(one.arguments) == _deeds(other.arguments)


def _deeds(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if name != "timeout_s"}


def _type(schema: Any) -> str:
    if not isinstance(schema, Mapping):
        return "any"
    fields = cast(Mapping[str, Any], schema)
    if "enum" in fields:
        return "|".join(json.dumps(value) for value in fields["enum"])
    kind = fields.get("type", "any")
    if kind == "array":
        return f"[{_type(fields.get('items'))}]"
    if kind == "object" and fields.get("properties"):
        inner = cast(Mapping[str, Any], fields["properties"])
        required = set[str](fields.get("required") or ())
        parts = [f"{name}{'' if name in required else '?'}: {_type(item)}" for name, item in inner.items()]
        return "{" + ", ".join(parts) + "}"
    return "|".join(cast(list[str], kind)) if isinstance(kind, list) else str(kind)
