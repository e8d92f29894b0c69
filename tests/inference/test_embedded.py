"""The built-in model: what it says when it cannot serve, and real weights end to end."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from pathlib import Path

import pytest
import pytest_asyncio

from logician_graph.errors import ContextOverflow, ModelNotReady, NotFound
from logician_graph.inference import (
    ChatMessage,
    ChatRequest,
    ChatResult,
    EmbeddedLlama,
    ProviderConfig,
    TextDelta,
    ToolCall,
    build_provider,
    estimate_tokens,
)
from logician_graph.inference.llama_process import LlamaProcess
from logician_graph.inference.machine import Threads
from tests.inference.conftest import READ, WRITE, CountedSleep, collect, request, result
from tests.inference.test_catalogue import DATA, entry, home_with

SMALL = "smollm2-135m"
MEDIUM = "qwen2.5-coder-0.5b"


# Without weights


async def test_absent_weights_name_the_command(tmp_path: Path) -> None:
    provider = build_provider(ProviderConfig("embedded", SMALL), tmp_path)
    with pytest.raises(ModelNotReady, match=r"not on this machine yet.*logician model pull smollm2-135m"):
        await collect(provider, request())
    found = await provider.check(SMALL)
    assert (found.ok, found.latency_s) == (False, None)
    assert "logician model pull" in found.message
    assert (await provider.info(SMALL)).context_window == 8192
    assert await provider.count_tokens("hello") is None
    await provider.aclose()


async def test_partial_weights_tell_how_much_is_there(tmp_path: Path) -> None:
    part = tmp_path / "models" / "downloads" / SMALL / "file.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"GGUF" + bytes(50_000_000))
    with pytest.raises(ModelNotReady, match="50 % downloaded"):
        await collect(EmbeddedLlama(tmp_path, SMALL), request())


async def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    home = home_with(tmp_path, entry())
    (home / "models" / "tiny.gguf").write_bytes(b"<html>not a model</html>")
    with pytest.raises(ModelNotReady, match=r"tiny\.gguf.*size or its bytes are wrong"):
        await collect(EmbeddedLlama(home, "tiny"), request())


async def test_bytes_that_differ_from_the_catalogue_are_not_loaded(tmp_path: Path) -> None:
    home = home_with(tmp_path, entry())
    (home / "models" / "tiny.gguf").write_bytes(DATA[:-1] + b"x")
    with pytest.raises(ModelNotReady, match="wrong"):
        await collect(EmbeddedLlama(home, "tiny"), request())
    assert not (home / "logs").exists()


async def test_a_file_that_llama_cannot_load_says_so(tmp_path: Path) -> None:
    home = home_with(tmp_path, entry())
    (home / "models" / "tiny.gguf").write_bytes(DATA)
    provider = EmbeddedLlama(home, "tiny")
    with pytest.raises(ModelNotReady, match=r"could not load 'tiny\.gguf'.*llama-tiny\.log"):
        await collect(provider, request())
    assert not provider.running
    assert (home / "logs" / "llama-tiny.log").stat().st_size > 0


async def test_an_unknown_model(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        await collect(EmbeddedLlama(tmp_path, "nope"), request())


# With weights


@pytest_asyncio.fixture
async def llama(weights_home: Path) -> AsyncIterator[Callable[..., EmbeddedLlama]]:
    opened: list[EmbeddedLlama] = []

    def make(model: str = SMALL, **options: object) -> EmbeddedLlama:
        provider = EmbeddedLlama(weights_home, model, **options)  # type: ignore[arg-type]
        opened.append(provider)
        return provider

    yield make
    for provider in opened:
        await provider.aclose()
        assert not provider.running


@pytest.mark.model
async def test_a_small_model_streams_text(llama: Callable[..., EmbeddedLlama]) -> None:
    provider = llama()
    assert not provider.running
    parts = await collect(provider, request("Say hello.", max_output_tokens=12))
    final = parts[-1]
    assert isinstance(final, ChatResult)
    assert final.text
    assert sum(isinstance(part, TextDelta) for part in parts) > 1
    assert final.model == SMALL
    assert final.usage.input_tokens
    assert final.usage.output_tokens
    assert final.usage.output_tokens <= 12
    assert (await provider.info(SMALL)).local
    counted = await provider.count_tokens("The quick brown fox jumps over the lazy dog. \ud800")
    assert counted is not None
    assert 10 <= counted <= 16


@pytest.mark.model
async def test_the_child_keeps_its_key_off_the_command_line(llama: Callable[..., EmbeddedLlama]) -> None:
    provider = llama()
    await collect(provider, request(max_output_tokens=1))
    child = provider._child
    assert child is not None
    key = child.api_key.get_secret_value()
    assert len(key) > 30
    if sys.platform == "linux":
        for name in ("cmdline", "environ"):
            assert key.encode() not in Path(f"/proc/{child.pid}/{name}").read_bytes()
    assert key not in repr(provider) + repr(child)


@pytest.mark.model
async def test_a_constrained_call_parses_and_the_prefix_is_cached(llama: Callable[..., EmbeddedLlama]) -> None:
    provider = llama(MEDIUM)
    rules = "You work in a folder. " + "Be careful, exact and brief. " * 40
    messages = [ChatMessage("system", rules), ChatMessage("user", "Write the text hello into the file a.txt.")]
    first = await result(provider, ChatRequest(MEDIUM, tuple(messages), (READ, WRITE), max_output_tokens=200))
    (call,) = first.tool_calls
    assert call.name == "write_file"
    assert call.arguments["path"] == "a.txt"
    assert set(call.arguments) == {"path", "text"}
    messages += [ChatMessage("assistant", "", first.tool_calls), ChatMessage("tool", "Written.", tool_call_id=call.id)]
    started = time.monotonic()
    second = await result(provider, ChatRequest(MEDIUM, tuple(messages), (READ, WRITE), max_output_tokens=60))
    assert time.monotonic() - started < 30
    assert second.usage.cached_tokens is not None
    assert first.usage.input_tokens is not None
    assert second.usage.cached_tokens > 0.9 * first.usage.input_tokens


@pytest.mark.model
async def test_an_excluded_call_is_sampled_again(llama: Callable[..., EmbeddedLlama]) -> None:
    provider = llama(MEDIUM)
    ask = "Write the text hello into the file a.txt."
    first = await result(provider, request(ask, tools=(READ, WRITE), max_output_tokens=48))
    excluded = tuple(ToolCall("old", call.name, call.arguments) for call in first.tool_calls)
    assert excluded
    again = await result(provider, request(ask, tools=(READ, WRITE), max_output_tokens=48, excluded_calls=excluded))
    assert 2 <= again.usage.calls <= 3


@pytest.mark.model
async def test_a_prompt_that_does_not_fit(llama: Callable[..., EmbeddedLlama]) -> None:
    provider = llama(context_window=512)
    assert (await provider.info(SMALL)).context_window == 512
    with pytest.raises(ContextOverflow, match=r"700 tokens|tokens.*512"):
        await collect(provider, request("word " * 700, max_output_tokens=8))
    assert (await result(provider, request("Say hello.", max_output_tokens=4))).text


@pytest.mark.model
async def test_stopping_frees_the_model(llama: Callable[..., EmbeddedLlama]) -> None:
    provider = llama(tool_calling="native")
    story = request("Tell a very long story about the sea.", max_output_tokens=4000)
    for _ in range(3):
        async with aclosing(provider.stream(story)) as parts:  # type: ignore[type-var]
            assert isinstance(await anext(parts), TextDelta)
    started = time.monotonic()
    await collect(provider, request("Hi", max_output_tokens=4))
    assert time.monotonic() - started < 15, "the stories, at least a minute of work, are still being written"


@pytest.mark.model
async def test_more_requests_than_slots_all_get_an_answer(llama: Callable[..., EmbeddedLlama]) -> None:
    provider = llama()
    asked = [request(f"Say the number {number}.", max_output_tokens=6) for number in range(6)]
    answers = await asyncio.gather(*(result(provider, one) for one in asked))
    assert all(answer.text for answer in answers)


@pytest.mark.model
@pytest.mark.crash
async def test_a_killed_child_is_started_again(llama: Callable[..., EmbeddedLlama], sleep: CountedSleep) -> None:
    provider = llama(sleep=sleep, tool_calling="native")
    asked = request("Tell a long story.", max_output_tokens=30)
    first_pid = None
    parts: list[object] = []
    async for part in provider.stream(asked):
        parts.append(part)
        if first_pid is None and isinstance(part, TextDelta):
            first_pid = provider.pid
            assert first_pid is not None
            os.kill(first_pid, signal.SIGKILL)
    assert isinstance(parts[-1], ChatResult)
    assert provider.pid not in {None, first_pid}
    assert len(sleep.waits) >= 1


@pytest.mark.model
@pytest.mark.crash
async def test_a_child_that_keeps_dying_is_given_up(llama: Callable[..., EmbeddedLlama]) -> None:
    provider = llama()
    with pytest.raises(ModelNotReady, match="died 4 times"):
        for _ in range(6):
            await collect(provider, request(max_output_tokens=1))
            assert provider.pid is not None
            os.kill(provider.pid, signal.SIGKILL)
            await asyncio.to_thread(_gone, provider.pid)


@pytest.mark.model
@pytest.mark.crash
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
async def test_the_child_dies_with_its_parent(weights_home: Path, how: signal.Signals) -> None:
    script = (
        "import asyncio, pathlib, sys\n"
        "from logician_graph.inference import ChatMessage, ChatRequest, EmbeddedLlama\n"
        "async def main():\n"
        f"    provider = EmbeddedLlama(pathlib.Path(sys.argv[1]), {SMALL!r})\n"
        "    asked = ChatRequest('m', (ChatMessage('user', 'Hi'),), max_output_tokens=1)\n"
        "    async for _ in provider.stream(asked): pass\n"
        "    print(provider.pid, flush=True)\n"
        "    await asyncio.sleep(60)\n"
        "asyncio.run(main())\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    parent = subprocess.Popen(
        [sys.executable, "-c", script, str(weights_home)], stdout=subprocess.PIPE, text=True, env=environment
    )
    assert parent.stdout is not None
    child = int(await asyncio.to_thread(parent.stdout.readline))
    parent.stdout.close()
    os.kill(child, 0)
    parent.send_signal(how)
    await asyncio.to_thread(parent.wait, 10)
    await asyncio.to_thread(_gone, child)


@pytest.mark.model
@pytest.mark.parametrize("after_s", [0.0, 0.02, 0.5])
async def test_stopping_while_the_model_loads_leaves_no_process(weights_home: Path, after_s: float) -> None:
    provider = EmbeddedLlama(weights_home, SMALL)
    before = _children()
    task = asyncio.ensure_future(collect(provider, request()))
    await asyncio.sleep(after_s)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert _children() <= before
    await provider.aclose()


def _children() -> set[str]:
    """Process ids of this process's children; empty where the kernel does not tell."""
    found: set[str] = set()
    for file in Path("/proc/self/task").glob("*/children"):
        found |= set(file.read_text(encoding="ascii").split())
    return found


