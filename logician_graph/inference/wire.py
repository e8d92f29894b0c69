"""OpenAI chat wire format: chunks in, parts out. Pure: no sockets, no clock, no library objects.

:class:`ReplyAssembler` takes the stream's chunks as parsed JSON and is forgiving where endpoints differ (missing
``index``, all indices 0, null deltas, content as a list of parts, several names for reasoning) and strict where it
matters: a call is handed back as a call only when it is complete, and calls of a reply that was cut at the output limit
are all invalid.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from logician_graph.errors import TransientProviderError
from logician_graph.inference.types import (
    ChatMessage,
    ChatPart,
    FinishReason,
    InvalidToolCall,
    ReasoningDelta,
    TextDelta,
    ToolCall,
    ToolCallProgress,
    ToolSpec,
    Usage,
)

_FINISH: Mapping[str, FinishReason] = {
    "stop": "stop",
    "length": "length",
    "max_tokens": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
}
_REASONING_FIELDS = ("reasoning_content", "reasoning")
CUT_CALL = "the reply reached its output limit before the call was complete; write less in one call, or split it"


def scrub(value: Any) -> Any:
    """``value`` with lone surrogates replaced, so that it can be encoded; everything else is kept as it is."""
    match value:
        case str():
            return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")
        case dict():
            return {scrub(key): scrub(item) for key, item in cast(dict[Any, Any], value).items()}
        case list() | tuple():
            return [scrub(item) for item in cast(Sequence[Any], value)]
        case _:
            return value


def message_payload(message: ChatMessage) -> dict[str, Any]:
    """One message as it is sent."""
    sent: dict[str, Any] = {"role": message.role, "content": scrub(message.text)}
    if message.role == "tool":
        sent["tool_call_id"] = message.tool_call_id or ""
    if message.tool_calls:
        sent["content"] = sent["content"] or None  # some endpoints refuse an empty text beside calls
        sent["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {
                    "name": call.name,
                    "arguments": json.dumps(scrub(call.arguments), ensure_ascii=False),
                },
            }
            for call in message.tool_calls
        ]
    return sent


def tool_payload(tools: Sequence[ToolSpec]) -> list[dict[str, Any]]:
    """The ``tools`` field of a request."""
    return [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)},
        }
        for tool in tools
    ]


def new_call_id() -> str:
    """An id for a call that came without one."""
    return f"call_{uuid.uuid4().hex[:16]}"


def parse_arguments(raw: str) -> dict[str, Any] | str:
    """The arguments object in ``raw``, or why it is none. Empty means no arguments; a quoted object is unquoted."""
    if not raw.strip():
        return {}
    try:
        value: Any = json.loads(raw)
        if isinstance(value, str):
            value = json.loads(value)
    except (ValueError, RecursionError) as error:
        return f"the arguments are not valid JSON ({error})"
    if not isinstance(value, dict):
        return f"the arguments must be a JSON object, not {type(value).__name__}"
    return cast(dict[str, Any], scrub(value))


@dataclass(slots=True)
class _OpenCall:
    id: str
    name: str = ""
    arguments: list[str] = field(default_factory=list[str])
    characters: int = 0


@dataclass(slots=True)
class ReplyAssembler:
    """Collects one streamed reply. Feed every chunk, then read :meth:`calls` and the fields."""

    texts: list[str] = field(default_factory=list[str])
    reasonings: list[str] = field(default_factory=list[str])
    usage: Usage = field(default_factory=Usage)
    model: str = ""
    raw_finish: str | None = None
    _calls: list[_OpenCall] = field(default_factory=list[_OpenCall])
    _by_index: dict[Any, _OpenCall] = field(default_factory=dict[Any, _OpenCall])

    def feed(self, chunk: Mapping[str, Any]) -> Iterator[ChatPart]:
        """Parts that one chunk brings."""
        if chunk.get("model"):
            self.model = str(chunk["model"])
        if isinstance(chunk.get("usage"), Mapping):
            self.usage = parse_usage(chunk["usage"])
        choices: Any = chunk.get("choices")
        if not choices:
            return
        choice: Mapping[str, Any] = choices[0]
        if choice.get("finish_reason"):
            self.raw_finish = str(choice["finish_reason"])
        delta: Mapping[str, Any] = choice.get("delta") or choice.get("message") or {}
        yield from self._reasoning(delta)
        yield from self._content(delta.get("content"))
        for fragment in delta.get("tool_calls") or ():
            yield self._tool_fragment(fragment)

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(self.texts)

    @property
    def reasoning(self) -> str:
        """The reasoning so far."""
        return "".join(self.reasonings)

    @property
    def finish_reason(self) -> FinishReason:
        """The endpoint's reason in our words; an unknown word counts as ``stop``."""
        reason = _FINISH.get(self.raw_finish or "stop", "stop")
        return "tool_calls" if reason == "stop" and self._calls else reason

    def calls(self) -> tuple[tuple[ToolCall, ...], tuple[InvalidToolCall, ...]]:
        """The calls as far as they can be run, and those that cannot with the reason."""
        valid: list[ToolCall] = []
        invalid: list[InvalidToolCall] = []
        seen: set[str] = set()
        for call in self._calls:
            call_id = call.id if call.id and call.id not in seen else new_call_id()
            seen.add(call_id)
            raw = "".join(call.arguments)
            arguments = CUT_CALL if self.finish_reason == "length" else parse_arguments(raw)
            if isinstance(arguments, dict) and not call.name:
                arguments = "the call names no tool"
            if isinstance(arguments, str):
                invalid.append(InvalidToolCall(call_id, call.name, raw, arguments))
            else:
                valid.append(ToolCall(call_id, call.name, arguments))
        return tuple(valid), tuple(invalid)

    def _reasoning(self, delta: Mapping[str, Any]) -> Iterator[ChatPart]:
        for name in _REASONING_FIELDS:
            piece = delta.get(name)
            if isinstance(piece, str) and piece:
                self.reasonings.append(piece)
                yield ReasoningDelta(piece)
                return

    def _content(self, content: Any) -> Iterator[ChatPart]:
        if isinstance(content, str):
            if content:
                self.texts.append(content)
                yield TextDelta(content)
        elif isinstance(content, list):
            for part in cast(list[Any], content):
                piece = part.get("text") if isinstance(part, dict) else part  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
                yield from self._content(piece if isinstance(piece, str) else None)

    def _tool_fragment(self, fragment: Mapping[str, Any]) -> ChatPart:
        function: Mapping[str, Any] = fragment.get("function") or {}
        call = self._call_of(fragment, function)
        if function.get("name") and not call.name:
            call.name = str(function["name"])
        arguments: Any = function.get("arguments")
        if arguments:
            piece = arguments if isinstance(arguments, str) else json.dumps(arguments)
            call.arguments.append(piece)
            call.characters += len(piece)
        return ToolCallProgress(call.name, call.characters)

    def _call_of(self, fragment: Mapping[str, Any], function: Mapping[str, Any]) -> _OpenCall:
        """The call a fragment belongs to: by index, unless a fresh id with a name says that it starts another."""
        index = fragment.get("index")
        call_id = str(fragment.get("id") or "")
        known = self._by_index.get(index) if index is not None or call_id == "" else None
        if known is None and index is None and self._calls and not (call_id or function.get("name")):
            known = self._calls[-1]
        starts_another = known is not None and call_id and known.id != call_id and function.get("name")
        if known is None or starts_another:
            known = _OpenCall(call_id)
            self._calls.append(known)
            self._by_index[index] = known
        return known


