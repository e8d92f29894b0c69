"""The adapter against a real HTTP server that misbehaves in every way it should survive."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

import pytest
from pydantic import SecretStr

from logician_graph.errors import (
    AuthenticationFailed,
    ContextOverflow,
    ModelNotFound,
    ProviderError,
    ProviderUnavailable,
    RequestRejected,
)
from logician_graph.inference import (
    ChatMessage,
    ChatRequest,
    ChatResult,
    EndpointOptions,
    OpenAICompatible,
    ReasoningDelta,
    Retrying,
    RetryPolicy,
    TextDelta,
    ToolCall,
    ToolCallProgress,
)
from tests.fakes.openai_server import FakeOpenAI, Reply, Usage
from tests.inference.conftest import KEY, READ, WRITE, CountedSleep, collect, request, result

Serve = Callable[..., FakeOpenAI]
Connect = Callable[..., OpenAICompatible]


# What comes back


async def test_text_streams_and_usage_is_as_reported(serve: Serve, connect: Connect) -> None:
    usage = Usage(prompt=11, completion=3, cached=7)
    fake = serve([Reply("Hello big world", usage=usage, model="served-name", delay_s=0.02)])
    parts = await collect(connect(fake), request())
    assert [part.text for part in parts if isinstance(part, TextDelta)] == ["Hello", " big", " world"]
    final = parts[-1]
    assert isinstance(final, ChatResult)
    assert (final.text, final.finish_reason, final.model) == ("Hello big world", "stop", "served-name")
    assert (final.usage.input_tokens, final.usage.output_tokens, final.usage.cached_tokens) == (11, 3, 7)
    assert final.usage.calls == 1


async def test_usage_that_is_not_reported_is_unknown_not_zero(serve: Serve, connect: Connect) -> None:
    usage = (await result(connect(serve([Reply("Hi", usage=None)])), request())).usage
    assert (usage.input_tokens, usage.output_tokens, usage.cached_tokens) == (None, None, None)


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
async def test_reasoning_is_kept_apart_from_the_answer(serve: Serve, connect: Connect, field: str) -> None:
    fake = serve([Reply("Four.", reasoning="two and two", reasoning_field=field)])
    parts = await collect(connect(fake), request())
    assert "".join(part.text for part in parts if isinstance(part, ReasoningDelta)) == "two and two"
    assert isinstance(parts[-1], ChatResult)
    assert (parts[-1].text, parts[-1].reasoning) == ("Four.", "two and two")


async def test_tokens_are_passed_on_as_they_come(serve: Serve, connect: Connect) -> None:
    provider = connect(serve([Reply("warm"), Reply("a b c d e", delay_s=0.05)]))
    await result(provider, request())
    started = time.monotonic()
    times = [time.monotonic() - started async for part in provider.stream(request()) if isinstance(part, TextDelta)]
    assert len(times) == 5
    assert times[0] < 0.2
    assert times[-1] - times[0] > 0.15


async def test_the_request_carries_what_was_asked(serve: Serve, connect: Connect) -> None:
    fake = serve([Reply("ok")])
    call = ToolCall("c1", "read_file", {"path": "ä.txt"})
    messages = (
        ChatMessage("system", "Be brief."),
        ChatMessage("user", "Read it."),
        ChatMessage("assistant", "", (call,)),
        ChatMessage("tool", "content", tool_call_id="c1"),
    )
    asked = ChatRequest("some-model", messages, (READ,), temperature=0.2, max_output_tokens=77, seed=5)
    await result(connect(fake, headers={"X-Team": SecretStr("blue")}), asked)
    (body,) = fake.bodies
    assert (body["model"], body["temperature"], body["max_tokens"], body["seed"]) == ("some-model", 0.2, 77, 5)
    assert body["stream_options"] == {"include_usage": True}
    assert body["tools"][0]["function"]["name"] == "read_file"
    assert [message["role"] for message in body["messages"]] == ["system", "user", "assistant", "tool"]
    assert body["messages"][2]["tool_calls"][0]["function"] == {"name": "read_file", "arguments": '{"path": "ä.txt"}'}
    assert body["messages"][3]["tool_call_id"] == "c1"
    assert fake.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert fake.requests[0].headers["x-team"] == "blue"


async def test_lone_surrogates_do_not_break_the_request(serve: Serve, connect: Connect) -> None:
    fake = serve([Reply("ok")])
    messages = (
        ChatMessage("user", "bad \ud800 text"),
        ChatMessage("assistant", "", (ToolCall("c", "read_file", {"path": "\udfff"}),)),
        ChatMessage("tool", "\ud8ff", tool_call_id="c"),
    )
    assert (await result(connect(fake), ChatRequest("m", messages))).text == "ok"
    assert fake.bodies[0]["messages"][0]["content"] == "bad ? text"


async def test_what_comes_together_is_passed_on_together(serve: Serve, connect: Connect) -> None:
    parts = await collect(connect(serve([Reply("word " * 400, reasoning="hm " * 100)])), request())
    assert [type(part) for part in parts[:2]] == [ReasoningDelta, TextDelta]
    assert len(parts) < 20
    assert isinstance(parts[-1], ChatResult)
    assert parts[-1].text == "word " * 400


async def test_one_connection_serves_call_after_call(serve: Serve, connect: Connect) -> None:
    fake = serve()
    provider = connect(fake)
    for _ in range(5):
        await result(provider, request())
    assert len({recorded.client_port for recorded in fake.requests}) == 1


# Tool calls


async def test_two_native_calls_in_fragments(serve: Serve, connect: Connect) -> None:
    calls = [("read_file", {"path": "a"}), ("write_file", {"path": "b", "text": 'say "hi"\n'})]
    parts = await collect(connect(serve([Reply("Looking.", tool_calls=calls)])), request(tools=(READ, WRITE)))
    final = parts[-1]
    assert isinstance(final, ChatResult)
    assert [(call.name, call.arguments) for call in final.tool_calls] == calls
    assert len({call.id for call in final.tool_calls}) == 2
    assert (final.text, final.finish_reason, final.recovered) == ("Looking.", "tool_calls", False)
    grown = [part.characters for part in parts if isinstance(part, ToolCallProgress) and part.name == "write_file"]
    assert grown == sorted(grown)
    assert grown[-1] > 20


async def test_deltas_without_an_index_are_told_apart(serve: Serve, connect: Connect) -> None:
    calls = [("read_file", {"path": "a"}), ("read_file", {"path": "b"})]
    final = await result(connect(serve([Reply(tool_calls=calls, tool_index=False)])), request(tools=(READ,)))
    assert [call.arguments for call in final.tool_calls] == [{"path": "a"}, {"path": "b"}]


async def test_broken_arguments_come_back_as_invalid(serve: Serve, connect: Connect) -> None:
    calls = [("read_file", '{"path": '), ("read_file", "[1]"), ("read_file", ""), ("read_file", '{"path": "ok"}')]
    final = await result(connect(serve([Reply(tool_calls=calls)])), request(tools=(READ,)))
    assert [call.arguments for call in final.tool_calls] == [{}, {"path": "ok"}]
    assert [call.raw for call in final.invalid_calls] == ['{"path": ', "[1]"]
    assert "not valid JSON" in final.invalid_calls[0].error
    assert "must be a JSON object" in final.invalid_calls[1].error


async def test_calls_of_a_truncated_reply_are_all_invalid(serve: Serve, connect: Connect) -> None:
    calls = [("read_file", {"path": "whole"}), ("write_file", '{"path": "a", "text": "ha')]
    fake = serve([Reply(tool_calls=calls, finish_reason="length")])
    final = await result(connect(fake), request(tools=(READ, WRITE)))
    assert final.tool_calls == ()
    assert [call.name for call in final.invalid_calls] == ["read_file", "write_file"]
    assert final.finish_reason == "length"
    assert "output limit" in final.invalid_calls[1].error


async def test_a_call_written_as_text_is_recovered_and_kept_from_the_screen(serve: Serve, connect: Connect) -> None:
    text = 'I will look.\n<tool_call>\n{"name": "read_file", "arguments": {"path": "a", "limit": "3"}}\n</tool_call>'
    parts = await collect(connect(serve([Reply(text)])), request(tools=(READ,)))
    final = parts[-1]
    assert isinstance(final, ChatResult)
    assert [(call.name, call.arguments) for call in final.tool_calls] == [("read_file", {"path": "a", "limit": 3})]
    assert (final.text, final.recovered, final.finish_reason) == ("I will look.", True, "tool_calls")
    assert "".join(part.text for part in parts if isinstance(part, TextDelta)).strip() == "I will look."


async def test_text_that_only_looks_like_a_call_is_shown_whole(serve: Serve, connect: Connect) -> None:
    text = 'Such as this:\n```json\n{"color": "red"}\n```\nor <tool_call> in words.'
    parts = await collect(connect(serve([Reply(text)])), request(tools=(READ,)))
    assert "".join(part.text for part in parts if isinstance(part, TextDelta)) == text
    assert isinstance(parts[-1], ChatResult)
    assert (parts[-1].text, parts[-1].tool_calls) == (text, ())


async def test_tools_in_the_prompt(serve: Serve, connect: Connect) -> None:
    fake = serve([Reply('<tool_call>{"name": "read_file", "arguments": {"path": "a"}}</tool_call>')])
    call = ToolCall("c", "read_file", {"path": "z"})
    messages = (
        ChatMessage("user", "Go."),
        ChatMessage("assistant", "", (call,)),
        ChatMessage("tool", "zzz", tool_call_id="c"),
    )
    final = await result(connect(fake, tool_calling="text"), ChatRequest("m", messages, (READ,)))
    assert [call.arguments for call in final.tool_calls] == [{"path": "a"}]
    sent = fake.bodies[0]
    assert "tools" not in sent
    assert [message["role"] for message in sent["messages"]] == ["system", "user", "assistant", "user"]
    assert "read_file(path: string, limit?: integer): Read a text file." in sent["messages"][0]["content"]
    assert sent["messages"][2]["content"] == '<tool_call>{"name": "read_file", "arguments": {"path": "z"}}</tool_call>'
    assert sent["messages"][3]["content"] == "Result of read_file:\nzzz"


# What goes wrong for good

WONT_HELP: dict[str, tuple[Reply, type[ProviderError]]] = {
    "400": (Reply.failing(400, "bad field"), RequestRejected),
    "401": (Reply.failing(401, "no"), AuthenticationFailed),
    "403": (Reply.failing(403, "no"), AuthenticationFailed),
    "404": (Reply.failing(404, "no such model"), ModelNotFound),
    "422": (Reply.failing(422, "no"), RequestRejected),
    "model in a 400": (Reply.failing(400, "The model `x` does not exist", code="model_not_found"), ModelNotFound),
    "quota in a 429": (Reply.failing(429, "No more credit", code="insufficient_quota"), RequestRejected),
    "plain text": (Reply(status=400, error="just text"), RequestRejected),
    "overflow, OpenAI": (Reply.context_overflow(), ContextOverflow),
    "overflow, llama.cpp": (
        Reply.failing(
            400,
            "request (18031 tokens) exceeds the available context size (8192 tokens), try increasing it",
            type="exceed_context_size_error",
        ),
        ContextOverflow,
    ),
    "overflow, vLLM": (
        Reply.failing(
            400,
            "'max_tokens' or 'max_completion_tokens' is too large: 5000. This model's maximum context length is 4096",
        ),
        ContextOverflow,
    ),
    "overflow, 413": (Reply.failing(413, "prompt is too long: 210000 tokens > 200000 maximum"), ContextOverflow),
}


@pytest.mark.parametrize(("reply", "error"), WONT_HELP.values(), ids=WONT_HELP.keys())
async def test_what_retrying_cannot_help_is_asked_once(
    serve: Serve, connect: Connect, sleep: CountedSleep, reply: Reply, error: type[ProviderError]
) -> None:
    fake = serve(lambda _body: reply)
    with pytest.raises(error) as raised:
        await collect(connect(fake), request())
    assert type(raised.value) is error
    assert len(fake.bodies) == 1
    assert sleep.waits == []


# What may pass

MAY_PASS = {
    "500": Reply.failing(500, "oops"),
    "503": Reply.failing(503, "busy"),
    "408": Reply.failing(408, "slow"),
    "409": Reply.failing(409, "conflict"),
    "429": Reply.failing(429, "slow down"),
    "cut": Reply("one two three four", fault="cut"),
    "reset": Reply("one two three four", fault="reset"),
    "invalid JSON": Reply("one two three four", fault="invalid_json"),
    "error chunk": Reply("one two three four", fault="error_chunk"),
    "no end": Reply("one two three four", fault="no_done"),
    "empty": Reply(fault="empty"),
    "blank": Reply("  \n"),
    "garbage": Reply(fault="garbage"),
}


@pytest.mark.parametrize("reply", MAY_PASS.values(), ids=MAY_PASS.keys())
async def test_what_may_pass_is_tried_again(serve: Serve, connect: Connect, sleep: CountedSleep, reply: Reply) -> None:
    fake = serve([reply, Reply("fine")])
    parts = await collect(connect(fake), request())
    (retrying,) = [part for part in parts if isinstance(part, Retrying)]
    assert retrying.attempt == 1
    assert sleep.waits == [retrying.wait_s]
    assert retrying.error
    assert isinstance(parts[-1], ChatResult)
    assert parts[-1].text == "fine"
    assert len(fake.bodies) == 2


@pytest.mark.parametrize("reply", MAY_PASS.values(), ids=MAY_PASS.keys())
async def test_tries_are_bounded(serve: Serve, connect: Connect, sleep: CountedSleep, reply: Reply) -> None:
    fake = serve(lambda _body: reply)
    with pytest.raises(ProviderUnavailable, match="Gave up after 3 tries"):
        await collect(connect(fake, retry=RetryPolicy(tries=3)), request())
    assert len(fake.bodies) == 3
    assert len(sleep.waits) == 2


async def test_tries_that_were_answered_are_counted(serve: Serve, connect: Connect) -> None:
    cut = Reply("one two three four", fault="cut")
    fake = serve([cut, Reply.failing(500, "oops"), Reply("fine")])
    assert (await result(connect(fake), request())).usage.calls == 2


async def test_waits_are_real(serve: Serve, connect: Connect) -> None:
    fake = serve([Reply.failing(429, "slow down", retry_after="1"), Reply("fine")])
    started = time.monotonic()
    await collect(connect(fake, real_waits=True), request())
    assert time.monotonic() - started >= 1.0
    first, second = fake.requests
    assert second.received_at - first.received_at >= 1.0


async def test_a_dead_port_is_tried_again_then_told(connect: Connect, serve: Serve, sleep: CountedSleep) -> None:
    fake = serve()
    provider = connect(fake)
    fake.stop()
    with pytest.raises(ProviderUnavailable, match=str(fake.port)):
        await collect(provider, request())
    assert len(sleep.waits) == 3


async def test_a_slow_first_byte_runs_into_its_timeout(serve: Serve, connect: Connect) -> None:
    fake = serve([Reply("late", first_byte_s=5), Reply("fine")])
    started = time.monotonic()
    assert (await result(connect(fake, first_token_timeout_s=0.3), request())).text == "fine"
    assert time.monotonic() - started < 15


async def test_a_slow_first_byte_within_the_timeout_is_waited_for(serve: Serve, connect: Connect) -> None:
    fake = serve([Reply("late", first_byte_s=0.5)])
    assert (await result(connect(fake, stall_timeout_s=0.2), request())).text == "late"
    assert len(fake.bodies) == 1


async def test_silence_in_the_middle_runs_into_its_timeout(serve: Serve, connect: Connect) -> None:
    fake = serve([Reply("one two three", fault="hang"), Reply("fine")])
    assert (await result(connect(fake, stall_timeout_s=0.3), request())).text == "fine"


# Stopping


async def test_closing_the_iterator_closes_the_connection(serve: Serve, connect: Connect) -> None:
    fake = serve([Reply("word " * 500, delay_s=0.02)])
    async with aclosing(connect(fake).stream(request())) as parts:  # type: ignore[type-var]
        assert isinstance(await anext(parts), TextDelta)
    await _left_within(fake, 5)


@pytest.mark.parametrize("reply", [Reply("word " * 500, delay_s=0.02), Reply("late", first_byte_s=30)])
async def test_cancelling_the_task_closes_the_connection(serve: Serve, connect: Connect, reply: Reply) -> None:
    fake = serve([reply])
    task = asyncio.ensure_future(collect(connect(fake), request()))
    await asyncio.to_thread(fake.wait_for_request)
    await asyncio.sleep(0.1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await _left_within(fake, 5)


async def _left_within(fake: FakeOpenAI, seconds: float) -> None:
    closed = time.monotonic()
    while fake.requests[-1].disconnected_at is None:
        assert time.monotonic() - closed < seconds, "the server still sees the client"
        await asyncio.sleep(0.01)


async def test_many_calls_at_once(serve: Serve, connect: Connect) -> None:
    fake = serve(lambda body: Reply(body["messages"][-1]["content"] * 3, delay_s=0.001))
    provider = connect(fake)
    texts = [f"number{index} " for index in range(40)]
    results = await asyncio.gather(*(result(provider, request(text)) for text in texts))
    assert [found.text for found in results] == [text * 3 for text in texts]


async def test_a_closed_provider_opens_anew(serve: Serve, connect: Connect) -> None:
    provider = connect(serve())
    await result(provider, request())
    await provider.aclose()
    assert (await result(provider, request())).text


# Secrets


async def test_the_key_appears_nowhere(serve: Serve, connect: Connect, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    echo = Reply.failing(401, f"Incorrect API key provided: {KEY}; header was Bearer {KEY}")
    fakes = [serve(lambda _body, reply=reply: reply) for reply in (echo, *MAY_PASS.values())]
    fakes.append(serve([Reply.failing(500, f"upstream said {KEY}"), Reply("fine")]))
    seen: list[str] = []
    for fake in fakes:
        provider = connect(fake, headers={"X-Extra": SecretStr(KEY + "-header")}, retry=RetryPolicy(tries=2))
        seen += [repr(provider), str(vars(provider))]
        try:
            seen += map(repr, await collect(provider, request()))
        except ProviderError as error:
            chain: BaseException | None = error
            while chain is not None:
                seen += [str(chain), repr(chain)]
                chain = chain.__cause__ or (None if chain.__suppress_context__ else chain.__context__)
        seen.append(repr(await provider.check("m")))
    seen += [record.getMessage() for record in caplog.records]
    assert len(seen) > 50
    assert not [text for text in seen if KEY in text]


def test_urls_are_shown_without_credentials() -> None:
    options = EndpointOptions("https://user:hunter2@example.org/v1?token=abc", SecretStr(KEY))
    assert options.shown_url == "https://example.org/v1"
    assert "hunter2" not in repr(options)
    assert KEY not in repr(options)


async def test_a_proxy_of_the_environment_is_not_asked_for_this_machine(
    serve: Serve, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    assert (await result(connect(serve()), request("say direct"))).text == "direct"


# Facts


async def test_the_window_is_what_the_server_tells(serve: Serve, connect: Connect) -> None:
    told = await connect(serve(context_window=32_000)).info("fake-model")
    assert (told.context_window, told.tool_calling, told.local) == (32_000, "native", False)
    fake = serve()
    provider = connect(fake)
    assert (await provider.info("fake-model")).context_window is None
    await provider.info("fake-model")
    assert len(fake.requests) == 1


async def test_check_measures(serve: Serve, connect: Connect) -> None:
    def handler(body: dict[str, Any]) -> Reply:
        if "response_format" in body:
            return Reply('{"ok": true}', raw_text=True)
        return Reply(tool_calls=[("get_weather", {"city": "Paris"})]) if "tools" in body else Reply("1 2 3 4 5")

    found = await connect(serve(handler, models=("a", "b"))).check("a")
    assert (found.ok, found.streaming, found.tools, found.json_schema) == (True, True, True, True)
    assert found.models == ("a", "b")
    assert found.first_token_s is not None
    assert found.latency_s is not None
    assert 0 < found.first_token_s <= found.latency_s


async def test_check_tells_what_is_missing(serve: Serve, connect: Connect) -> None:
    def handler(body: dict[str, Any]) -> Reply:
        refused = "tools" in body or "response_format" in body
        return Reply.failing(400, "unknown field") if refused else Reply("1 2 3")

    found = await connect(serve(handler)).check("fake-model")
    assert (found.ok, found.tools, found.json_schema) == (True, False, False)
    assert "no native tool calls" in found.message


async def test_check_of_a_revoked_key(serve: Serve, connect: Connect) -> None:
    found = await connect(serve(api_key="another")).check("fake-model")
    assert not found.ok
    assert "Check the key" in found.message
    assert found.tools is None


async def test_check_of_nothing_there(serve: Serve, connect: Connect) -> None:
    fake = serve()
    provider = connect(fake)
    fake.stop()
    found = await provider.check("fake-model")
    assert (found.ok, found.latency_s, found.streaming) == (False, None, None)
    assert "failed" in found.message
