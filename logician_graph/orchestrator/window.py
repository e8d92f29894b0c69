"""What of a history fits the model's context window: a pure plan over token counts.

Whole old turns leave, oldest first, and then down to a fraction of the budget, so that the start of the window stays
the same for many calls and prefix caches keep working. The last turn never leaves. When it alone is too long, its tool
results are shortened, oldest first, then the longest of what is left; when even that is not enough, its oldest steps
(a reply with the results of its calls) leave, again in leaps. The message that the turn answers and its newest step
always stay, so a plan fits every budget of at least :func:`least_budget`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

KEEP_FRACTION = 0.6
"""After dropping turns or steps the window is filled to at most this fraction of the budget."""
SHORT_TOKENS = 160
"""What a shortened message keeps, in tokens."""
MESSAGE_OVERHEAD = 6
"""Tokens that a message costs beside its text."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One message: its size and whether a turn starts with it."""

    tokens: int
    starts_turn: bool
    is_tool_result: bool = False
    fixed: int = 0
    """Part of ``tokens`` that cannot be shortened: the arguments of calls."""


@dataclass(frozen=True, slots=True)
class WindowPlan:
    """Which entries are sent: from ``start`` to the end without ``omitted``, some texts shortened."""

    start: int
    dropped_turns: int
    shortened: dict[int, int] = field(default_factory=dict[int, int])
    """Tokens that the text of an entry keeps."""
    tokens: int = 0
    omitted: range = range(0)
    """Old steps of the last turn that are left out."""
    dropped_steps: int = 0


def plan_window(entries: Sequence[Entry], budget: int, *, start: int = 0) -> WindowPlan:
    """The plan for ``entries[start:]`` under ``budget`` tokens. ``start`` is where the window began last time."""
    total = sum(_cost(entry) for entry in entries[start:])
    if total <= budget:
        return WindowPlan(start, 0, {}, total)
    turns = [index for index in range(start, len(entries)) if entries[index].starts_turn]
    dropped = 0
    for following in turns[1:]:
        if total <= budget * KEEP_FRACTION:
            break
        total -= sum(_cost(entry) for entry in entries[start:following])
        start = following
        dropped += 1
    if total <= budget:
        return WindowPlan(start, dropped, {}, total)
    steps = _steps(entries, start)
    left = _steps_left_out(entries, start, steps, budget)
    omitted = range(steps[0], steps[left]) if left else range(0)
    sent = [index for index in range(start, len(entries)) if index not in omitted]
    shortened, total = _shorten(entries, sent, budget)
    return WindowPlan(start, dropped, shortened, total, omitted, left)


def least_budget(entries: Sequence[Entry]) -> int:
    """Tokens that every plan for ``entries`` needs at most: the last turn's message and its newest step, shortened."""
    turns = [index for index, entry in enumerate(entries) if entry.starts_turn]
    start = turns[-1] if turns else 0
    steps = _steps(entries, start)
    newest = range(steps[-1], len(entries)) if steps else range(0)
    return sum(_least(entries[index]) for index in {start, *newest})


def _cost(entry: Entry) -> int:
    return entry.tokens + MESSAGE_OVERHEAD


def _least(entry: Entry) -> int:
    """Cost of an entry whose text is shortened as far as it goes."""
    return min(entry.tokens, entry.fixed + SHORT_TOKENS) + MESSAGE_OVERHEAD


def _steps(entries: Sequence[Entry], start: int) -> list[int]:
    """Where the steps of the turn that begins at ``start`` begin."""
    return [index for index in range(start + 1, len(entries)) if not entries[index].is_tool_result]


def _steps_left_out(entries: Sequence[Entry], start: int, steps: Sequence[int], budget: int) -> int:
    """How many of the oldest steps must leave even when everything is shortened.

    The turn is gone through as it grew: so the answer stays the same for many further steps.
    """
    bounds = pairwise([*steps, len(entries)])
    costs = [sum(_least(entry) for entry in entries[begin:end]) for begin, end in bounds]
    total = _least(entries[start])
    left = 0
    for place, cost in enumerate(costs):
        total += cost
        target = budget if total <= budget else budget * KEEP_FRACTION
        while left < place and total > target:
            total -= costs[left]
            left += 1
    return left


def _shorten(entries: Sequence[Entry], sent: Sequence[int], budget: int) -> tuple[dict[int, int], int]:
    """Tokens that shortened texts keep, and what ``sent`` costs then."""
    shortened: dict[int, int] = {}
    total = sum(_cost(entries[index]) for index in sent)
    results = [index for index in sent if entries[index].is_tool_result]
    others = [index for index in sent if not entries[index].is_tool_result]
    others.sort(key=lambda index: entries[index].fixed - entries[index].tokens)
    for index in [*results, *others]:
        if total <= budget:
            break
        text = entries[index].tokens - entries[index].fixed
        kept = max(SHORT_TOKENS, text - (total - budget))
        if kept < text:
            total -= text - kept
            shortened[index] = kept
    return shortened, total


def shorten_text(text: str, tokens: int, full_tokens: int) -> str:
    """Head and tail of ``text`` so that about ``tokens`` of its ``full_tokens`` remain, with a visible mark."""
    if tokens >= full_tokens or full_tokens <= 0:
        return text
    keep = max(0, int(len(text) * tokens / full_tokens) - 60)
    head = keep * 2 // 3
    tail = keep - head
    removed = len(text) - head - tail
    return f"{text[:head]}\n[… {removed} characters left out to fit the context window …]\n{text[len(text) - tail :]}"