@pytest.mark.model
async def test_stop_is_safe_twice_and_leaves_no_process(weights_home: Path, tmp_path: Path) -> None:
    child = await LlamaProcess.start(
        weights_home / "models" / "SmolLM2-135M-Instruct.Q4_1.gguf",
        alias="m",
        n_ctx=512,
        n_parallel=1,
        threads=Threads(1, 1),
        log=tmp_path / "log",
        timeout_s=60,
    )
    assert child.alive
    started = time.monotonic()
    await child.stop()
    await child.stop()
    assert time.monotonic() - started < 20
    assert not child.alive
    assert child.exit_code == 0


@pytest.mark.model
async def test_the_estimate_is_near_the_real_count(llama: Callable[..., EmbeddedLlama]) -> None:
    provider = llama(MEDIUM, context_window=512)
    await collect(provider, request(max_output_tokens=1))
    english = Path(__file__).parents[2].joinpath("docs", "architecture.md").read_text(encoding="utf-8")[:4000]
    texts = {
        "english": (english, 0.9, 1.35),
        "python": (Path(__file__).read_text(encoding="utf-8")[:4000], 0.9, 1.6),
        "chinese": ("请先读取文件，然后修改其中的内容，最后运行测试。" * 20, 0.9, 1.7),
        "numbers": (" ".join(str(number * 7919) for number in range(300)), 0.9, 1.2),
    }
    for kind, (text, least, most) in texts.items():
        counted = await provider.count_tokens(text)
        for _ in range(3):  # a busy machine may be too slow to count once; then the model is asked again
            if counted is None:
                await collect(provider, request(max_output_tokens=1))
                counted = await provider.count_tokens(text)
        assert counted is not None
        assert least <= estimate_tokens(text) / counted <= most, kind


def _gone(pid: int | None) -> None:
    """Wait until the process is gone or a zombie that init will reap."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            os.kill(pid or 0, 0)
        except ProcessLookupError:
            return
        status = Path(f"/proc/{pid}/stat")
        if status.exists() and status.read_text(encoding="ascii").rpartition(")")[2].split()[0] == "Z":
            return
        time.sleep(0.02)
    raise AssertionError(f"process {pid} still runs")
