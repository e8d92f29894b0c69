"""Schema-constrained tool calls: what is asked of the endpoint and what is made of its reply."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import jsonschema
import pytest

from logician_graph.inference import (
    ChatMessage,
    ChatRequest,
    ChatResult,
    OpenAICompatible,
    ReasoningDelta,
    TextDelta,
    ToolCall,
    ToolCallProgress,
    ToolSpec,
)
from logician_graph.inference.constrained import LONGEST_REPLY_TOKENS, ConstrainedDialect, constrained_schema
from logician_graph.inference.wire import ReplyAssembler
from tests.fakes.openai_server import FakeOpenAI, Reply
from tests.inference.conftest import READ, WRITE, collect, request, result

Serve = Callable[..., FakeOpenAI]
Connect = Callable[..., OpenAICompatible]
TOOLS = (READ, WRITE)


@pytest.mark.parametrize("thought_chars", [0, 200])
def test_the_schema_takes_calls_and_answers_and_nothing_else(thought_chars: int) -> None:
    schema = constrained_schema(TOOLS, thought_chars=thought_chars)
    thought = {"thought": "hm"} if thought_chars else {}

    def fits(value: dict[str, Any]) -> bool:
        return jsonschema.Draft202012Validator(schema).is_valid({**thought, **value})

    assert fits({"tool": "read_file", "arguments": {"path": "a"}})
    assert fits({"tool": "answer", "arguments": {"text": "done"}})
    assert not fits({"tool": "read_file", "arguments": {}})
    assert not fits({"tool": "fly", "arguments": {}})
    assert not fits({"tool": "read_file", "arguments": {"path": "a"}, "more": 1})


def test_the_conversation_is_told_as_the_model_would_have_written_it() -> None:
    call = ToolCall("c1", "read_file", {"path": "a"})
    messages = (
        ChatMessage("system", "Be brief."),
        ChatMessage("user", "Read a."),
        ChatMessage("assistant", "", (call,)),
        ChatMessage("tool", "AAA", tool_call_id="c1"),
        ChatMessage("assistant", "It says AAA."),
        ChatMessage("user", "Thanks."),
        ChatMessage("user", "And b?"),
    )
    told = ConstrainedDialect().messages(ChatRequest("m", messages, TOOLS))
    assert [message.role for message in told] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert told[0].text.startswith("Be brief.\n\n")
    assert "- write_file(path: string, text: string): Create or replace a file." in told[0].text
    assert json.loads(told[2].text) == {"tool": "read_file", "arguments": {"path": "a"}}
    assert told[3].text == "Result of read_file:\nAAA\n\nIf the task is done, answer. If not, make the next call."
    assert json.loads(told[4].text) == {"tool": "answer", "arguments": {"text": "It says AAA."}}
    assert told[5].text == "Thanks.\n\nAnd b?"
    longer = ConstrainedDialect().messages(ChatRequest("m", (*messages, ChatMessage("assistant", "No.")), TOOLS))
    assert longer[: len(told)] == told


def test_without_tools_nothing_is_constrained() -> None:
    asked = request("Hi")
    assert ConstrainedDialect().messages(asked) == asked.messages
    assert "response_format" not in ConstrainedDialect().fields(asked)


async def test_a_call(serve: Serve, connect: Connect) -> None:
    fake = serve([Reply(tool_calls=[("write_file", {"path": "a", "text": "x" * 50})])])
    parts = await collect(connect(fake, tool_calling="constrained"), request(tools=TOOLS))
    final = parts[-1]
    assert isinstance(final, ChatResult)
    assert [(call.name, call.arguments["path"]) for call in final.tool_calls] == [("write_file", "a")]
    assert (final.text, final.finish_reason, final.recovered) == ("", "tool_calls", False)
    assert any(isinstance(part, ToolCallProgress) and part.characters > 50 for part in parts)
    assert not any(isinstance(part, TextDelta) for part in parts)
    body = fake.bodies[0]
    assert body["response_format"]["json_schema"]["schema"] == constrained_schema(TOOLS)
    assert body["max_tokens"] == LONGEST_REPLY_TOKENS
    assert "tools" not in body


async def test_an_answer_streams_as_text(serve: Serve, connect: Connect) -> None:
    fake = serve([Reply('All "done".\nReally — 😀')])
    parts = await collect(connect(fake, tool_calling="constrained"), request(tools=TOOLS, max_output_tokens=9))
    assert "".join(part.text for part in parts if isinstance(part, TextDelta)) == 'All "done".\nReally — 😀'
    assert isinstance(parts[-1], ChatResult)
    assert (parts[-1].text, parts[-1].finish_reason) == ('All "done".\nReally — 😀', "stop")
    assert fake.bodies[0]["max_tokens"] == 9


async def test_a_thought_comes_before_the_call_and_is_no_text(serve: Serve, connect: Connect) -> None:
    text = '{"thought": "Look first.", "tool": "read_file", "arguments": {"path": "a"}}'
    fake = serve([Reply(text, raw_text=True)])
    parts = await collect(connect(fake, tool_calling="constrained", thought_chars=80), request(tools=TOOLS))
    final = parts[-1]
    assert isinstance(final, ChatResult)
    assert (final.reasoning, final.text, len(final.tool_calls)) == ("Look first.", "", 1)
    assert "".join(part.text for part in parts if isinstance(part, ReasoningDelta)) == "Look first."
    variant = fake.bodies[0]["response_format"]["json_schema"]["schema"]["anyOf"][0]
    assert list(variant["properties"]) == ["thought", "tool", "arguments"]
    assert variant["properties"]["thought"]["maxLength"] == 80


async def test_a_truncated_answer_is_kept(serve: Serve, connect: Connect) -> None:
    cut = '{"tool": "answer", "arguments": {"text": "The first half'
    fake = serve([Reply(cut, raw_text=True, finish_reason="length")])
    final = await result(connect(fake, tool_calling="constrained"), request(tools=TOOLS))
    assert (final.text, final.finish_reason, final.invalid_calls) == ("The first half", "length", ())


async def test_a_truncated_call_is_invalid(serve: Serve, connect: Connect) -> None:
    cut = '{"tool": "write_file", "arguments": {"path": "a", "text": "half'
    fake = serve([Reply(cut, raw_text=True, finish_reason="length")])
    final = await result(connect(fake, tool_calling="constrained"), request(tools=TOOLS))
    assert final.tool_calls == ()
    (invalid,) = final.invalid_calls
    assert (invalid.name, invalid.raw) == ("write_file", cut)
    assert "output limit" in invalid.error


@pytest.mark.parametrize(
    ("text", "calls", "prose"),
    [
        ("Plain words.", [], "Plain words."),
        ('<tool_call>{"name": "read_file", "arguments": {"path": "a"}}</tool_call>', [{"path": "a"}], ""),
        ('[{"tool": "read_file", "arguments": {"path": "a"}}]', [{"path": "a"}], ""),
    ],
)
async def test_an_endpoint_that_ignores_the_schema_is_read_as_text(
    serve: Serve, connect: Connect, text: str, calls: list[Any], prose: str
) -> None:
    fake = serve([Reply(text, raw_text=True)])
    final = await result(connect(fake, tool_calling="constrained"), request(tools=TOOLS))
    assert [call.arguments for call in final.tool_calls] == calls
    assert final.text == prose


@pytest.mark.parametrize("tool", ['"fly"', "null", '{"x": 1}', "[1]"])
async def test_a_tool_that_there_is_not_is_invalid(serve: Serve, connect: Connect, tool: str) -> None:
    fake = serve([Reply(f'{{"tool": {tool}, "arguments": {{}}}}', raw_text=True)])
    final = await result(connect(fake, tool_calling="constrained"), request(tools=TOOLS))
    assert final.tool_calls == ()
    assert "names no tool" in final.invalid_calls[0].error


# Excluded calls

FAILED = ToolCall("old", "read_file", {"path": "a"})


async def test_a_repeated_failing_call_is_sampled_again(serve: Serve, connect: Connect) -> None:
    again = Reply(tool_calls=[("read_file", {"path": "a"})])
    fake = serve([again, Reply(tool_calls=[("read_file", {"path": "b"})])])
    asked = request(tools=TOOLS, excluded_calls=(FAILED,), temperature=0.0, seed=3)
    final = await result(connect(fake, tool_calling="constrained"), asked)
    assert [call.arguments for call in final.tool_calls] == [{"path": "b"}]
    first, second = fake.bodies
    assert (first["temperature"], first["seed"]) == (0.0, 3)
    assert second["temperature"] == 0.7
    assert second["seed"] != 3
    assert first["messages"] == second["messages"]
    assert final.usage.calls == 2
    assert final.usage.input_tokens is not None
    assert final.usage.input_tokens > len(json.dumps(first["messages"])) // 4


async def test_after_two_more_samples_it_is_handed_back(serve: Serve, connect: Connect) -> None:
    fake = serve(lambda _body: Reply(tool_calls=[("read_file", {"path": "a"})]))
    asked = request(tools=TOOLS, excluded_calls=(FAILED,))
    final = await result(connect(fake, tool_calling="constrained"), asked)
    assert [call.arguments for call in final.tool_calls] == [{"path": "a"}]
    assert len(fake.bodies) == 3
    assert len({body.get("seed") for body in fake.bodies}) == 3
    schemas = [json.dumps(body["response_format"]) for body in fake.bodies]
    assert schemas[0] == schemas[1]
    assert '"read_file"' in schemas[1]
    assert '"read_file"' not in schemas[2]  # the last sample has to do something else


async def test_a_repeated_successful_call_becomes_the_answer(serve: Serve, connect: Connect) -> None:
    again = Reply(tool_calls=[("read_file", {"path": "a"})])
    fake = serve([again, Reply("It is done.")])
    final = await result(connect(fake, tool_calling="constrained"), request(tools=TOOLS, settled_calls=(FAILED,)))
    assert final.text == "It is done."
    assert final.tool_calls == ()
    first, second = (json.dumps(body["response_format"]) for body in fake.bodies)
    assert '"read_file"' in first
    assert '"read_file"' not in second
    assert '"answer"' in second


async def test_native_calls_are_not_sampled_again(serve: Serve, connect: Connect) -> None:
    fake = serve(lambda _body: Reply(tool_calls=[("read_file", {"path": "a"})]))
    await result(connect(fake), request(tools=TOOLS, excluded_calls=(FAILED,)))
    assert len(fake.bodies) == 1


def test_optional_switches_are_not_offered() -> None:
    parameters = {
        "type": "object",
        "properties": {"path": {"type": "string"}, "all": {"type": "boolean"}, "sure": {"type": "boolean"}},
        "required": ["path", "sure"],
    }
    schema = constrained_schema([ToolSpec("edit", "Edit.", parameters)])
    assert list(schema["anyOf"][0]["properties"]["arguments"]["properties"]) == ["path", "sure"]


def test_the_text_of_a_file_may_be_written_as_json() -> None:
    write = ToolSpec(
        "write_file",
        "Write.",
        {
            "type": "object",
            "properties": {"path": {"type": "string"}, "content": {"type": "string", "contentMediaType": "text/plain"}},
            "required": ["path", "content"],
        },
    )
    schema = constrained_schema([write])
    call: dict[str, Any] = {"tool": "write_file", "arguments": {"path": "a.json", "content": {"port": 80}}}
    jsonschema.validate(call, schema)
    jsonschema.validate({"tool": "write_file", "arguments": {"path": "a.txt", "content": "x"}}, schema)
    reader = ConstrainedDialect().reader(request("x", tools=(write,)))
    reply = ReplyAssembler(texts=[json.dumps(call)])
    done = next(part for part in reader.finish(reply) if isinstance(part, ChatResult))
    assert done.tool_calls[0].arguments == {"path": "a.json", "content": '{\n  "port": 80\n}\n'}
