"""Model-visible is logged: what went over the wire is what the ledger says went over the wire."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from logician_graph.inference import ChatRequest
from storage import Run
from tests.fakes.openai_server import Reply
from tests.orchestrator.harness import Harness


def on_the_wire(request: ChatRequest) -> dict[str, Any]:
    """A request as its JSON body says it."""
    messages: list[dict[str, Any]] = []
    for message in request.messages:
        entry: dict[str, Any] = {"role": message.role, "content": message.text}
        if message.tool_calls:
            entry["tool_calls"] = [(call.id, call.name, call.arguments) for call in message.tool_calls]
        if message.tool_call_id is not None:
            entry["tool_call_id"] = message.tool_call_id
        messages.append(entry)
    tools = [(tool.name, tool.description, dict(tool.parameters)) for tool in request.tools]
    return {"model": request.model, "messages": messages, "tools": tools, "temperature": request.temperature}


def as_sent(body: dict[str, Any]) -> dict[str, Any]:
    """A recorded body in the same form."""
    messages: list[dict[str, Any]] = []
    for message in body["messages"]:
        entry = {"role": message["role"], "content": message.get("content") or ""}
        if message.get("tool_calls"):
            calls = [(call["id"], call["function"]) for call in message["tool_calls"]]
            entry["tool_calls"] = [(i, f["name"], json.loads(f["arguments"])) for i, f in calls]
        if message["role"] == "tool":
            entry["tool_call_id"] = message["tool_call_id"]
        messages.append(entry)
    functions = [tool["function"] for tool in body.get("tools") or ()]
    tools = [(f["name"], f["description"], f["parameters"]) for f in functions]
    return {"model": body["model"], "messages": messages, "tools": tools, "temperature": body.get("temperature")}


def check(h: Harness, *runs: Run) -> None:
    """Every model call of ``runs`` is rebuilt as it was sent."""
    started = [(run.id, event["seq"]) for run in runs for event in h.events(run) if event["type"] == "model.started"]
    rebuilt = [on_the_wire(h.engine.inspector.request_of(run_id, seq)) for run_id, seq in started]
    sent = [as_sent(body) for body in h.fake.bodies]
    assert len(rebuilt) == len(sent)
    for place, (ours, theirs) in enumerate(zip(rebuilt, sent, strict=True)):
        assert ours == theirs, f"model call {place}"


def test_calls_results_and_follow_ups(h: Harness) -> None:
    first = h.run('call count {"text": "ü \\" \\\\ 🧪"}; broken {"text": "x"}\ncall single {}\nsay done')
    second = h.run("say two", first.thread_id, files=[("a.txt", b"attached text")])
    third = h.done(h.engine.regenerate(second.input_message_id or ""))
    fourth = h.done(h.engine.edit(first.input_message_id or "", "say uno"))
    check(h, first, second, third, fourth)


def test_what_was_sent_stays_known_when_tools_and_settings_change(h: Harness) -> None:
    from tests.fakes.tools import FakeTool, declaration

    first = h.run("say one")
    h.engine.bus.register(FakeTool(declaration("newer")))
    h.engine.save_settings({"temperature": 0.25})
    second = h.run("say two", first.thread_id)
    assert h.fake.bodies[1]["temperature"] == 0.25
    assert len(h.fake.bodies[1]["tools"]) == len(h.fake.bodies[0]["tools"]) + 1
    check(h, first, second)


def test_stopped_and_failed_replies(h: Harness) -> None:
    stopped = h.ask("say slow 0.1 one two three four five six seven")
    h.event(stopped, "text.delta", 2)
    h.engine.cancel(stopped.id)
    h.done(stopped)
    failed = h.run("fail 400", stopped.thread_id)
    after = h.run('truncated count {"text": "abcdefgh"}\nsay after', stopped.thread_id)
    check(h, stopped, failed, after)


def test_checks_that_send_the_work_back(h: Harness) -> None:
    h.fake.handler = lambda _body: Reply("done")
    check(h, h.run("try", verify=("echo broken; exit 1",), max_repairs=1))


def test_windows_that_moved_and_texts_that_were_shortened(build: Callable[..., Harness]) -> None:
    h = build(context_window=8192)
    counter = iter(range(1000))

    def work(body: Any) -> Reply:
        number = next(counter)
        if "steps" in body["messages"][-1]["content"] or body["messages"][-1]["role"] == "tool":
            return Reply(tool_calls=[("count", {"text": f"{number} " + "w" * 900})]) if number % 40 else Reply("enough")
        return Reply(f"reply {number} " + "r" * 900)

    h.fake.handler = work
    thread = h.thread()
    runs = [h.run(f"question {number} " + "q" * 2500, thread) for number in range(8)]
    runs.append(h.run("long " + "word " * 20_000, thread))
    runs.append(h.run("many steps", thread, max_turns=45))
    requests = [data["request"] for run in runs for data in h.of(run, "model.started")]
    assert any("shortened" in request for request in requests)
    assert any("omitted" in request for request in requests)
    assert len({request["first"] for request in requests}) > 2
    check(h, *runs)


def test_an_overflow_that_was_sent_again(h: Harness) -> None:
    def small(body: Any) -> Reply:
        return Reply.context_overflow() if len(json.dumps(body["messages"])) > 20_000 else Reply("x" * 3000)

    h.fake.handler = small
    thread = h.thread()
    runs = [h.run(f"question {number} " + "y" * 3000, thread) for number in range(6)]
    assert [run.outcome for run in runs] == ["completed"] * 6
    check(h, *runs)
