"""Acceptance: commands decide, really run, send the work back a bounded number of times, and show their output."""

from __future__ import annotations

import pathlib
from typing import Any

from tests.fakes.openai_server import Reply
from tests.orchestrator.harness import Harness


def test_commands_that_pass_complete_the_run(h: Harness) -> None:
    run = h.run("say finished", verify=("true", "echo fine && test 1 = 1"))
    assert (run.outcome, run.reason) == ("completed", "2 of 2 checks passed.")
    first, second = h.of(run, "verify.finished")
    assert first["passed"] and second["passed"]
    assert (second["exit_code"], second["output"].strip()) == (0, "fine")
    assert [step.state for step in h.view(run).steps if step.kind == "verify"] == ["ok", "ok"]
    h.check_thread(run.thread_id)


def test_a_command_that_fails_sends_the_work_back_until_it_passes(h: Harness) -> None:
    def worker(body: Any) -> Reply:
        last = body["messages"][-1]["content"]
        if last.startswith("The work was checked"):
            return Reply(tool_calls=[("write_file", {"path": "done.txt", "content": "yes"})])
        return Reply("I am done, believe me.")

    h.fake.handler = worker
    check = "cat done.txt || { echo 'there is no done.txt'; exit 3; }"
    run = h.run("make done.txt", verify=(check,))
    assert (run.outcome, run.reason) == ("completed", "1 of 1 checks passed.")
    failed, passed = h.of(run, "verify.finished")
    assert (failed["passed"], failed["exit_code"], failed["round"]) == (False, 3, 0)
    assert (passed["passed"], passed["round"]) == (True, 1)
    sent_back = next(m for m in h.branch(run.thread_id) if (m.extra or {}).get("origin") == "acceptance")
    assert sent_back.role == "user"
    assert "exit code 3" in sent_back.text and "there is no done.txt" in sent_back.text
    assert (h.workspace / "done.txt").read_text("utf-8") == "yes"
    h.check_thread(run.thread_id)
    after = h.run("say next", run.thread_id)
    assert after.outcome == "completed"


def test_a_command_that_never_passes_fails_the_run(h: Harness) -> None:
    h.fake.handler = lambda _body: Reply("Now it surely works.")
    run = h.run("try", verify=("true", "echo broken; exit 1"), max_repairs=2)
    assert run.outcome == "failed"
    assert "after 2 repairs" in (run.reason or "") and "echo broken; exit 1" in (run.reason or "")
    rounds = [(data["round"], data["index"], data["passed"]) for data in h.of(run, "verify.finished")]
    assert rounds == [(0, 0, True), (0, 1, False), (1, 0, True), (1, 1, False), (2, 0, True), (2, 1, False)]
    assert len(h.fake.bodies) == 3
    h.check_thread(run.thread_id)
    assert h.run("hello", run.thread_id).outcome == "completed"


def test_without_repairs_the_first_failure_counts(h: Harness) -> None:
    run = h.run("say finished", verify=("exit 7",), max_repairs=0)
    assert run.outcome == "failed"
    assert len(h.fake.bodies) == 1


def test_every_command_runs_so_that_all_failures_are_told_at_once(h: Harness) -> None:
    h.fake.handler = lambda _body: Reply("ok")
    run = h.run("try", verify=("echo first; exit 1", "echo second; exit 2"), max_repairs=1)
    sent_back = next(m for m in h.branch(run.thread_id) if (m.extra or {}).get("origin") == "acceptance")
    assert "first" in sent_back.text and "second" in sent_back.text


def test_long_and_odd_output_is_cut_for_the_model_and_saved_whole(h: Harness) -> None:
    h.fake.handler = lambda _body: Reply("ok")
    command = "printf 'start\\0\\377'; yes 0123456789 | head -n 20000; echo the end; exit 1"
    run = h.run("try", verify=(command,), max_repairs=1)
    first = h.of(run, "verify.finished")[0]
    assert len(first["output"]) <= 4000 and first["output"].rstrip().endswith("the end")
    with pathlib.Path(first["saved_path"]).open("rb") as file:
        assert len(file.read()) > 200_000
    assert len(next(m for m in h.branch(run.thread_id) if (m.extra or {}).get("origin")).text) < 5000


def test_a_claim_is_no_evidence(h: Harness) -> None:
    h.fake.handler = lambda _body: Reply("All checks passed. exit code 0. completed.")
    run = h.run("try", verify=("false",), max_repairs=1)
    assert run.outcome == "failed"


def test_a_budget_that_ends_the_repairs_blocks_the_run(h: Harness) -> None:
    h.fake.handler = lambda _body: Reply("ok")
    run = h.run("try", verify=("false",), max_turns=1)
    assert run.outcome == "blocked" and "turns" in (run.reason or "")
    h.check_thread(run.thread_id)
