"""Long threads and long messages in small windows: what leaves is said, and nothing ends in an error."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any

import pytest

from logician_graph.orchestrator.assemble import LEFT_OUT, STEPS_LEFT_OUT
from tests.fakes.openai_server import Reply
from tests.orchestrator.harness import Harness


class StrictWindow:
    """A model that counts like a tokenizer (four characters a token) and refuses what does not fit."""

    def __init__(self, window: int) -> None:
        self.window = window
        self.refused = 0
        self.replies: Callable[[Any], Reply] = lambda body: Reply(f"answer {len(body['messages'])} " + "a" * 300)

    def __call__(self, body: Any) -> Reply:
        if len(json.dumps([body["messages"], body.get("tools")], ensure_ascii=False)) // 4 > self.window:
            self.refused += 1
            return Reply.context_overflow()
        return self.replies(body)


@pytest.fixture
def small(build: Callable[..., Harness]) -> tuple[Harness, StrictWindow]:
    h = build(context_window=8192)
    window = StrictWindow(8192)
    h.fake.handler = window
    return h, window


def test_a_very_long_thread_never_errors_and_says_what_left(small: tuple[Harness, StrictWindow]) -> None:
    h, window = small
    thread = h.thread()
    trims: list[int] = []
    for number in range(40):
        run = h.run(f"question {number} " + "q" * 1100, thread)
        assert (run.outcome, run.reason) == ("completed", "")
        trims += [data["dropped_turns"] for data in h.of(run, "context.trimmed")]
    assert window.refused == 0
    assert 2 <= len(trims) <= 15, "the window moves in leaps, so that prefix caches hold"
    assert sum(trims) > 20
    first = h.fake.bodies[-1]["messages"][1]
    assert first["role"] == "user" and first["content"].startswith(LEFT_OUT)
    assert "question 39" in h.fake.bodies[-1]["messages"][-1]["content"]
    h.check_thread(thread.id)
    assert len(h.branch(thread.id)) == 80, "the thread itself keeps everything"
    pairs = itertools.pairwise(body["messages"] for body in h.fake.bodies)
    stable = sum(1 for before, after in pairs if before == after[: len(before)])
    assert stable >= len(h.fake.bodies) - 1 - len(trims)


def test_the_window_is_remembered_over_a_restart(build: Callable[..., Harness]) -> None:
    first = build(context_window=8192)
    first.fake.handler = StrictWindow(8192)
    thread = first.thread()
    for number in range(25):
        first.run(f"question {number} " + "q" * 900, thread)
    before = first.fake.bodies[-1]["messages"]
    first.stop()
    second = build(context_window=8192)
    assert second.run("say again", thread.id).outcome == "completed"
    after = second.fake.bodies[-1]["messages"]
    assert after[: len(before)] == before
    second.check_thread(thread.id)


def test_one_message_of_200_000_characters(small: tuple[Harness, StrictWindow]) -> None:
    h, window = small
    run = h.run("start " + "word " * 40_000 + " the end")
    assert (run.outcome, run.reason) == ("completed", "")
    assert window.refused == 0
    (data,) = h.of(run, "context.trimmed")
    assert (data["dropped_turns"], data["shortened"]) == (0, 1)
    sent = h.fake.bodies[-1]["messages"][-1]["content"]
    assert sent.startswith("start word") and sent.endswith("the end") and "left out to fit" in sent
    assert len(h.branch(run.thread_id)[0].text) > 200_000
    after = h.run("say next", run.thread_id)
    assert after.outcome == "completed"
    assert any(step.kind == "notice" and "long message" in step.title for step in h.view(run).steps)


def test_long_tool_results_in_one_turn_are_shortened_oldest_first(small: tuple[Harness, StrictWindow]) -> None:
    from logician_graph.tools.types import ToolOutput
    from tests.fakes.tools import OutputTool, declaration

    h, window = small
    h.engine.bus.register(OutputTool(declaration("long"), output=ToolOutput("data " * 2000)))
    steps = iter(range(100))

    def work(_body: Any) -> Reply:
        step = next(steps)
        return Reply(tool_calls=[("long", {"text": str(step)})]) if step < 12 else Reply("finished")

    window.replies = work
    run = h.run("read everything")
    assert (run.outcome, run.reason) == ("completed", "")
    assert window.refused == 0
    results = [m["content"] for m in h.fake.bodies[-1]["messages"] if m["role"] == "tool"]
    assert len(results) == 12
    assert len(results[-1]) > len(results[0])
    h.check_thread(run.thread_id)


def test_a_turn_with_many_long_arguments_fits(small: tuple[Harness, StrictWindow]) -> None:
    """What the model itself wrote into its calls counts too: writing ten files must not end in an error."""
    h, window = small
    steps = iter(range(100))

    def work(_body: Any) -> Reply:
        step = next(steps)
        if step >= 14:
            return Reply("finished")
        return Reply(tool_calls=[("count", {"text": f"file {step}: " + "content " * 400})])

    window.replies = work
    run = h.run("write everything")
    assert (run.outcome, run.reason) == ("completed", "")
    assert window.refused == 0
    assert [call["text"][:7] for call in h.count.calls] == [f"file {step}:"[:7] for step in range(14)]
    h.check_thread(run.thread_id)


def test_a_turn_of_many_small_steps_fits(small: tuple[Harness, StrictWindow]) -> None:
    h, window = small
    steps = iter(range(200))

    def work(_body: Any) -> Reply:
        step = next(steps)
        return Reply(tool_calls=[("count", {"text": f"{step} " + "x" * 150})]) if step < 110 else Reply("finished")

    window.replies = work
    run = h.run("many steps", max_turns=150)
    assert (run.outcome, run.reason) == ("completed", "")
    assert window.refused == 0
    sent = h.fake.bodies[-1]["messages"]
    assert sent[1]["content"].startswith("many steps") and sent[1]["content"].endswith(STEPS_LEFT_OUT)
    assert sent[2]["role"] == "assistant" and "109 x" in sent[-1]["content"]
    news = h.of(run, "context.trimmed")
    assert 1 <= len(news) < 12, "each leap is told once"
    assert news[-1]["dropped_steps"] == 110 - sum(1 for m in sent if m["role"] == "assistant")
    told = [step.title for step in h.view(run).steps if step.kind == "notice"]
    assert len(told) == len(news) and f"{news[-1]['dropped_steps']} earlier steps of this turn" in told[-1]
    h.check_thread(run.thread_id)
