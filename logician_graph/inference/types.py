"""What the rest of the house knows about models: one request, one stream of parts, one result.

A provider turns a :class:`ChatRequest` into a stream that ends with exactly one :class:`ChatResult`. Everything
that differs between endpoints (wire format, retries, tool calls written as prose, constrained decoding) stays
behind :class:`Provider`. Nothing here knows runs, threads or storage.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

Role = Literal["system", "user", "assistant", "tool"]
FinishReason = Literal["stop", "length", "tool_calls", "content_filter"]
ToolCalling = Literal["native", "constrained", "text"]
"""How tool calls are had from a model.

``native``: the endpoint's own ``tools`` field (with recovery of calls that the model wrote as text).
``constrained``: every reply is one JSON object under a schema with one variant per tool and an ``answer`` variant.
``text``: tools are described in the prompt, calls are recovered from the text.
"""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model sees it. ``parameters`` is a JSON schema of type object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A parsed call. ``arguments`` is always a JSON object; ``id`` is unique within the reply."""

    id: str
    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class InvalidToolCall:
    """A call that could not be parsed (malformed or truncated); ``raw`` is what the model wrote."""

    id: str
    name: str
    raw: str
    error: str


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message as sent. ``tool_calls`` only on assistant, ``tool_call_id`` only on tool messages."""

    role: Role
    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One provider call. ``max_output_tokens``/``temperature``/``seed`` None means the provider's default."""

    model: str
    messages: tuple[ChatMessage, ...]
    tools: tuple[ToolSpec, ...] = ()
    temperature: float | None = None
    max_output_tokens: int | None = None
    seed: int | None = None
    excluded_calls: tuple[ToolCall, ...] = ()
    """Calls that just failed in exactly this form; ``constrained`` takes another sample when one is repeated."""
    settled_calls: tuple[ToolCall, ...] = ()
    """Calls that just succeeded; a model that repeats one is done, so ``constrained`` asks it for its answer."""
    withheld: frozenset[str] = frozenset()
    """Tools that may not be called in this reply though they are listed; only ``constrained`` can see to it."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the provider reported them; None where it did not. ``cached`` is a part of ``input``."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    calls: int = 1
    """HTTP requests that were answered with a (possibly rejected) completion, retries and resamples included."""


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More of the answer's text, to be shown at once."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """More of the model's reasoning text (never part of the answer)."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCallProgress:
    """A call is being written: the tool's name as far as known and how many characters of arguments came so far."""

    name: str
    characters: int


@dataclass(frozen=True, slots=True)
class Retrying:
    """The provider waits ``wait_s`` seconds and tries again; text streamed so far in this call is void."""

    attempt: int
    wait_s: float
    error: str


@dataclass(frozen=True, slots=True)
class ChatResult:
    """The whole reply; always the last part of the stream."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    invalid_calls: tuple[InvalidToolCall, ...] = ()
    finish_reason: FinishReason = "stop"
    usage: Usage = field(default_factory=Usage)
    reasoning: str = ""
    model: str = ""
    """The model's name as the endpoint reported it."""
    recovered: bool = False
    """True when calls were recovered from the text instead of the endpoint's tool-call field."""


ChatPart = TextDelta | ReasoningDelta | ToolCallProgress | Retrying | ChatResult


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What a provider knows of a model. ``context_window`` in tokens; None where unknown."""

    model: str
    context_window: int | None
    tool_calling: ToolCalling
    local: bool
    """True when the weights run on this machine: its calls cost no money."""


@dataclass(frozen=True, slots=True)
class ProviderCheck:
    """What the Test button and ``doctor`` show: measured, None where it was not tried."""

    ok: bool
    message: str
    latency_s: float | None = None
    first_token_s: float | None = None
    streaming: bool | None = None
    tools: bool | None = None
    json_schema: bool | None = None
    models: tuple[str, ...] = ()


class Provider(Protocol):
    """A source of completions. Instances live on the engine's event loop and serve many calls at once."""

    name: str

    def stream(self, request: ChatRequest) -> AsyncIterator[ChatPart]:
        """Yield parts as they come and one :class:`ChatResult` last.

        Raises a subclass of ``ProviderError``; :class:`TransientProviderError` never leaves this method (it is
        retried inside, within bounds, then becomes ``ProviderUnavailable``). Closing the iterator or cancelling
        the task that reads it closes the connection at once.
        """
        ...

    async def info(self, model: str) -> ModelInfo:
        """Facts about ``model``; cheap after the first call."""
        ...

    async def count_tokens(self, text: str) -> int | None:
        """Exact tokens of ``text`` where the provider can count without cost, else None (callers estimate)."""
        ...

    async def check(self, model: str) -> ProviderCheck:
        """Try the endpoint for real. Never raises for what the endpoint does; the message says what to mend."""
        ...

    async def aclose(self) -> None:
        """Release connections and child processes."""
        ...
