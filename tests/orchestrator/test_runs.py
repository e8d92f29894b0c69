"""Runs from a person's message to their end: answers, tools, order, and what the next message finds."""

from __future__ import annotations

import pytest

from logician_graph.errors import Conflict, NotFound, UsageError
from logician_graph.tools.types import ToolOutput
from tests.fakes.tools import OutputTool, declaration
from tests.orchestrator.harness import Harness


def test_a_plain_answer(h: Harness) -> None:
    run = h.run("hello there")
    assert (run.outcome, run.reason) == ("completed", "")
    assert h.answer(run) == "You said: hello there"
    usage = run.usage
    assert (usage["model_calls"], usage["tool_calls"], usage["unreported_calls"]) == (1, 0, 0)
    assert usage["input_tokens"] > 0 and usage["output_tokens"] > 0
    assert usage["cost_usd"] is None, "prices are unknown: a cost would be a guess"
    assert 0 < usage["seconds"] < 10
    thread = h.engine.threads.get(run.thread_id or "")
    assert thread is not None and (thread.title, thread.leaf_id) == ("hello there", run.answer_message_id)
    h.check_thread(run.thread_id)
    kinds = h.kinds(run)
    assert (kinds[0], kinds[1], kinds[-1]) == ("run.queued", "run.started", "run.finished")
    assert not {"text.delta", "text.reset"} & set(kinds), "transient events are dropped at the end"


def test_the_next_message_continues_the_thread(h: Harness) -> None:
    first = h.run("say one")
    second = h.run("say two", first.thread_id)
    assert [m.text for m in h.branch(first.thread_id)] == ["say one", "one", "say two", "two"]
    assert [m["role"] for m in h.fake.bodies[-1]["messages"]] == ["system", "user", "assistant", "user"]
    assert second.outcome == "completed"
    h.check_thread(first.thread_id)


def test_a_tool_call_is_seen_run_and_answered(h: Harness) -> None:
    run = h.run('call count {"text": "a"}\nsay finished')
    assert (run.outcome, h.answer(run)) == ("completed", "finished")
    assert h.count.calls == [{"text": "a"}]
    assert list(h.results(run).values()) == ["count got a"]
    (started,), (finished,) = h.of(run, "tool.started"), h.of(run, "tool.finished")
    assert (started["tool"], started["arguments"], started["replay"]) == ("count", {"text": "a"}, "safe")
    assert (finished["status"], finished["summary"]) == ("ok", "counted")
    assert h.of(run, "gate.decided")[0]["action"] == "allow"
    assert h.kinds(run).index("tool.started") < h.kinds(run).index("tool.finished")
    assert run.usage["tool_calls"] == 1 and run.usage["model_calls"] == 2
    sent = h.fake.bodies[-1]["messages"]
    assert [m["role"] for m in sent] == ["system", "user", "assistant", "tool"]
    assert sent[3]["tool_call_id"] == sent[2]["tool_calls"][0]["id"]
    h.check_thread(run.thread_id)


def test_reasoning_is_kept_beside_the_answer(h: Harness) -> None:
    run = h.run("think because of this | and so")
    message = h.branch(run.thread_id)[-1]
    assert (message.text, (message.extra or {})["reasoning"]) == ("and so", "because of this")
    assert [step.kind for step in h.view(run).steps] == ["thinking", "text"]


def test_parallel_safe_calls_run_together_and_keep_their_order(h: Harness) -> None:
    run = h.run('call slow {"text": "a", "seconds": 0.6}; slow {"text": "b", "seconds": 0.2}\nsay done')
    (_, first_end), (second_start, second_end) = sorted(h.slow.spans, key=lambda span: -span[1])
    assert second_start < first_end and second_end < first_end
    branch = h.branch(run.thread_id)
    calls = (branch[1].extra or {})["tool_calls"]
    assert [call["arguments"]["text"] for call in calls] == ["a", "b"]
    assert [(m.extra or {})["tool_call_id"] for m in branch[2:4]] == [call["id"] for call in calls]
    h.check_thread(run.thread_id)


def test_a_sequential_call_is_a_barrier(h: Harness) -> None:
    calls = [("slow", 1, 0.3), ("slow", 2, 0.1), ("slow_single", 3, 0.2), ("slow", 4, 0.1), ("slow_single", 5, 0.1)]
    line = "; ".join(f'{name} {{"text": "{text}", "seconds": {seconds}}}' for name, text, seconds in calls)
    run = h.run(f"call {line}\nsay done")
    assert run.outcome == "completed"
    one, two, four = (_span(h.slow, text) for text in ("1", "2", "4"))
    three, five = (_span(h.slow_single, text) for text in ("3", "5"))
    assert one[0] < two[1] and two[0] < one[1], "neighbours that are safe overlap"
    assert max(one[1], two[1]) <= three[0] < three[1] <= four[0] < four[1] <= five[0]
    texts = [m.text for m in h.branch(run.thread_id) if m.role == "tool"]
    assert len(texts) == 5
    h.check_thread(run.thread_id)


