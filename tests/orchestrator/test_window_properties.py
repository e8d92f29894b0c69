"""The window's plan holds for any sizes: it fits, keeps the newest, begins where a turn begins, and stays put."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

from logician_graph.orchestrator.window import (
    KEEP_FRACTION,
    MESSAGE_OVERHEAD,
    SHORT_TOKENS,
    Entry,
    WindowPlan,
    least_budget,
    plan_window,
    shorten_text,
)

SIZES = st.integers(0, 60) | st.integers(0, 900) | st.integers(0, 40_000)


@st.composite
def turns(draw: st.DrawFn) -> list[Entry]:
    """One turn: a person's message, then replies with results, then perhaps an answer."""
    entries = [Entry(draw(SIZES), True)]
    for _ in range(draw(st.integers(0, 4))):
        fixed = draw(st.integers(0, 300))
        entries.append(Entry(fixed + draw(st.integers(0, 400)), False, False, fixed))
        entries += [Entry(draw(SIZES), False, True) for _ in range(draw(st.integers(1, 3)))]
    if draw(st.booleans()):
        entries.append(Entry(draw(SIZES), False))
    return entries


HISTORIES = st.lists(turns(), min_size=1, max_size=6).map(lambda parts: [entry for part in parts for entry in part])


def sent(entries: list[Entry], plan: WindowPlan) -> list[int]:
    return [index for index in range(plan.start, len(entries)) if index not in plan.omitted]


def cost(entries: list[Entry], plan: WindowPlan) -> int:
    total = 0
    for index in sent(entries, plan):
        entry = entries[index]
        total += entry.fixed + plan.shortened.get(index, entry.tokens - entry.fixed) + MESSAGE_OVERHEAD
    return total


@given(HISTORIES, st.integers(256, 60_000))
def test_a_plan_fits_and_says_what_it_costs(entries: list[Entry], budget: int) -> None:
    assume(budget >= least_budget(entries))
    plan = plan_window(entries, budget)
    assert plan.tokens == cost(entries, plan) <= budget


@given(HISTORIES, st.integers(0, 60_000))
def test_the_last_turns_message_and_the_newest_step_are_always_sent(entries: list[Entry], budget: int) -> None:
    plan = plan_window(entries, budget)
    last_turn = max(index for index, entry in enumerate(entries) if entry.starts_turn)
    newest = max(index for index, entry in enumerate(entries) if not entry.is_tool_result)
    kept = sent(entries, plan)
    assert last_turn in kept
    assert set(range(newest, len(entries))) <= set(kept)


@given(HISTORIES, st.integers(0, 60_000))
def test_windows_begin_at_turns_and_leave_out_whole_steps(entries: list[Entry], budget: int) -> None:
    plan = plan_window(entries, budget)
    assert entries[plan.start].starts_turn
    dropped = sum(entry.starts_turn for entry in entries[: plan.start])
    assert plan.dropped_turns == dropped
    if plan.omitted:
        last_turn = max(index for index, entry in enumerate(entries) if entry.starts_turn)
        assert (plan.start, plan.omitted[0]) == (last_turn, last_turn + 1)
        assert not entries[plan.omitted[-1] + 1].is_tool_result
    assert plan.dropped_steps == sum(not entries[index].is_tool_result for index in plan.omitted)


@given(HISTORIES, st.integers(0, 60_000))
def test_nothing_changes_while_everything_fits(entries: list[Entry], budget: int) -> None:
    plan = plan_window(entries, budget)
    total = sum(entry.tokens + MESSAGE_OVERHEAD for entry in entries)
    if total <= budget:
        assert plan == WindowPlan(0, 0, {}, total)
    else:
        assert (
            plan.dropped_turns or plan.shortened or plan.omitted or len(entries) == 1 or budget < least_budget(entries)
        )


@given(HISTORIES, st.integers(256, 60_000))
def test_shortened_texts_keep_a_readable_part_and_arguments_stay_whole(entries: list[Entry], budget: int) -> None:
    plan = plan_window(entries, budget)
    for index, kept in plan.shortened.items():
        assert index in sent(entries, plan)
        assert SHORT_TOKENS <= kept < entries[index].tokens - entries[index].fixed


@given(st.lists(st.integers(0, 300), min_size=20, max_size=60), st.integers(1000, 3000), st.integers(0, 300))
def test_a_small_message_more_does_not_move_the_window(sizes: list[int], budget: int, size: int) -> None:
    """After turns left there is room: the next small messages keep the start, so that the prefix stays cached."""
    entries = [Entry(tokens, place % 2 == 0) for place, tokens in enumerate(sizes)]
    plan = plan_window(entries, budget)
    assume(plan.dropped_turns and plan.tokens <= budget * KEEP_FRACTION)
    for more in (Entry(size, True), Entry(size, False)):
        following = plan_window([*entries, more], budget, start=plan.start)
        assert (following.start, following.dropped_turns, following.shortened) == (plan.start, 0, {})


@given(turns(), st.integers(256, 6_000), st.lists(st.integers(0, 200), min_size=1, max_size=30))
def test_steps_that_left_do_not_come_back(turn: list[Entry], budget: int, sizes: list[int]) -> None:
    entries = list(turn)
    left = [plan_window(entries, budget).dropped_steps]
    for size in sizes:
        entries += [Entry(size, False, False, size), Entry(size, False, True)]
        left.append(plan_window(entries, budget).dropped_steps)
    assert left == sorted(left)


def test_a_growing_turn_moves_in_leaps() -> None:
    entries = [Entry(50, True)]
    starts: list[int] = []
    for _ in range(100):
        entries += [Entry(20, False, False, 20), Entry(20, False, True)]
        starts.append(plan_window(entries, 2000).dropped_steps)
    assert starts[-1] > 50
    assert len(set(starts)) < 10


@given(HISTORIES, st.integers(256, 60_000))
def test_planning_again_from_the_new_start_changes_nothing(entries: list[Entry], budget: int) -> None:
    plan = plan_window(entries, budget)
    again = plan_window(entries, budget, start=plan.start)
    assert (again.start, again.shortened, again.omitted) == (plan.start, plan.shortened, plan.omitted)
    assert again.dropped_turns == 0


@given(st.text(max_size=400), st.integers(0, 1000), st.integers(0, 1000))
def test_shortening_keeps_head_and_tail(text: str, tokens: int, full: int) -> None:
    short = shorten_text(text, tokens, full)
    if tokens >= full:
        assert short == text
        return
    head, _, rest = short.partition("\n[… ")
    assert text.startswith(head)
    removed, _, tail = rest.partition(" characters left out to fit the context window …]\n")
    assert text.endswith(tail)
    assert len(head) + int(removed) + len(tail) == len(text)
