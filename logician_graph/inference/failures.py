"""What a failed HTTP exchange means for the caller. Pure: facts in, one error of the tree out.

Wordings are matched only where a status alone does not tell: a 400 for a prompt that is too long. Messages carry the
endpoint's own words, shortened, with every secret value taken out.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import Any, cast

from logician_graph.errors import (
    AuthenticationFailed,
    ContextOverflow,
    ModelNotFound,
    ProviderError,
    RequestRejected,
    TransientProviderError,
)
from logician_graph.inference.retry import parse_retry_after

_TRANSIENT = frozenset({408, 409, 425, 429})
_OVERFLOW = re.compile(
    r"context_length_exceeded|exceed_context_size|maximum context length|context (?:length|window|size) (?:is |was )?"
    r"exceeded|exceeds? the (?:available |model'?s? |maximum )*context|larger than the (?:available )?context|"
    r"prompt is too long|input is too long|input tokens exceed|longer than the (?:model|maximum)|max_model_len|"
    r"ContextWindowExceeded|too many tokens|reduce the length of the (?:messages|prompt|input)|"
    r"input length .{0,60}exceeds",
    re.IGNORECASE,
)
_QUOTA = re.compile(r"insufficient_quota|exceeded your current quota|billing|credit balance", re.IGNORECASE)
_NO_MODEL = re.compile(r"model_not_found|model .{0,80}(?:not found|does not exist|not exist|unknown)", re.IGNORECASE)
_LONGEST_QUOTE = 400


def redact(text: str, secrets: Collection[str]) -> str:
    """``text`` without any of ``secrets``."""
    for secret in secrets:
        if len(secret) >= 4:
            text = text.replace(secret, "[secret]")
    return text


def quote(body: Any, secrets: Collection[str]) -> str:
    """The endpoint's own words out of an error body, on one line."""
    words = body
    while isinstance(words, Mapping):
        fields = cast(Mapping[str, Any], words)
        words = fields.get("error") or fields.get("message") or fields.get("detail") or str(dict(fields))
    text = redact(" ".join(str(words or "").split()), secrets)
    return text if len(text) <= _LONGEST_QUOTE else text[: _LONGEST_QUOTE - 1] + "…"


def from_status(
    status: int, body: Any, *, model: str, base_url: str, retry_after: str | None, secrets: Collection[str]
) -> ProviderError:
    """The error that an HTTP error status stands for."""
    said = quote(body, secrets)
    told = f" It said: {said!r}." if said else ""
    everything = f"{said} {redact(str(body), secrets)}"
    if status in {401, 403}:
        return AuthenticationFailed(f"{base_url} refused the API key (HTTP {status}).{told} Check the key in settings.")
    if status in {400, 413, 422, 500} and _OVERFLOW.search(everything):
        return ContextOverflow(f"The request does not fit the context window of {model!r}.{told}")
    if status == 404 or (status == 400 and _NO_MODEL.search(everything)):
        return ModelNotFound(
            f"{base_url} does not serve model {model!r} (HTTP {status}).{told} Check the model name and the base URL."
        )
    if status == 429 and _QUOTA.search(everything):
        return RequestRejected(f"The account at {base_url} has no quota left (HTTP 429).{told}")
    if status in _TRANSIENT or status >= 500:
        wait = parse_retry_after(retry_after, datetime.now(UTC))
        return TransientProviderError(f"{base_url} answered HTTP {status}.{told}", retry_after=wait)
    return RequestRejected(f"{base_url} refused the request (HTTP {status}).{told}")
