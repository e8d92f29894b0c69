"""Inference: which model, through which provider. Knows requests and replies, never runs, threads or storage.

Importing this package is cheap: SDKs and model servers are imported when the first call needs them.
"""

from __future__ import annotations

from logician_graph.inference.build import ProviderConfig, build_provider
from logician_graph.inference.endpoint_options import EndpointOptions
from logician_graph.inference.catalogue import Catalogue, ModelSpec
from logician_graph.inference.download import pull
from logician_graph.inference.openai_compatible import OpenAICompatible
from logician_graph.inference.pricing import LOCAL, Prices, cost_usd
from logician_graph.inference.progress import PullProgress
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

__all__ = [
    "LOCAL",
    "Catalogue",
    "ChatMessage",
    "ChatPart",
    "ChatRequest",
    "ChatResult",
    "EndpointOptions",
    "FinishReason",
    "InvalidToolCall",
    "ModelInfo",
    "ModelSpec",
    "OpenAICompatible",
    "Prices",
    "Provider",
    "ProviderCheck",
    "ProviderConfig",
    "PullProgress",
    "ReasoningDelta",
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
    "pull",
]
