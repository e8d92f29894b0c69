"""Another sample where a model repeats a call that it just made. Pure.

Greedy decoding copies the model's own last message: the same call comes again and again. A sample at a higher
temperature often breaks the loop; the last of :data:`RESAMPLES` is taken without the tool that was repeated, so that
the model does something else or answers. A model that repeats a call that succeeded is asked for its answer at once.
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


def resampled(
    request: ChatRequest, sample: int, temperature: float | None, repeated: Sequence[ToolCall] = ()
) -> ChatRequest:
    """The request for sample number ``sample``; number 0 is the request itself. ``repeated``: what came last time."""
    if sample == 0:
        return request
    if all(any(same_call(call, other) for other in request.settled_calls) for call in repeated):
        return replace(request, withheld=frozenset(tool.name for tool in request.tools))
    usual = request.temperature if request.temperature is not None else temperature
    warmer = replace(request, temperature=max(usual or 0.0, _WARMER), seed=(request.seed or 0) + sample * _SEED_STEP)
    if sample < RESAMPLES:
        return warmer
    return replace(warmer, withheld=request.withheld | {call.name for call in repeated})


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
