"""Fixtures of the inference tests: fake endpoints, waits that are only counted, and a folder with real weights."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from pydantic import SecretStr

from logician_graph.inference import (
    ChatMessage,
    ChatPart,
    ChatRequest,
    ChatResult,
    EndpointOptions,
    OpenAICompatible,
    Provider,
    ToolSpec,
)
from tests.fakes.openai_server import FakeOpenAI, Handler, Reply

KEY = "sk-canary-5f1c9e"
READ = ToolSpec(
    "read_file",
    "Read a text file.",
    {
        "type": "object",
        "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}},
        "required": ["path"],
        "additionalProperties": False,
    },
)
WRITE = ToolSpec(
    "write_file",
    "Create or replace a file.",
    {
        "type": "object",
        "properties": {"path": {"type": "string"}, "text": {"type": "string"}},
        "required": ["path", "text"],
        "additionalProperties": False,
    },
)


class CountedSleep:
    """Stands in for ``asyncio.sleep`` between tries and notes what would have been waited."""

    def __init__(self) -> None:
        self.waits: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.waits.append(seconds)


def request(text: str = "Hello", *, tools: tuple[ToolSpec, ...] = (), **fields: Any) -> ChatRequest:
    return ChatRequest("fake-model", (ChatMessage("user", text),), tools, **fields)


async def collect(provider: Provider, asked: ChatRequest) -> list[ChatPart]:
    async with aclosing(provider.stream(asked)) as parts:  # type: ignore[type-var]
        return [part async for part in parts]


async def result(provider: Provider, asked: ChatRequest) -> ChatResult:
    last = (await collect(provider, asked))[-1]
    assert isinstance(last, ChatResult)
    return last


@pytest.fixture
def sleep() -> CountedSleep:
    return CountedSleep()


@pytest.fixture
def serve() -> Iterator[Callable[..., FakeOpenAI]]:
    """Starts fake endpoints; all are stopped after the test."""
    running: list[FakeOpenAI] = []

    def start(replies: list[Reply] | Handler | None = None, **options: Any) -> FakeOpenAI:
        fake = FakeOpenAI(replies, **options).start()
        running.append(fake)
        return fake

    yield start
    for fake in running:
        fake.stop()


@pytest_asyncio.fixture
async def connect(sleep: CountedSleep) -> AsyncIterator[Callable[..., OpenAICompatible]]:
    """Makes providers for a fake endpoint; all are closed after the test."""
    opened: list[OpenAICompatible] = []

    def make(
        fake: FakeOpenAI,
        *,
        tool_calling: Any = "native",
        thought_chars: int = 0,
        real_waits: bool = False,
        **options: Any,
    ) -> Any:
        extra: dict[str, Any] = {} if real_waits else {"sleep": sleep}
        extra["thought_chars"] = thought_chars
        provider = OpenAICompatible(
            EndpointOptions(fake.base_url, SecretStr(KEY), **options), tool_calling=tool_calling, **extra
        )
        opened.append(provider)
        return provider

    yield make
    for provider in opened:
        await provider.aclose()


@pytest.fixture(scope="session")
def weights_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home folder whose models are links to the files in ``LOGICIAN_TEST_MODELS``."""
    folder = os.environ.get("LOGICIAN_TEST_MODELS")
    if not folder or not Path(folder).is_dir():
        pytest.skip("LOGICIAN_TEST_MODELS names no folder with model files")
    needed = ("SmolLM2-135M-Instruct.Q4_1.gguf", "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf")
    missing = [name for name in needed if not Path(folder, name).exists()]
    if missing:
        pytest.skip(f"LOGICIAN_TEST_MODELS has no {', '.join(missing)}")
    home = tmp_path_factory.mktemp("home")
    models = home / "models"
    models.mkdir()
    for file in Path(folder).glob("*.gguf"):
        (models / file.name).symlink_to(file.resolve())
    return home
