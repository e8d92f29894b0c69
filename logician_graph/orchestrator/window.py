"""What of a history fits the model's context window: a pure plan over token counts.

Whole old turns leave, oldest first, and then down to a fraction of the budget, so that the start of the window stays
the same for many calls and prefix caches keep working. The last turn never leaves. If it alone is too long,
tool results in it are shortened, oldest first, then the longest of what is left, so that a plan always fits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

KEEP_FRACTION = 0.6
"""After dropping turns the window is filled to at most this fraction of the budget."""
SHORT_TOKENS = 160
"""What a shortened message keeps, in tokens, unless even that is too much."""
MESSAGE_OVERHEAD = 6
"""Tokens that a message costs beside its text."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One message: its size and whether a turn starts with it."""

    tokens: int
    starts_turn: bool
    is_tool_result: bool = False


@dataclass(frozen=True, slots=True)
class WindowPlan:
    """Which entries are sent: from ``start`` to the end, some shortened to a number of tokens."""

    start: int
    dropped_turns: int
    shortened: dict[int, int] = field(default_factory=dict[int, int])
    tokens: int = 0


def _cost(entry: Entry) -> int:
    return entry.tokens + MESSAGE_OVERHEAD


def plan_window(entries: Sequence[Entry], budget: int, *, start: int = 0) -> WindowPlan:
    """The plan for ``entries[start:]`` under ``budget`` tokens. ``start`` is where the window began last time."""
    total = sum(_cost(entry) for entry in entries[start:])
    if total <= budget:
        return WindowPlan(start, 0, {}, total)
    turns = [index for index in range(start, len(entries)) if entries[index].starts_turn]
    last_turn = turns[-1] if turns else start
    dropped = 0
    target = budget * KEEP_FRACTION
    for turn in turns:
        if total <= target or turn == last_turn:
            break
        following = turns[turns.index(turn) + 1]
        total -= sum(_cost(entry) for entry in entries[start:following])
        start = following
        dropped += 1
    if total <= budget:
        return WindowPlan(start, dropped, {}, total)
    shortened = _shorten(entries, start, total, budget)
    total = sum(shortened.get(i, entries[i].tokens) + MESSAGE_OVERHEAD for i in range(start, len(entries)))
    return WindowPlan(start, dropped, shortened, total)


def _shorten(entries: Sequence[Entry], start: int, total: int, budget: int) -> dict[int, int]:
    shortened: dict[int, int] = {}
    results = [index for index in range(start, len(entries)) if entries[index].is_tool_result]
    others = [index for index in range(start, len(entries)) if not entries[index].is_tool_result]
    others.sort(key=lambda index: -entries[index].tokens)
    for index in [*results, *others]:
        if total <= budget:
            break
        excess = total - budget
        kept = max(SHORT_TOKENS, entries[index].tokens - excess)
        if kept < entries[index].tokens:
            total -= entries[index].tokens - kept
            shortened[index] = kept
    return shortened


def shorten_text(text: str, tokens: int, full_tokens: int) -> str:
    """Head and tail of ``text`` so that about ``tokens`` of its ``full_tokens`` remain, with a visible mark."""
    if tokens >= full_tokens or full_tokens <= 0:
        return text
    keep = max(0, int(len(text) * tokens / full_tokens) - 60)
    head = keep * 2 // 3
    tail = keep - head
    removed = len(text) - head - tail
    return f"{text[:head]}\n[… {removed} characters left out to fit the context window …]\n{text[len(text) - tail :]}"
