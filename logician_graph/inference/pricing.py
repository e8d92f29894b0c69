"""What a call costs in money. Prices are settings; a price that is not known makes the cost unknown, never zero."""

from __future__ import annotations

from dataclasses import dataclass

from logician_graph.inference.types import Usage

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Prices:
    """US dollars per million tokens. ``cached`` None: cached input costs as much as other input."""

    input: float
    output: float
    cached: float | None = None


LOCAL = Prices(0.0, 0.0, 0.0)
"""Weights that run on this machine cost no money."""


def cost_usd(usage: Usage, prices: Prices | None) -> float | None:
    """US dollars for ``usage``; None where the prices or the counts are unknown. Free prices always give 0.0."""
    if prices == LOCAL:
        return 0.0
    if prices is None or usage.input_tokens is None or usage.output_tokens is None:
        return None
    cached = min(usage.cached_tokens or 0, usage.input_tokens)
    cached_price = prices.input if prices.cached is None else prices.cached
    fresh = usage.input_tokens - cached
    return (fresh * prices.input + cached * cached_price + usage.output_tokens * prices.output) / _MILLION
