"""How tool calls are had from a model: what a request looks like on the wire and how its reply is read.

A :class:`Dialect` is the only place where ``native``, ``text`` and ``constrained`` differ. Pure: the provider moves the
bytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from logician_graph.inference.recovery import fit_to_schema, recover_tool_calls
from logician_graph.inference.transcript import call_json, in_plain_messages, tool_list
from logician_graph.inference.types import (
    ChatMessage,
    ChatPart,
    ChatRequest,
    ChatResult,
    InvalidToolCall,
    TextDelta,
    ToolCall,
)
from logician_graph.inference.wire import CUT_CALL, ReplyAssembler, tool_payload

_MARKER = re.compile(
    r"<\|?(?:tool_?calls?|function_?calls?|tool_use)\|?>|<function=|<invoke\s|\[TOOL_CALLS\]|<\|python_tag\|>"
    r"|(?:^|\n)[ \t]*(?:```\w*\s*)?[{\[]\s*[{\"']"
)
_MARKER_START = re.compile(r"(?:<[\w|]{0,16}|\[[A-Z_]{0,11}|(?:^|\n)\s*(?:`{1,3}\w*\s*)?[{\[]?\s*)$")
_DECIDED_AFTER = 240
_TEXT_PREFACE = (
    "You have these tools:\n{tools}\n\nTo call one, write\n"
    '<tool_call>{{"name": "TOOL", "arguments": {{…}}}}</tool_call>\n'
    "and nothing behind it; the result comes in the next message."
)


class Reader(Protocol):
    """Turns the parts of one reply into what the caller sees."""

    def feed(self, part: ChatPart) -> Iterable[ChatPart]:
        """What to pass on for ``part``."""
        ...

    def finish(self, reply: ReplyAssembler) -> Iterable[ChatPart]:
        """What is left to pass on, and the :class:`ChatResult` last; its ``usage`` is set by the provider."""
        ...


class Dialect(Protocol):
    """One way of having tool calls."""

    def messages(self, request: ChatRequest) -> tuple[ChatMessage, ...]:
        """The messages as they are sent."""
        ...

    def fields(self, request: ChatRequest) -> dict[str, Any]:
        """Further fields of the request body."""
        ...

    def reader(self, request: ChatRequest) -> Reader:
        """A fresh reader for one reply."""
        ...


class NativeDialect:
    """The endpoint's own ``tools`` field; calls that come as text all the same are recovered."""

    def messages(self, request: ChatRequest) -> tuple[ChatMessage, ...]:
        """As they are."""
        return request.messages

    def fields(self, request: ChatRequest) -> dict[str, Any]:
        """The tools."""
        return {"tools": tool_payload(request.tools)} if request.tools else {}

    def reader(self, request: ChatRequest) -> Reader:
        """A reader that recovers."""
        return RecoveringReader(request)


class TextDialect:
    """Tools are described in the prompt, calls are recovered from the text: for endpoints without ``tools``."""

    def messages(self, request: ChatRequest) -> tuple[ChatMessage, ...]:
        """Plain messages with the tools in the system message."""
        if not request.tools:
            return request.messages
        preface = _TEXT_PREFACE.format(tools=tool_list(request.tools))
        return in_plain_messages(request.messages, preface=preface, say=_tagged)

    def fields(self, request: ChatRequest) -> dict[str, Any]:
        """None."""
        return {}

    def reader(self, request: ChatRequest) -> Reader:
        """A reader that recovers."""
        return RecoveringReader(request)


class RecoveringReader:
    """Passes text on, holds back what looks like a call, and recovers calls at the end."""

    def __init__(self, request: ChatRequest) -> None:
        self._tools = {tool.name: tool for tool in request.tools}
        self._held = _Held(frozenset(self._tools)) if self._tools else None

    def feed(self, part: ChatPart) -> Iterator[ChatPart]:
        """See :class:`Reader`."""
        if not isinstance(part, TextDelta) or self._held is None:
            yield part
        elif text := self._held.feed(part.text):
            yield TextDelta(text)

    def finish(self, reply: ReplyAssembler) -> Iterator[ChatPart]:
        """See :class:`Reader`."""
        text = reply.text
        finish = reply.finish_reason
        calls, invalid = reply.calls()
        recovered = False
        if self._tools and not calls and not invalid:
            found = recover_tool_calls(text, self._tools)
            recovered = bool(found.calls)
            if recovered:
                text = found.prose.strip()
                calls, invalid = self._usable(found.calls, cut=finish == "length")
                finish = finish if finish == "length" else "tool_calls"
        if self._held is not None and not recovered and (rest := self._held.rest()):
            yield TextDelta(rest)
        yield ChatResult(
            text=text,
            tool_calls=calls,
            invalid_calls=invalid,
            finish_reason=finish,
            reasoning=reply.reasoning,
            model=reply.model,
            recovered=recovered,
        )

    def _usable(
        self, calls: tuple[ToolCall, ...], *, cut: bool
    ) -> tuple[tuple[ToolCall, ...], tuple[InvalidToolCall, ...]]:
        if cut:
            return (), tuple(
                InvalidToolCall(call.id, call.name, call_json(call.name, call.arguments), CUT_CALL) for call in calls
            )
        fitted = (
            ToolCall(call.id, call.name, fit_to_schema(call.arguments, self._tools[call.name].parameters))
            for call in calls
        )
        return tuple(fitted), ()


class _Held:
    """Text that may be the beginning of a call is kept from the screen until that is decided.

    Decided means: a known tool's name does not follow soon, so it is passed on; or the reply ends.
    """

    def __init__(self, tools: frozenset[str]) -> None:
        self._tools = tools
        self._text = ""
        self._certain = False

    def feed(self, text: str) -> str:
        """What may be shown now."""
        self._text += text
        if self._certain:
            return ""
        marker = _MARKER.search(self._text)
        if marker is None:
            start = _MARKER_START.search(self._text[-80:])
            keep = 0 if start is None else len(start[0])
            return self._give(len(self._text) - keep)
        shown = self._give(marker.start())
        if any(name in self._text for name in self._tools):
            self._certain = True
        elif len(self._text) > _DECIDED_AFTER:
            shown += self._give(len(self._text))
        return shown

    def rest(self) -> str:
        """All that is still held."""
        return self._give(len(self._text))

    def _give(self, count: int) -> str:
        given, self._text = self._text[:count], self._text[count:]
        return given


def _tagged(message: ChatMessage) -> str:
    calls = (
        f"<tool_call>{json.dumps({'name': call.name, 'arguments': call.arguments}, ensure_ascii=False)}</tool_call>"
        for call in message.tool_calls
    )
    return "\n".join(part for part in (message.text, *calls) if part)
