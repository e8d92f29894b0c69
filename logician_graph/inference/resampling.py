"""Another sample where a model repeats a call that just failed. Pure.

Greedy decoding copies the model's own last message: the same failing call comes again and again. A sample at a higher
temperature breaks the loop; after :data:`RESAMPLES` of them the repeated call is handed back all the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from logician_graph.inference.transcript import same_call
from logician_graph.inference.types import ChatRequest, ChatResult, ToolCall, Usage

RESAMPLES = 2
_WARMER = 0.7
_SEED_STEP = 7919


def repeats(result: ChatResult, excluded: Sequence[ToolCall]) -> bool:
    """Whether the reply is nothing but calls that are excluded."""
    calls = result.tool_calls
    return bool(calls) and all(any(same_call(call, other) for other in excluded) for call in calls)


def resampled(request: ChatRequest, sample: int, temperature: float | None) -> ChatRequest:
    """The request for sample number ``sample``; number 0 is the request itself."""
    if sample == 0:
        return request
    usual = request.temperature if request.temperature is not None else temperature
    return replace(request, temperature=max(usual or 0.0, _WARMER), seed=(request.seed or 0) + sample * _SEED_STEP)


def summed(one: Usage, other: Usage) -> Usage:
    """Tokens of both; what is unknown in both stays unknown. ``calls`` of ``other`` already counts both."""
    return Usage(
        _sum(one.input_tokens, other.input_tokens),
        _sum(one.output_tokens, other.output_tokens),
        _sum(one.cached_tokens, other.cached_tokens),
        other.calls,
    )


def _sum(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else one + other
