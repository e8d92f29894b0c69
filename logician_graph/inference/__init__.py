"""Inference: which model, through which provider. Knows requests and replies, never runs, threads or storage.

Importing this package is cheap: SDKs and model servers are imported when the first call needs them, and the names that
deal with model files when they are first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from logician_graph.inference.build import ProviderConfig, ProviderKind, build_provider
from logician_graph.inference.endpoint_options import EndpointOptions
from logician_graph.inference.openai_compatible import OpenAICompatible
from logician_graph.inference.pricing import LOCAL, Prices, cost_usd
from logician_graph.inference.recovery import Recovery, recover_tool_calls
from logician_graph.inference.retry import RetryPolicy
from logician_graph.inference.tokens import estimate_tokens
from logician_graph.inference.types import (
    ChatMessage,
    ChatPart,
    ChatRequest,
    ChatResult,
    FinishReason,
    InvalidToolCall,
    ModelInfo,
    Provider,
    ProviderCheck,
    ReasoningDelta,
    Retrying,
    Role,
    TextDelta,
    ToolCall,
    ToolCalling,
    ToolCallProgress,
    ToolSpec,
    Usage,
)

if TYPE_CHECKING:
    from logician_graph.inference.catalogue import Catalogue, ModelSpec, ModelState, ModelStatus
    from logician_graph.inference.download import pull
    from logician_graph.inference.embedded import EmbeddedLlama
    from logician_graph.inference.package_index import index_url
    from logician_graph.inference.progress import PullProgress

__all__ = [
    "LOCAL",
    "Catalogue",
    "ChatMessage",
    "ChatPart",
    "ChatRequest",
    "ChatResult",
    "EmbeddedLlama",
    "EndpointOptions",
    "FinishReason",
    "InvalidToolCall",
    "ModelInfo",
    "ModelSpec",
    "ModelState",
    "ModelStatus",
    "OpenAICompatible",
    "Prices",
    "Provider",
    "ProviderCheck",
    "ProviderConfig",
    "ProviderKind",
    "PullProgress",
    "ReasoningDelta",
    "Recovery",
    "RetryPolicy",
    "Retrying",
    "Role",
    "TextDelta",
    "ToolCall",
    "ToolCallProgress",
    "ToolCalling",
    "ToolSpec",
    "Usage",
    "build_provider",
    "cost_usd",
    "estimate_tokens",
    "index_url",
    "pull",
    "recover_tool_calls",
]

_AT_FIRST_USE = {
    "Catalogue": "catalogue",
    "EmbeddedLlama": "embedded",
    "ModelSpec": "catalogue",
    "ModelState": "catalogue",
    "ModelStatus": "catalogue",
    "PullProgress": "progress",
    "index_url": "package_index",
    "pull": "download",
}


def __getattr__(name: str) -> Any:
    """Names that would drag in HTTP clients and data models (PEP 562)."""
    if name not in _AT_FIRST_USE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_AT_FIRST_USE[name]}"), name)