def merged(parts: Iterable[ChatPart]) -> Iterator[ChatPart]:
    """``parts`` with neighbours of one kind joined: what came together is shown together."""
    waiting: ChatPart | None = None
    for part in parts:
        match waiting, part:
            case TextDelta(text=one), TextDelta(text=other):
                waiting = TextDelta(one + other)
            case ReasoningDelta(text=one), ReasoningDelta(text=other):
                waiting = ReasoningDelta(one + other)
            case ToolCallProgress(name=one), ToolCallProgress(name=other) if one == other:
                waiting = part
            case _:
                if waiting is not None:
                    yield waiting
                waiting = part
    if waiting is not None:
        yield waiting


def parse_usage(usage: Mapping[str, Any]) -> Usage:
    """Tokens as reported; what is missing or no number stays None."""
    details: Mapping[str, Any] = usage.get("prompt_tokens_details") or {}
    cached = details.get("cached_tokens", usage.get("prompt_cache_hit_tokens"))
    return Usage(_count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens")), _count(cached))


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def error_in_chunk(chunk: Mapping[str, Any]) -> str | None:
    """The message of an ``error`` chunk, as gateways send it in the middle of a stream."""
    error: Any = chunk.get("error")
    if not error:
        return None
    if isinstance(error, Mapping):
        return str(cast(Mapping[str, Any], error).get("message") or "unnamed error")
    return str(error)


def require_content(assembler: ReplyAssembler) -> None:
    """Raise for a complete reply that says nothing, unless its limits explain why it says nothing."""
    valid, invalid = assembler.calls()
    if assembler.text.strip() or valid or invalid or assembler.finish_reason in {"length", "content_filter"}:
        return
    raise TransientProviderError("The endpoint sent an empty reply: no text and no tool call.")
