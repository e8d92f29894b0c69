"""Any endpoint that speaks the OpenAI chat API: streaming, native tool calls, typed errors, bounded retry."""

from __future__ import annotations

import asyncio
import importlib
import itertools
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from pydantic import SecretStr

from logician_graph.inference.retry import RetryPolicy, Sleep, with_retries
from logician_graph.inference.types import (
    ChatPart,
    ChatRequest,
    ChatResult,
    ModelInfo,
    ToolCalling,
)
from logician_graph.inference.wire import ReplyAssembler, require_content, tool_payload

if TYPE_CHECKING:
    from logician_graph.inference.endpoint import Endpoint


@dataclass(frozen=True, slots=True)
class EndpointOptions:
    """How to reach an endpoint and how long to wait for it."""

    base_url: str
    api_key: SecretStr | None = None
    headers: Mapping[str, SecretStr] = field(default_factory=dict[str, SecretStr])
    """Sent with every request; values are treated like keys."""
    connect_timeout_s: float = 10.0
    first_token_timeout_s: float = 300.0
    """Generous: a local model on a CPU may read a long prompt for minutes."""
    stall_timeout_s: float = 120.0
    """Longest silence between two chunks."""
    retry: RetryPolicy = field(default_factory=RetryPolicy)


class OpenAICompatible:
    """A provider on langchain-openai. Instances live on one event loop and serve many calls at once."""

    name = "openai"

    def __init__(
        self,
        options: EndpointOptions,
        *,
        tool_calling: ToolCalling = "native",
        context_window: int | None = None,
        temperature: float | None = None,
        local: bool = False,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._options = options
        self._tool_calling: ToolCalling = tool_calling
        self._context_window = context_window
        self._temperature = temperature
        self._local = local
        self._sleep = sleep
        self._shown_url = shown_url(options.base_url)
        self._endpoint: Endpoint | None = None
        self._opening = asyncio.Lock()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._shown_url!r}, tool_calling={self._tool_calling!r})"

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatPart]:
        """See :meth:`Provider.stream`."""
        endpoint = await self._open()
        served = itertools.count(1)
        attempts = with_retries(
            lambda: self._attempt(endpoint, request, served), self._options.retry, sleep=self._sleep
        )
        async with aclosing(attempts) as parts:
            async for part in parts:
                yield part

    async def _attempt(
        self, endpoint: Endpoint, request: ChatRequest, served: Iterator[int]
    ) -> AsyncGenerator[ChatPart]:
        """One try. ``served`` counts the tries that the endpoint began to answer: they were most likely billed."""
        fields = self._fields(request)
        if request.tools:
            fields["tools"] = tool_payload(request.tools)
        reply = ReplyAssembler()
        calls_served = 0
        async with aclosing(endpoint.stream(request.model, request.messages, fields)) as chunks:
            async for chunk in chunks:
                calls_served = calls_served or next(served)
                for part in reply.feed(chunk):
                    yield part
        require_content(reply)
        calls, invalid = reply.calls()
        yield ChatResult(
            text=reply.text,
            tool_calls=calls,
            invalid_calls=invalid,
            finish_reason=reply.finish_reason,
            usage=replace(reply.usage, calls=calls_served),
            reasoning=reply.reasoning,
            model=reply.model or request.model,
        )

    def _fields(self, request: ChatRequest) -> dict[str, Any]:
        temperature = self._temperature if request.temperature is None else request.temperature
        length = "max_completion_tokens" if "api.openai.com" in self._options.base_url else "max_tokens"
        fields = {"temperature": temperature, length: request.max_output_tokens, "seed": request.seed}
        return {name: value for name, value in fields.items() if value is not None}

    async def _open(self) -> Endpoint:
        """The endpoint, made at first use; the SDK is imported in a thread because that takes over a second."""
        async with self._opening:
            endpoint = self._endpoint
            if endpoint is None:
                module = await asyncio.to_thread(importlib.import_module, "logician_graph.inference.endpoint")
                options = self._options
                endpoint = self._endpoint = module.Endpoint(
                    base_url=options.base_url,
                    shown_url=self._shown_url,
                    api_key=options.api_key,
                    headers=options.headers,
                    connect_timeout_s=options.connect_timeout_s,
                    first_token_timeout_s=options.first_token_timeout_s,
                    stall_timeout_s=options.stall_timeout_s,
                )
            return endpoint

    async def info(self, model: str) -> ModelInfo:
        """See :meth:`Provider.info`."""
        return ModelInfo(model, self._context_window, self._tool_calling, self._local)

    async def count_tokens(self, text: str) -> int | None:
        """The chat API cannot count without cost."""
        return None

    async def aclose(self) -> None:
        """Close every connection; a later call opens them anew."""
        endpoint, self._endpoint = self._endpoint, None
        if endpoint is not None:
            await endpoint.aclose()


def shown_url(base_url: str) -> str:
    """``base_url`` without user, password and query, fit for messages."""
    parts = urlsplit(base_url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "", ""))