def _span(tool: object, text: str) -> tuple[float, float]:
    """When the call with ``text`` ran; spans are noted when calls end, so they are found by their start."""
    calls = [call["text"] for call in tool.calls]  # type: ignore[attr-defined]
    spans = sorted(tool.spans)  # type: ignore[attr-defined]
    return spans[calls.index(text)]


def test_a_tool_that_fails_never_ends_the_run(h: Harness) -> None:
    run = h.run('call broken {"text": "told"}; broken {"text": "crash"}; count {}\nsay went on')
    assert (run.outcome, h.answer(run)) == ("completed", "went on")
    told, crashed, fine = h.results(run).values()
    assert "try another" in told
    assert "a defect in the tool" in crashed
    assert fine == "count got "
    assert [data["status"] for data in h.of(run, "tool.finished")].count("error") == 2
    h.check_thread(run.thread_id)


def test_a_call_of_an_unknown_tool_is_explained(h: Harness) -> None:
    run = h.run('call no_such_tool {"x": 1}; count {}\nsay ok')
    assert run.outcome == "completed"
    unknown, fine = h.results(run).values()
    assert "no_such_tool" in unknown and "count" in unknown
    assert fine == "count got "
    h.check_thread(run.thread_id)


def test_arguments_that_are_no_json_are_explained(h: Harness) -> None:
    run = h.run('call count {"text": oops}\nsay ok')
    assert run.outcome == "completed"
    assert h.count.calls == []
    (text,) = h.results(run).values()
    assert text.startswith("Not run:")
    h.check_thread(run.thread_id)


@pytest.mark.parametrize("odd", ["nul \x00 inside", "lone \ud800 surrogate", "both \udfff\x00", "\x1b[31m colour"])
def test_output_of_any_kind_is_stored_and_sent(h: Harness, odd: str) -> None:
    h.engine.bus.register(OutputTool(declaration("odd"), output=ToolOutput(odd, summary=odd, data={"text": odd})))
    run = h.run("call odd {}\nsay ok")
    assert (run.outcome, run.reason) == ("completed", "")
    h.check_thread(run.thread_id)
    assert h.engine.export_thread(run.thread_id or "", "json")


def test_a_call_with_odd_arguments_is_stored(h: Harness) -> None:
    run = h.run('call count {"text": "nul \\u0000 and \\ud800"}\nsay ok')
    assert (run.outcome, run.reason) == ("completed", "")
    h.check_thread(run.thread_id)


def test_a_message_of_any_kind_is_stored(h: Harness) -> None:
    run = h.run("say odd \x00 \ud800 text")
    assert run.outcome == "completed"
    assert "\x00" not in h.branch(run.thread_id)[0].text
    h.check_thread(run.thread_id)


def test_what_the_person_may_not_do_is_said(h: Harness) -> None:
    thread = h.thread()
    with pytest.raises(UsageError, match="empty"):
        h.ask("  \n ", thread)
    with pytest.raises(NotFound, match="'nowhere'"):
        h.ask("hi", "nowhere")
    busy = h.ask("say slow 0.3 one two three", thread)
    with pytest.raises(Conflict, match="still working"):
        h.ask("me too", thread)
    with pytest.raises(Conflict):
        h.engine.conversations.delete(thread.id)
    h.done(busy)
    h.engine.conversations.delete(thread.id)
    with pytest.raises(NotFound, match="deleted"):
        h.ask("hi", thread)
    h.engine.conversations.restore(thread.id)
    assert h.run("say back", thread).outcome == "completed"
    assert len(h.branch(thread.id)) == 4
    h.engine.conversations.restore(thread.id)
    with pytest.raises(NotFound, match="removed for good"):
        h.engine.conversations.restore("purged")


def test_a_workspace_that_is_gone_is_said_before_anything_is_written(h: Harness) -> None:
    thread = h.thread(workspace="/nowhere/at/all")
    with pytest.raises(UsageError, match=r"/nowhere/at/all.*not a folder"):
        h.ask("hi", thread)
    assert h.branch(thread.id) == []


def test_a_run_that_cannot_be_served_fails_with_its_reason_and_others_go_on(h: Harness) -> None:
    run = h.run("hi", model="nonsense:model")
    assert run.outcome == "failed" and "nonsense:model" in (run.reason or "")
    assert h.kinds(run)[-1] == "run.finished"
    assert h.run("say still here").outcome == "completed"


def test_titles_come_from_the_first_message_until_a_person_names_the_thread(h: Harness) -> None:
    long = "word " * 40
    run = h.run(long + "\nsecond line")
    title = h.engine.threads.get(run.thread_id or "").title  # type: ignore[union-attr]
    assert title.endswith("word…") and len(title) <= 61
    h.engine.conversations.rename(run.thread_id or "", "  My   own  ")
    h.run("say more", run.thread_id)
    thread = h.engine.threads.get(run.thread_id or "")
    assert thread is not None and (thread.title, thread.titled_by) == ("My own", "person")
    with pytest.raises(UsageError):
        h.engine.conversations.rename(run.thread_id or "", " \n ")
