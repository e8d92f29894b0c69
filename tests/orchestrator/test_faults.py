"""A provider that fails in every way: what can be retried is, the rest ends the run with what to do next."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.fakes.openai_server import Reply
from tests.orchestrator.harness import Harness


def recovered(h: Harness, text: str) -> list[dict[str, Any]]:
    """Run something that fails first and then goes on; returns the retries."""
    run = h.run(text)
    assert (run.outcome, run.reason) == ("completed", "")
    assert h.answer(run) == "Recovered."
    retries = h.of(run, "model.retry")
    assert retries
    assert len(h.fake.bodies) == 1 + len(retries)
    h.check_thread(run.thread_id)
    return retries


def failed(h: Harness, text: str, error: str, *says: str, requests: int = 1) -> None:
    """Run something that cannot be served; the thread goes on afterwards."""
    run = h.run(text)
    assert run.outcome == "failed"
    (data,) = h.of(run, "model.failed")
    assert (data["error_type"], data["error"]) == (error, run.reason)
    for words in says:
        assert words in (run.reason or "")
    assert len(h.fake.bodies) == requests
    assert [step.title for step in h.view(run).steps if step.kind == "notice"][-1] == "The model call failed"
    h.check_thread(run.thread_id)
    after = h.run("say still here", run.thread_id)
    assert h.answer(after) == "still here"
    h.check_thread(run.thread_id)


def test_too_many_requests_are_waited_for_as_asked(h: Harness) -> None:
    (retry,) = recovered(h, "fail 429 x1 after 1")
    assert retry["wait_s"] >= 1.0 and "429" in retry["error"]
    first, second = (r.received_at for r in h.fake.requests if r.path.endswith("/chat/completions"))
    assert second - first >= 1.0


def test_a_server_error_then_fine(h: Harness) -> None:
    assert len(recovered(h, "fail 500 x2")) == 2


@pytest.mark.parametrize("fault", ["cut", "reset", "invalid_json", "error_chunk", "no_done", "empty", "garbage"])
def test_a_broken_stream_then_fine(h: Harness, fault: str) -> None:
    recovered(h, f"{fault} x1 one two three four")


def test_what_streamed_before_the_cut_is_void(h: Harness) -> None:
    run = h.ask("cut x1 one two three four")
    h.event(run, "model.retry")
    h.event(run, "text.reset")
    assert h.done(run).outcome == "completed"
    (message,) = [m for m in h.branch(run.thread_id) if m.role == "assistant"]
    assert message.text == "Recovered."
    assert not [step for step in h.view(run).steps if "one two" in step.text]


def test_a_server_that_stays_down(h: Harness) -> None:
    failed(h, "fail 500 x99", "ProviderUnavailable", "500", "try again later", requests=4)


def test_a_server_that_never_says_anything(h: Harness) -> None:
    failed(h, "empty", "ProviderUnavailable", "empty", requests=4)


def test_a_request_that_is_refused_is_not_repeated(h: Harness) -> None:
    failed(h, "fail 400", "RequestRejected", "400", "scripted failure 400")


def test_a_key_that_is_refused(h: Harness) -> None:
    failed(h, "fail 401", "AuthenticationFailed", "key", "settings")


def test_a_model_that_is_not_there(h: Harness) -> None:
    failed(h, "fail 404", "ModelNotFound", "'fake-model'")


def test_nobody_listens(h: Harness) -> None:
    h.fake.stop()
    run = h.run("hello")
    assert run.outcome == "failed" and "try again later" in (run.reason or "")
    assert len(h.of(run, "model.retry")) == 3
    h.check_thread(run.thread_id)
    h.fake.start()
    assert h.run("say back", run.thread_id).outcome == "completed"


def test_a_call_that_was_cut_off_runs_nothing_and_is_explained(h: Harness) -> None:
    run = h.run('truncated count {"text": "abcdefgh"}\nsay understood')
    assert (run.outcome, h.answer(run)) == ("completed", "understood")
    assert h.count.calls == []
    (text,) = h.results(run).values()
    assert text.startswith("Not run:") and "output limit" in text
    assert h.of(run, "gate.decided")[0]["action"] == "invalid"
    assert h.of(run, "tool.started") == []
    h.check_thread(run.thread_id)


def test_a_reply_without_an_answer_is_a_failure(h: Harness) -> None:
    """All of its output went into thinking: there is no answer to accept."""
    h.fake.handler = lambda _body: Reply("", reasoning="round and round", finish_reason="length")
    run = h.run("hard question", verify=("true",))
    assert run.outcome == "failed" and "output limit" in (run.reason or "")
    assert [m.role for m in h.branch(run.thread_id)] == ["user"]
    h.fake.handler = lambda _body: Reply("now it works")
    after = h.run("again", run.thread_id)
    assert after.outcome == "completed"
    h.check_thread(run.thread_id)


def test_an_answer_that_was_cut_is_kept_and_marked(h: Harness) -> None:
    h.fake.handler = lambda _body: Reply("half an answ", finish_reason="length")
    run = h.run("tell")
    assert run.outcome == "completed"
    assert (h.branch(run.thread_id)[-1].extra or {})["truncated"] is True
    assert h.view(run).steps[-1].summary == "cut at the output limit"


def test_text_with_broken_characters_is_shown_and_kept(h: Harness) -> None:
    h.fake.handler = lambda _body: Reply("half \ud83d and nul \x00 end", reasoning="\udfff")
    run = h.run("tell")
    assert run.outcome == "completed"
    text = h.branch(run.thread_id)[-1].text
    assert text.startswith("half ") and text.endswith(" end") and "\x00" not in text
    json.dumps(h.events(run), ensure_ascii=False).encode("utf-8")
    h.check_thread(run.thread_id)


def test_a_call_in_the_text_is_recovered(h: Harness) -> None:
    run = h.run('calltext count {"text": "written"}\nsay after')
    assert (run.outcome, h.answer(run)) == ("completed", "after")
    assert h.count.calls == [{"text": "written"}]
    assert h.of(run, "model.finished")[0]["recovered"] is True


def test_a_request_that_is_too_long_is_sent_again_shorter(h: Harness) -> None:
    limit = 14_000

    def small(body: Any) -> Reply:
        size = len(json.dumps(body["messages"]))
        return Reply.context_overflow() if size > limit else Reply("fits " + "x" * 1500)

    h.fake.handler = small
    thread = h.thread()
    for number in range(16):
        run = h.run(f"question {number} " + "y" * 1500, thread)
        assert (run.outcome, run.reason) == ("completed", "")
        h.check_thread(thread.id)
    overflows = [b for b in h.fake.bodies if len(json.dumps(b["messages"])) > limit]
    assert overflows, "the limit was met"
    assert len(overflows) < 16, "a request that was refused is not sent again as it was"


def test_a_request_that_never_fits_is_said(h: Harness) -> None:
    failed(h, "overflow", "ContextOverflow", "fake-model")
