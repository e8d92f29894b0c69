"""What one model call costs besides the model: Logician's provider against langchain-openai's ``ChatOpenAI``.

Both ask the same fake endpoint without latency, in a process of its own, for the same streamed reply. The conversation
has ``--messages`` messages before the question: what grows with it is paid at every turn of a long thread.

    python -m benchmarks.provider_overhead [--calls 100] [--words 20] [--json]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from logician_graph.inference import ChatMessage, ChatRequest, ChatResult, EndpointOptions, OpenAICompatible, ToolCall


def conversation(count: int, words: int) -> tuple[ChatMessage, ...]:
    """``count`` messages of a thread with tool calls, then a question that is answered with ``words`` words."""
    messages: list[ChatMessage] = []
    for number in range(count // 4):
        call = ToolCall(f"call{number}", "read_file", {"path": "notes.txt"})
        messages += [
            ChatMessage("user", "Please look at the notes once more. " * 5),
            ChatMessage("assistant", "", (call,)),
            ChatMessage("tool", "a line of the file\n" * 20, tool_call_id=call.id),
            ChatMessage("assistant", "Nothing has changed since then."),
        ]
    return (*messages, ChatMessage("user", f"say long {words}"))


def as_langchain(message: ChatMessage) -> BaseMessage:
    """The same message for ``ChatOpenAI``."""
    if message.role == "user":
        return HumanMessage(message.text)
    if message.role == "tool":
        return ToolMessage(message.text, tool_call_id=message.tool_call_id or "")
    calls = [{"id": call.id, "name": call.name, "args": call.arguments} for call in message.tool_calls]
    return AIMessage(message.text, tool_calls=calls)


async def timed(call: Callable[[], Awaitable[None]], count: int) -> dict[str, float]:
    """Milliseconds per call: wall clock and processor time of this process."""
    for _ in range(3):
        await call()
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(count):
        await call()
    return {
        "wall_ms": round((time.perf_counter() - wall) / count * 1000, 2),
        "cpu_ms": round((time.process_time() - cpu) / count * 1000, 2),
    }


async def measure(base_url: str, calls: int, words: int) -> list[dict[str, Any]]:
    """One row for each client and length of conversation."""
    provider = OpenAICompatible(EndpointOptions(base_url, SecretStr("unused")))
    model = ChatOpenAI(base_url=base_url, api_key=SecretStr("unused"), model="fake-model", max_retries=0)
    rows: list[dict[str, Any]] = []
    for count in (0, 40, 400):
        messages = conversation(count, words)
        translated = [as_langchain(message) for message in messages]

        async def ours(messages: tuple[ChatMessage, ...] = messages) -> None:
            async for part in provider.stream(ChatRequest("fake-model", messages)):
                if isinstance(part, ChatResult):
                    assert len(part.text.split()) == words

        async def streamed(messages: list[BaseMessage] = translated) -> None:
            whole = None
            async for chunk in model.astream(messages):
                whole = chunk if whole is None else whole + chunk
            assert whole is not None

        async def at_once(messages: list[BaseMessage] = translated) -> None:
            await model.ainvoke(messages)

        for name, call in (
            ("Logician, streamed", ours),
            ("ChatOpenAI.astream", streamed),
            ("ChatOpenAI.ainvoke", at_once),
        ):
            rows.append({"client": name, "messages": count + 1, "words": words, **await timed(call, calls)})
    await provider.aclose()
    return rows


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=100)
    parser.add_argument("--words", type=int, default=20)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    server = subprocess.Popen([sys.executable, "-m", "tests.fakes.openai_server"], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        rows = asyncio.run(measure(server.stdout.readline().strip(), options.calls, options.words))
    finally:
        server.terminate()
        server.wait(10)
    if options.json:
        print(json.dumps(rows))
        return
    print(f"{'client':22} {'messages':>8} {'wall ms':>8} {'CPU ms':>8}")
    for row in rows:
        print(f"{row['client']:22} {row['messages']:8} {row['wall_ms']:8.2f} {row['cpu_ms']:8.2f}")


if __name__ == "__main__":
    main()
