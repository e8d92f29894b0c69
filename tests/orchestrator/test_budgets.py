"""Budgets end a run as blocked, with a sentence, at a point where the history is valid."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from logician_graph.orchestrator import RunOptions, RunUsage
from logician_graph.orchestrator.budget import exhausted
from logician_graph.tools.types import ToolContext, ToolOutput
from storage import Run
from tests.fakes.openai_server import Reply, Usage
from tests.fakes.tools import FakeTool, declaration
from tests.orchestrator.harness import Harness


def blocked(h: Harness, run: Run, budget: str) -> dict[str, Any]:
    assert (run.outcome, h.kinds(run)[-1]) == ("blocked", "run.finished")
    assert "budget" in (run.reason or "") and budget in (run.reason or "")
    (data,) = h.of(run, "budget.reached")
    assert data["budget"] == budget
    h.check_thread(run.thread_id)
    after = h.run("say go on", run.thread_id)
    assert after.outcome == "completed"
    return data


def always_calls(body: Any) -> Reply:
    """A model that never ends by itself; a message that says so is answered."""
    texts = [m["content"] for m in body["messages"] if m["role"] == "user"]
    if texts[-1].startswith("say go on"):
        return Reply("fine")
    return Reply(tool_calls=[("count", {"text": str(len(body["messages"]))})])


def test_turns(h: Harness) -> None:
    h.fake.handler = always_calls
    run = h.run("loop", max_turns=3)
    assert run.usage["model_calls"] == 3
    data = blocked(h, run, "turns")
    assert (data["limit"], data["used"]) == (3, 3)
    assert len(h.count.calls) == 3, "the last round of calls was answered before the end"


def test_tool_calls_in_the_middle_of_a_batch(h: Harness) -> None:
    line = "; ".join(f'count {{"text": "{number}"}}' for number in range(5))
    run = h.run(f"call {line}\nsay never", max_tool_calls=3)
    assert len(h.count.calls) == 3
    results = list(h.results(run).values())
    assert [text.startswith("count got") for text in results].count(True) == 3
    assert [text.startswith("Not run:") for text in results].count(True) == 2
    assert run.usage["tool_calls"] == 3
    blocked(h, run, "tool calls")


def test_tool_calls_one_after_the_other(h: Harness) -> None:
    line = "; ".join(f'single {{"text": "{number}"}}' for number in range(4))
    run = h.run(f"call {line}\nsay never", max_tool_calls=2)
    assert [call["text"] for call in h.single.calls] == ["0", "1"]
    blocked(h, run, "tool calls")


def test_a_batch_that_just_fits_is_no_end(h: Harness) -> None:
    run = h.run("call count {}; count {}\nsay after", max_tool_calls=2)
    assert (run.outcome, h.answer(run)) == ("completed", "after")


def test_no_tool_calls_at_all(h: Harness) -> None:
    run = h.run('call deploy {"text": "a"}\nsay never', max_tool_calls=0)
    assert h.deploy.calls == []
    assert h.engine.ledger.approvals(run_id=run.id) == [], "nobody is asked for what cannot happen"
    blocked(h, run, "tool calls")


def test_tokens(h: Harness) -> None:
    def expensive(body: Any) -> Reply:
        reply = always_calls(body)
        return Reply(reply.text, reply.tool_calls, usage=Usage(prompt=900, completion=100))

    h.fake.handler = expensive
    run = h.run("loop", max_tokens=2500)
    assert run.usage["model_calls"] == 3
    assert (run.usage["input_tokens"], run.usage["output_tokens"]) == (2700, 300)
    blocked(h, run, "tokens")


def test_seconds(h: Harness) -> None:
    run = h.run('call slow {"seconds": 0.6}\ncall count {}\nsay never', max_seconds=0.5)
    assert h.count.calls == []
    assert run.usage["seconds"] >= 0.5
    blocked(h, run, "seconds")


def test_waiting_for_a_person_costs_no_seconds(h: Harness) -> None:
    run = h.ask('call deploy {"text": "a"}\nsay after', max_seconds=5.0)
    (ask,) = h.asks(run)
    before = h.engine.run(run.id).usage["seconds"]
    time.sleep(6)
    h.engine.answer_approval(ask.id, "allow")
    done = h.done(run)
    assert done.outcome == "completed"
    assert done.usage["seconds"] < before + 5


def test_money(build: Callable[..., Harness]) -> None:
    h = build(price_input_per_mtok=1.0, price_output_per_mtok=10.0, price_cached_per_mtok=0.1)

    def expensive(body: Any) -> Reply:
        reply = always_calls(body)
        return Reply(reply.text, reply.tool_calls, usage=Usage(prompt=100_000, completion=1_000, cached=50_000))

    h.fake.handler = expensive
    run = h.run("loop", max_cost_usd=0.15)
    assert run.usage["cost_usd"] == pytest.approx(3 * 0.065)
    assert run.usage["cached_tokens"] == 150_000
    assert h.of(run, "model.finished")[0]["cost_usd"] == pytest.approx(0.065)
    blocked(h, run, "US dollars")


def test_no_money_lets_what_is_free_go_on(build: Callable[..., Harness]) -> None:
    h = build(price_input_per_mtok=0, price_output_per_mtok=0, price_cached_per_mtok=0, max_cost_usd=0)
    run = h.run("call count {}\nsay after")
    assert (run.outcome, run.usage["cost_usd"]) == ("completed", 0.0), run.reason


def test_no_money_ends_what_costs_any(build: Callable[..., Harness]) -> None:
    h = build(price_input_per_mtok=0.01, price_output_per_mtok=0.01, max_cost_usd=0)
    h.fake.handler = always_calls
    run = h.run("loop")
    assert run.usage["model_calls"] == 1 and run.usage["cost_usd"] > 0
    blocked(h, run, "US dollars")


@pytest.mark.parametrize(
    ("limits", "usage", "budget"),
    [
        ({"max_cost_usd": 0.0}, {"cost_usd": 0.0, "model_calls": 3}, None),
        ({"max_cost_usd": 0.0}, {"cost_usd": None, "model_calls": 3}, None),
        ({"max_cost_usd": 0.0}, {"cost_usd": 1e-9}, "US dollars"),
        ({"max_cost_usd": 1.0}, {"cost_usd": 1.0}, "US dollars"),
        ({"max_turns": 1}, {}, None),
        ({"max_turns": 1}, {"model_calls": 1}, "turns"),
        ({"max_tokens": 1}, {"input_tokens": None}, None),
        ({"max_tokens": 1}, {"input_tokens": 1, "output_tokens": 0}, "tokens"),
        ({"max_seconds": 0.001}, {"seconds": 0.0}, None),
        ({"max_seconds": 0.001}, {"seconds": 0.001}, "seconds"),
    ],
)
def test_where_each_limit_begins(limits: dict[str, Any], usage: dict[str, Any], budget: str | None) -> None:
    reached = exhausted(RunOptions(model="local:x", workspace="/w", **limits), RunUsage(**usage))
    assert (reached.budget if reached else None) == budget


@pytest.mark.parametrize("nothing", ["max_turns", "max_tokens", "max_seconds"])
def test_a_limit_that_nothing_could_pass_is_refused(nothing: str) -> None:
    with pytest.raises(ValueError, match=nothing):
        RunOptions(model="local:x", workspace="/w", **{nothing: 0})


def test_unreported_tokens_make_the_cost_unknown(build: Callable[..., Harness]) -> None:
    h = build(price_input_per_mtok=1.0, price_output_per_mtok=10.0)
    replies = iter([Usage(prompt=1000, completion=10), None, Usage(prompt=1000, completion=10)])
    h.fake.handler = lambda body: Reply(always_calls(body).text, always_calls(body).tool_calls, usage=next(replies))
    run = h.run("loop", max_turns=3)
    assert run.usage["cost_usd"] is None
    assert (run.usage["input_tokens"], run.usage["unreported_calls"]) == (2000, 1)


def test_the_settings_are_the_default_budgets(build: Callable[..., Harness]) -> None:
    h = build(max_turns=2, max_tool_calls=1)
    run = h.run("call count {}; count {}\nsay never")
    assert run.outcome == "blocked" and run.options["max_turns"] == 2


def test_a_loop_is_noticed(h: Harness) -> None:
    h.fake.handler = lambda body: (
        Reply("fine")
        if body["messages"][-1]["content"].startswith("say go on")
        else Reply(tool_calls=[("count", {"text": "same"})])
    )
    run = h.run("loop")
    assert run.outcome == "blocked" and "4 times" in (run.reason or "")
    assert h.of(run, "loop.detected") == [{"tool": "count", "times": 4}]
    assert len(h.count.calls) == 4
    h.check_thread(run.thread_id)


class Clock(FakeTool):
    async def work(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        return ToolOutput(f"tick {len(self.calls)}")


def test_the_same_call_with_other_results_is_no_loop(h: Harness) -> None:
    h.engine.bus.register(Clock(declaration("clock")))
    run = h.run("\n".join(["call clock {}"] * 6 + ["say after"]))
    assert (run.outcome, h.answer(run)) == ("completed", "after")
