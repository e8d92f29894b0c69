"""The HTTP side of an OpenAI-compatible endpoint: langchain-openai's client, read chunk by chunk.

langchain-openai's model gives the client (headers, timeouts, proxies) and the request's fields. Messages are sent and
chunks are read below its ``astream``: that saves building and validating an object for every message at every call,
a cost that grows with the history (numbers: ``benchmarks/provider_overhead.py``), and it keeps what ``astream`` drops:
reasoning text, and tool calls whose deltas carry no index.

Importing this module imports the SDK, about 1.5 s; ``openai_compatible`` does that at first use, in a thread.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any, cast

import openai
from langchain_openai.chat_models.base import BaseChatOpenAI
from openai import AsyncStream
from pydantic import SecretStr

from logician_graph.errors import ProviderError, TransientProviderError
from logician_graph.inference.endpoint_options import EndpointOptions
from logician_graph.inference.failures import from_status, quote
from logician_graph.inference.sse import EventSplitter
from logician_graph.inference.types import ChatMessage
from logician_graph.inference.wire import error_in_chunk, message_payload, scrub

Chunk = dict[str, Any]
_NO_KEY = "none"
_DRAIN_S = 0.5


class _BatchDecoder:
    """Takes the place of the SDK's decoder: it gives the events of one network read together."""

    async def aiter_bytes(self, iterator: AsyncIterator[bytes]) -> AsyncGenerator[list[str]]:
        splitter = EventSplitter()
        async for raw in iterator:
            if events := splitter.feed(raw):
                yield events
        if events := splitter.finish():
            yield events


class _Chunks(AsyncStream[Chunk]):
    """A server-sent event stream that gives lists of parsed chunks; ``complete`` once [DONE] was seen."""

    complete: bool = False

    async def batches(self) -> AsyncGenerator[list[Chunk]]:
        self._decoder = cast(Any, _BatchDecoder())
        try:
            async with aclosing(cast(AsyncGenerator[list[str]], self._iter_events())) as reads:
                async for read in reads:
                    self.complete = read[-1].startswith("[DONE]")
                    data = read[:-1] if self.complete else read
                    yield [json.loads(item) for item in data if item]
                    if self.complete:
                        await _drain(reads)
                        return
        finally:
            await self.response.aclose()


async def _drain(reads: AsyncGenerator[Any]) -> None:
    """Read the end of the body, so that the connection can serve the next call; an end that does not come is left."""
    try:
        async with asyncio.timeout(_DRAIN_S):
            async for _ in reads:
                pass
    except TimeoutError:
        return


class _Chat(BaseChatOpenAI):
    """langchain-openai's model, reached below ``astream``."""

    def payload(self, **fields: Any) -> dict[str, Any]:
        """The request body, its messages excepted."""
        build = cast(Callable[..., dict[str, Any]], self._get_request_payload)  # pyright: ignore[reportUnknownMemberType]
        return build([], stream=True, **fields)


class Endpoint:
    """One endpoint with one key. Belongs to one event loop; serves many calls at once."""

    def __init__(self, options: EndpointOptions) -> None:
        self.options = options
        self._shown_url = options.shown_url
        self._secrets = options.secrets
        connect = options.connect_timeout_s
        read = max(options.first_token_timeout_s, options.stall_timeout_s)
        timeout = openai.Timeout(read, connect=connect, pool=connect)
        self._http = openai.DefaultAsyncHttpxClient(timeout=timeout, trust_env=not options.is_loopback)
        self._chat = _Chat(
            model="unnamed",
            base_url=options.base_url,
            api_key=_asked_each_time(options.api_key),
            max_retries=0,
            use_responses_api=False,
            timeout=cast(Any, timeout),
            http_async_client=self._http,
            default_headers={name: value.get_secret_value() for name, value in options.headers.items()},
        )
        self._client: openai.AsyncOpenAI = self._chat.root_async_client

    async def stream(
        self, model: str, messages: Sequence[ChatMessage], fields: Mapping[str, Any]
    ) -> AsyncGenerator[list[Chunk]]:
        """The chunks of one completion, those of one network read together.

        Raises an error of the tree; a stream that stops without its end is transient.
        """
        payload = self._chat.payload(model=model, **fields)
        payload["messages"] = [message_payload(message) for message in messages]
        payload["stream_options"] = {"include_usage": True}
        finished = False
        try:
            async with asyncio.timeout(self.options.first_token_timeout_s):
                chunks = await self._client.post(
                    "/chat/completions", body=payload, cast_to=cast(Any, Chunk), stream=True, stream_cls=_Chunks
                )
            async with aclosing(chunks.batches()) as batches:
                limit = self.options.first_token_timeout_s
                while True:
                    try:
                        async with asyncio.timeout(limit):
                            batch = await anext(batches)
                    except StopAsyncIteration:
                        break
                    limit = self.options.stall_timeout_s
                    for chunk in batch:
                        finished = self._check(chunk) or finished
                    yield batch
                if not (finished or chunks.complete):
                    raise TransientProviderError(f"{self._shown_url} ended its reply in the middle.")
        except (openai.OpenAIError, TimeoutError, ValueError) as error:
            raise self._typed(error, model) from None

    async def get(self, path: str) -> Any:
        """The JSON of a GET below the base URL, or at ``path`` if that is absolute. Raises an error of the tree."""
        try:
            return await self._client.get(path, cast_to=cast(Any, dict[str, Any]))
        except (openai.OpenAIError, TimeoutError, ValueError) as error:
            raise self._typed(error, "") from None

    async def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """The JSON reply to a POST, addressed like :meth:`get`."""
        try:
            return await self._client.post(path, body=scrub(dict(body)), cast_to=cast(Any, dict[str, Any]))
        except (openai.OpenAIError, TimeoutError, ValueError) as error:
            raise self._typed(error, "") from None

    async def aclose(self) -> None:
        """Close every connection."""
        await self._http.aclose()

    def _check(self, chunk: Any) -> bool:
        """Whether ``chunk`` carries a finish reason. Raises for an error chunk or one that is no object."""
        if not isinstance(chunk, dict):
            raise TransientProviderError(f"{self._shown_url} sent a chunk that is no JSON object.")
        said = error_in_chunk(cast(Chunk, chunk))
        if said is not None:
            raise TransientProviderError(f"{self._shown_url} broke off with {quote(said, self._secrets)!r}.")
        choices = cast(Chunk, chunk).get("choices")
        return bool(choices and choices[0].get("finish_reason"))

    def _typed(self, error: Exception, model: str) -> ProviderError:
        if isinstance(error, openai.APIStatusError):
            body: Any = error.body if error.body is not None else error.response.text
            return from_status(
                error.status_code,
                body,
                model=model,
                base_url=self._shown_url,
                retry_after=error.response.headers.get("retry-after"),
                secrets=self._secrets,
            )
        if isinstance(error, (openai.APITimeoutError, TimeoutError)):
            return TransientProviderError(f"{self._shown_url} did not answer in time.")
        if isinstance(error, json.JSONDecodeError):
            return TransientProviderError(f"{self._shown_url} sent a chunk that is not JSON.")
        reason = quote(str(error.__cause__ or error) or type(error).__name__, self._secrets)
        return TransientProviderError(f"The connection to {self._shown_url} failed: {reason!r}.")


def _asked_each_time(api_key: SecretStr | None) -> Callable[[], Awaitable[str]]:
    """The key as a function: the library then keeps no copy of it and builds no second, synchronous client."""

    async def key() -> str:
        return _NO_KEY if api_key is None else api_key.get_secret_value()

    return key
