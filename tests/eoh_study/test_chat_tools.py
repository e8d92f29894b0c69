"""From a chat: a study is begun through a tool, appears among the studies, and is read through another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.eoh_study.conftest import Bench, writer
from tests.fakes.openai_server import Reply


def test_a_chat_begins_a_study_and_reads_it(bench: Bench) -> None:
    def model(body: Mapping[str, Any]) -> Reply:
        last = body["messages"][-1]
        if not body.get("tools"):
            return writer(body)  # the study's own requests
        if last["role"] == "user" and "evolve" in str(last["content"]):
            return Reply(tool_calls=[("evolve", {"problem": "knapsack", "samples": 3})])
        if last["role"] == "user":
            return Reply(tool_calls=[("study", {"id": bench.studies.all()[0].id})])
        return Reply(f"It says: {last['content']}")

    bench.fake.handler = model
    thread = bench.engine.new_thread()
    first = bench.engine.send(thread.id, "evolve a better rule for the knapsack", mode="accept_all")
    bench.until(lambda: bench.engine.run(first.id).status == "done")
    row = bench.studies.all()[0]
    study = bench.studies.store.get(row.id)
    assert study is not None
    assert study.thread_id == thread.id
    bench.finished(study)
    second = bench.engine.send(thread.id, "how does it stand?")
    bench.until(lambda: bench.engine.run(second.id).status == "done")
    answer = bench.engine.export_thread(thread.id, "md")
    assert "3 of 3 samples" in answer
    assert "Best baseline on the training set" in answer
    assert "def priority" in answer


def test_beginning_a_study_asks_first(bench: Bench) -> None:
    bench.fake.handler = lambda body: Reply(tool_calls=[("evolve", {"problem": "knapsack"})])
    thread = bench.engine.new_thread()
    run = bench.engine.send(thread.id, "evolve")
    bench.until(lambda: bench.engine.run(run.id).status == "waiting")
    assert bench.studies.all() == []
    bench.engine.cancel(run.id)
