"""Any endpoint that speaks the OpenAI chat API: streaming, native tool calls, typed errors, bounded retry."""

from __future__ import annotations

import asyncio
import importlib
import itertools
from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from logician_graph.errors import AuthenticationFailed, ProviderError
from logician_graph.inference.constrained import ConstrainedDialect
from logician_graph.inference.dialect import Dialect, NativeDialect, TextDialect
from logician_graph.inference.endpoint_options import EndpointOptions
from logician_graph.inference.resampling import RESAMPLES, repeats, resampled, summed
from logician_graph.inference.retry import Sleep, with_retries
from logician_graph.inference.types import (
    ChatPart,
    ChatRequest,
    ChatResult,
    ModelInfo,
    ProviderCheck,
    ToolCall,
    ToolCalling,
    Usage,
)
from logician_graph.inference.wire import ReplyAssembler, merged, require_content

if TYPE_CHECKING:
    from logician_graph.inference.endpoint import Endpoint

_WINDOW_FIELDS = ("max_model_len", "context_length", "max_context_length", "context_window")


class OpenAICompatible:
    """A provider on langchain-openai. Instances live on one event loop and serve many calls at once."""

    name = "openai"

    def __init__(
        self,
        options: EndpointOptions,
        *,
        tool_calling: ToolCalling = "native",
        thought_chars: int = 0,
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
        self._dialect = _dialect(tool_calling, thought_chars)
        self._facts: dict[str, ModelInfo] = {}
        self._endpoint: Endpoint | None = None
        self._opening = asyncio.Lock()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._options.shown_url!r}, tool_calling={self._tool_calling!r})"

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatPart]:
        """See :meth:`Provider.stream`."""
        served = itertools.count(1)
        usage = Usage(calls=0)
        samples = 1 + (RESAMPLES if self._tool_calling == "constrained" else 0)
        repeated: tuple[ToolCall, ...] = ()
        for sample in range(samples):
            varied = resampled(request, sample, self._temperature, repeated)
            attempts = with_retries(partial(self._attempt, varied, served), self._options.retry, sleep=self._sleep)
            result: ChatResult | None = None
            async with aclosing(attempts) as parts:
                async for part in parts:
                    if isinstance(part, ChatResult):
                        result = part
                    else:
                        yield part
            assert result is not None
            usage = summed(usage, result.usage)
            if sample + 1 == samples or not repeats(result, (*request.excluded_calls, *request.settled_calls)):
                yield replace(result, usage=usage)
                return
            repeated = result.tool_calls

    async def _attempt(self, request: ChatRequest, served: Iterator[int]) -> AsyncGenerator[ChatPart]:
        """One try. ``served`` counts the tries that the endpoint began to answer: they were most likely billed."""
        endpoint = await self._open()
        dialect = self._dialect
        reader = dialect.reader(request)
        reply = ReplyAssembler()
        calls = 0
        fields = {**self._fields(request), **dialect.fields(request)}
        async with aclosing(endpoint.stream(request.model, dialect.messages(request), fields)) as batches:
            async for batch in batches:
                calls = calls or next(served)
                for part in merged(part for chunk in batch for part in reply.feed(chunk)):
                    for shown in reader.feed(part):
                        yield shown
        require_content(reply)
        for part in reader.finish(reply):
            if isinstance(part, ChatResult):
                usage = replace(reply.usage, calls=calls)
                yield replace(part, usage=usage, model=reply.model or request.model)
            else:
                yield part

    def _fields(self, request: ChatRequest) -> dict[str, Any]:
        temperature = self._temperature if request.temperature is None else request.temperature
        length = "max_completion_tokens" if "api.openai.com" in self._options.base_url else "max_tokens"
        fields = {"temperature": temperature, length: request.max_output_tokens, "seed": request.seed}
        return {name: value for name, value in fields.items() if value is not None}

    async def _reach(self) -> EndpointOptions:
        """Where the endpoint is just now."""
        return self._options

    async def _open(self) -> Endpoint:
        """The endpoint, made at first use; the SDK is imported in a thread because that takes over a second."""
        async with self._opening:
            options = await self._reach()
            if self._endpoint is not None and self._endpoint.options == options:
                return self._endpoint
            await self._close()
            module = await asyncio.to_thread(importlib.import_module, "logician_graph.inference.endpoint")
            self._endpoint = module.Endpoint(options)
            return cast("Endpoint", self._endpoint)

    async def _close(self) -> None:
        endpoint, self._endpoint = self._endpoint, None
        if endpoint is not None:
            await endpoint.aclose()

    async def info(self, model: str) -> ModelInfo:
        """See :meth:`Provider.info`. The window is the configured one, else what the endpoint's model list says."""
        if model not in self._facts:
            window = self._context_window
            if window is None:
                try:
                    window = context_window(await self._listing(), model)
                except ProviderError:
                    window = None  # many endpoints serve no list; the caller goes on without the fact
            self._facts[model] = ModelInfo(model, window, self._tool_calling, self._local)
        return self._facts[model]

    async def check(self, model: str) -> ProviderCheck:
        """See :meth:`Provider.check`."""
        endpoint = await self._open()
        try:
            models = model_names(await self._listing())
        except AuthenticationFailed as error:
            return ProviderCheck(ok=False, message=str(error))
        except ProviderError:
            models = ()
        from logician_graph.inference.check import check_endpoint

        return await check_endpoint(endpoint, model, models)

    async def _listing(self) -> Any:
        return await (await self._open()).get("/models")

    async def count_tokens(self, text: str) -> int | None:
        """The chat API cannot count without cost."""
        return None

    async def aclose(self) -> None:
        """Close every connection; a later call opens them anew."""
        await self._close()


def _dialect(tool_calling: ToolCalling, thought_chars: int) -> Dialect:
    match tool_calling:
        case "native":
            return NativeDialect()
        case "text":
            return TextDialect()
        case "constrained":
            return ConstrainedDialect(thought_chars=thought_chars)


def model_names(listing: Any) -> tuple[str, ...]:
    """Names in a ``/models`` reply."""
    return tuple(str(entry["id"]) for entry in _entries(listing) if entry.get("id"))


def context_window(listing: Any, model: str) -> int | None:
    """The window of ``model`` as servers tell it in ``/models``: vLLM, llama.cpp, LM Studio and OpenRouter each
    under a name of their own."""
    for entry in _entries(listing):
        if entry.get("id") != model:
            continue
        meta = entry.get("meta")
        told: Iterable[Any] = [cast(dict[str, Any], meta).get("n_ctx")] if isinstance(meta, dict) else []
        for value in (*told, *(entry.get(name) for name in _WINDOW_FIELDS)):
            if isinstance(value, int) and value > 0:
                return value
    return None


def _entries(listing: Any) -> list[dict[str, Any]]:
    data: Any = cast(dict[str, Any], listing).get("data") if isinstance(listing, dict) else None
    return [entry for entry in cast(list[Any], data) if isinstance(entry, dict)] if isinstance(data, list) else []
