"""The fake endpoint does what its script says: other tests and the browser tests stand on it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.fakes.openai_prompts import PromptScript, parse_calls, script_and_step
from tests.fakes.openai_replies import pieces
from tests.fakes.openai_server import FakeOpenAI, Reply


def ask(fake: FakeOpenAI, text: str = "Hi", **fields: Any) -> httpx.Response:
    body = {"model": "m", "messages": [{"role": "user", "content": text}], **fields}
    return httpx.post(f"{fake.base_url}/chat/completions", json=body, timeout=10)


def say(script: str, *later: dict[str, Any]) -> Reply:
    return PromptScript()({"messages": [{"role": "user", "content": script}, *later]})


ASSISTANT = {"role": "assistant", "content": None}
RESULT = {"role": "tool", "content": "ok"}


def test_a_whole_completion() -> None:
    with FakeOpenAI([Reply("Hello.", tool_calls=[("f", {"x": 1})])]) as fake:
        body = ask(fake).json()
        assert body["choices"][0]["finish_reason"] == "tool_calls"
        message = body["choices"][0]["message"]
        assert message["content"] == "Hello."
        assert json.loads(message["tool_calls"][0]["function"]["arguments"]) == {"x": 1}
        assert body["usage"]["total_tokens"] == body["usage"]["prompt_tokens"] + body["usage"]["completion_tokens"]


def test_a_stream_ends_with_usage_and_done() -> None:
    with FakeOpenAI([Reply("a b")]) as fake:
        lines = ask(fake, stream=True, stream_options={"include_usage": True}).text.strip().split("\n\n")
        assert lines[-1] == "data: [DONE]"
        assert json.loads(lines[-2].removeprefix("data: "))["usage"]["completion_tokens"] > 0


def test_a_script_that_is_used_up_says_so() -> None:
    with FakeOpenAI([Reply("only")]) as fake:
        ask(fake)
        second = ask(fake)
        assert second.status_code == 400
        assert "1 replies, request 2" in second.text


def test_requests_are_recorded_and_keys_checked() -> None:
    with FakeOpenAI(api_key="right") as fake:
        assert ask(fake).status_code == 401
        assert httpx.get(f"{fake.base_url}/models", headers={"Authorization": "Bearer right"}).status_code == 200
        assert [request.path for request in fake.requests] == ["/v1/chat/completions", "/v1/models"]
        assert fake.bodies[0]["messages"][0]["content"] == "Hi"


def test_call_ids_differ_between_replies() -> None:
    with FakeOpenAI(lambda _body: Reply(tool_calls=[("f", {}), ("f", {})])) as fake:
        found = [ask(fake).json()["choices"][0]["message"]["tool_calls"] for _ in range(3)]
        ids = [call["id"] for calls in found for call in calls]
        assert len(set(ids)) == 6


def test_a_constrained_request_gets_constrained_json() -> None:
    asked = {"response_format": {"type": "json_schema", "json_schema": {"schema": {}}}}
    with FakeOpenAI([Reply("Hi."), Reply(tool_calls=[("f", {"x": 1})]), Reply("raw", raw_text=True)]) as fake:
        texts = [ask(fake, **asked).json()["choices"][0]["message"]["content"] for _ in range(3)]
    assert json.loads(texts[0]) == {"tool": "answer", "arguments": {"text": "Hi."}}
    assert json.loads(texts[1]) == {"tool": "f", "arguments": {"x": 1}}
    assert texts[2] == "raw"


@pytest.mark.parametrize("text", ["", "a", " a  b\n\nc ", "\n"])
def test_pieces_join_to_the_text(text: str) -> None:
    assert "".join(pieces(text)) == text


# The prompt as script


def test_plain_text_is_echoed() -> None:
    assert say("What now?").text == "You said: What now?"


def test_each_line_is_one_call_of_the_turn() -> None:
    script = 'call read {"path": "a"}; bash {"command": "ls"}\nsay All done.'
    first = say(script)
    assert list(first.tool_calls) == [("read", {"path": "a"}), ("bash", {"command": "ls"})]
    assert say(script, ASSISTANT, RESULT, RESULT).text == "All done."
    assert say(script, ASSISTANT, RESULT, RESULT, ASSISTANT, RESULT).text == "Done."


def test_results_told_as_user_text_are_not_the_script() -> None:
    messages = [
        {"role": "user", "content": "say one\nsay two"},
        ASSISTANT,
        {"role": "user", "content": "Result of read:\nx"},
    ]
    assert script_and_step(messages) == ("say one\nsay two", 1)


def test_verbs() -> None:
    assert say("say slow one two") == Reply("one two", delay_s=0.15)
    assert say("say slow 0.5 one") == Reply("one", delay_s=0.5)
    assert say("say long 3").text == "word1 word2 word3"
    assert say("think hm | yes") == Reply("yes", reasoning="hm")
    assert say("wait 2 say late") == Reply("late", first_byte_s=2.0)
    assert say("cut a b c") == Reply("a b c", fault="cut")
    assert say('truncated f {"x": 1}').finish_reason == "length"
    assert say("overflow").status == 400
    assert say("fail 429 after 3").headers == {"Retry-After": "3"}
    assert say('calltext f {"x": 1}').text.startswith('<tool_call>{"name": "f"')
    assert say("empty").text == ""
    assert parse_calls("f {broken") == (("f", "{broken"),)


def test_a_fault_with_a_count_passes() -> None:
    script = PromptScript()
    body = {"messages": [{"role": "user", "content": "fail 500 x2"}]}
    assert [script(body).status for _ in range(3)] == [500, 500, None]
    assert script(body).text == "Recovered."


def test_it_runs_as_a_program(tmp_path: Path) -> None:
    file = tmp_path / "script.json"
    file.write_text(json.dumps([{"text": "from the file"}]), encoding="utf-8")
    root = Path(__file__).parents[2]
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.fakes.openai_server", "--script", str(file)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=root,
        env=os.environ,
    )
    try:
        assert process.stdout is not None
        base_url = process.stdout.readline().strip()
        body = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
        answer = httpx.post(f"{base_url}/chat/completions", json=body, timeout=10).json()
        assert answer["choices"][0]["message"]["content"] == "from the file"
    finally:
        process.terminate()
        process.wait(5)
        if process.stdout is not None:
            process.stdout.close()


def test_a_client_that_leaves_is_noted() -> None:
    with FakeOpenAI([Reply("word " * 200, delay_s=0.02)]) as fake:
        body = {"model": "m", "stream": True, "messages": []}
        with httpx.stream("POST", f"{fake.base_url}/chat/completions", json=body) as response:
            next(response.iter_bytes())
        deadline = time.monotonic() + 2
        while fake.requests[0].disconnected_at is None and time.monotonic() < deadline:
            time.sleep(0.01)
        assert fake.requests[0].disconnected_at is not None
