"""Asking a model for a candidate: live, or from what another study recorded.

Both give the same :class:`~storage.Exchange` for the same request; a replay refuses a request that differs from the one
recorded, so that what it shows is what would have happened.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from logician_graph.errors import UsageError
from logician_graph.inference import ChatMessage, ChatRequest, ChatResult, Prices, Provider, cost_usd
from storage import Exchange, now

FindProvider = Callable[[str], tuple[Provider, str, Prices | None]]
"""From a model's reference to its provider, its name there and its prices."""


class Asker(Protocol):
    """Gives replies."""

    async def ask(self, model: str, n: int, attempt: int, request: dict[str, Any]) -> Exchange:
        """The exchange of attempt ``attempt`` of sample ``n``; its ``study_id`` is left empty. Raises ProviderError."""
        ...


def fingerprint(request: dict[str, Any]) -> str:
    """SHA-256 of a request."""
    return hashlib.sha256(json.dumps(request, sort_keys=True, ensure_ascii=True).encode()).hexdigest()


class LiveAsker:
    """Asks the models themselves."""

    def __init__(self, find: FindProvider) -> None:
        self._find = find

    async def ask(self, model: str, n: int, attempt: int, request: dict[str, Any]) -> Exchange:
        """One completion."""
        provider, name, prices = self._find(model)
        began = time.monotonic()
        result: ChatResult | None = None
        messages = (ChatMessage("system", request["system"]), ChatMessage("user", request["user"]))
        async for part in provider.stream(
            ChatRequest(
                model=name,
                messages=messages,
                temperature=request["temperature"],
                max_output_tokens=request["max_output_tokens"],
                seed=request["seed"],
            )
        ):
            if isinstance(part, ChatResult):
                result = part
        if result is None:
            raise RuntimeError("the provider ended without a result")
        used = result.usage
        return Exchange(
            study_id="",
            n=n,
            attempt=attempt,
            model=model,
            request=request,
            request_sha256=fingerprint(request),
            reply=result.text,
            finish_reason=result.finish_reason,
            usage={
                "input_tokens": used.input_tokens,
                "output_tokens": used.output_tokens,
                "cached_tokens": used.cached_tokens,
                "calls": used.calls,
            },
            cost_usd=cost_usd(used, prices),
            seconds=round(time.monotonic() - began, 3),
            at=now(),
        )


class Replay:
    """Answers from recorded exchanges."""

    def __init__(self, exchanges: Iterable[Exchange]) -> None:
        self._known = {(each.n, each.attempt): each for each in exchanges}

    async def ask(self, model: str, n: int, attempt: int, request: dict[str, Any]) -> Exchange:
        """The recorded exchange. Raises UsageError where there is none or the request differs."""
        known = self._known.get((n, attempt))
        if known is None:
            raise UsageError(f"the recorded study holds no reply for sample {n}, attempt {attempt + 1}")
        if known.request_sha256 != fingerprint(request) or known.model != model:
            raise UsageError(
                f"sample {n} is asked for otherwise than in the recorded study: the problem, the prompts or the "
                "options changed since"
            )
        values: dict[str, Any] = {**known.model_dump(), "study_id": ""}
        return Exchange(**values)
