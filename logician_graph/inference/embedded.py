"""The built-in model: llama.cpp in a child process, spoken to like any endpoint.

The child starts with the first call, and again after a crash, a few times at most. A model that cannot serve raises
``ModelNotReady`` with what to do: the weights are missing, damaged, or being downloaded. Downloading is not done here.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from logician_graph.errors import ModelNotReady, ProviderError
from logician_graph.inference.catalogue import Catalogue, ModelSpec
from logician_graph.inference.endpoint_options import EndpointOptions
from logician_graph.inference.llama_process import LlamaProcess
from logician_graph.inference.machine import threads_for, usable_cpus
from logician_graph.inference.openai_compatible import OpenAICompatible
from logician_graph.inference.retry import RetryPolicy, Sleep
from logician_graph.inference.types import ModelInfo, ProviderCheck, ToolCalling

DEFAULT_WINDOW = 8192
SLOTS = 2
"""Requests that are worked on at the same time; more wait. Each slot has a whole context window of its own."""
_LOAD_TIMEOUT_S = 180.0
_CRASHES = 3
_CRASH_WINDOW_S = 600.0


class EmbeddedLlama(OpenAICompatible):
    """A provider whose endpoint is a child process of this one."""

    name = "embedded"

    def __init__(
        self,
        home: Path,
        model_id: str,
        *,
        tool_calling: ToolCalling = "constrained",
        thought_chars: int = 0,
        context_window: int | None = None,
        temperature: float | None = None,
        retry: RetryPolicy | None = None,
        sleep: Sleep = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(
            EndpointOptions("http://127.0.0.1", retry=retry or RetryPolicy()),
            tool_calling=tool_calling,
            thought_chars=thought_chars,
            context_window=context_window,
            temperature=0.0 if temperature is None else temperature,
            local=True,
            sleep=sleep,
        )
        self._home = home
        self._model_id = model_id
        self._clock = clock
        self._child: LlamaProcess | None = None
        self._crashes: deque[float] = deque()

    def __repr__(self) -> str:
        return f"EmbeddedLlama({self._model_id!r})"

    @property
    def running(self) -> bool:
        """Whether the child is up."""
        return self._child is not None and self._child.alive

    @property
    def pid(self) -> int | None:
        """The child's process id while it is up."""
        return self._child.pid if self._child is not None and self._child.alive else None

    async def info(self, model: str) -> ModelInfo:
        """Known without starting the child."""
        spec = Catalogue.load(self._home).get(self._model_id)
        return ModelInfo(model, self._window(spec), self._tool_calling, local=True)

    async def count_tokens(self, text: str) -> int | None:
        """Exact while the child is up; it is not started to count."""
        child = self._child
        if child is None or not child.alive:
            return None
        endpoint = await self._open()
        try:
            reply: Any = await endpoint.post(f"http://127.0.0.1:{child.port}/tokenize", {"content": text})
        except ProviderError:
            return None
        return len(reply["tokens"])

    async def check(self, model: str) -> ProviderCheck:
        """Starts the child if need be."""
        try:
            return await super().check(model)
        except ModelNotReady as error:
            return ProviderCheck(ok=False, message=str(error))

    async def aclose(self) -> None:
        """Close connections and end the child; a later call starts it anew."""
        async with self._opening:
            await self._close()
            child, self._child = self._child, None
            if child is not None:
                await child.stop()

    async def _reach(self) -> EndpointOptions:
        """The child's address; it is started where it is not up. Called under the opening lock."""
        child = self._child
        if child is None or not child.alive:
            if child is not None:
                self._note_crash(child)
                await child.stop()
                self._child = None
            child = self._child = await self._start()
        return replace(self._options, base_url=f"http://127.0.0.1:{child.port}/v1", api_key=child.api_key)

    async def _start(self) -> LlamaProcess:
        catalogue = Catalogue.load(self._home)
        spec = catalogue.get(self._model_id)
        await _require_weights(catalogue, spec)
        return await LlamaProcess.start(
            catalogue.path(spec.id),
            alias=spec.id,
            n_ctx=self._window(spec) * SLOTS,
            n_parallel=SLOTS,
            threads=threads_for(usable_cpus()),
            log=self._log,
            timeout_s=_LOAD_TIMEOUT_S,
        )

    def _note_crash(self, child: LlamaProcess) -> None:
        """Raises when the child keeps dying: then the machine or the file is at fault, not chance."""
        now = self._clock()
        self._crashes.append(now)
        while now - self._crashes[0] > _CRASH_WINDOW_S:
            self._crashes.popleft()
        if len(self._crashes) > _CRASHES:
            raise ModelNotReady(
                f"The model server of {self._model_id!r} died {len(self._crashes)} times within "
                f"{_CRASH_WINDOW_S / 60:.0f} minutes, last with exit code {child.exit_code}. Perhaps memory is short: "
                f"choose a smaller model or context window, then restart Logician. Its log is {self._log}."
            )

    def _window(self, spec: ModelSpec) -> int:
        return min(self._context_window or DEFAULT_WINDOW, spec.context_window)

    @property
    def _log(self) -> Path:
        return self._home / "logs" / f"llama-{self._model_id}.log"


async def _require_weights(catalogue: Catalogue, spec: ModelSpec) -> None:
    """Raises ``ModelNotReady`` unless the model's file is there and has been verified, which is done once."""
    state = catalogue.state(spec.id)
    if state == "unverified":
        state = await asyncio.to_thread(catalogue.verify, spec.id)
    command = f"'logician model pull {spec.id}', or the Download button on the settings page"
    path = catalogue.path(spec.id)
    match state:
        case "ready" | "unverified":
            return
        case "absent":
            raise ModelNotReady(f"The weights of {spec.id!r} are not on this machine yet. Get them with {command}.")
        case "partial":
            done = catalogue.status(spec.id).bytes_present * 100 // spec.bytes
            raise ModelNotReady(f"The weights of {spec.id!r} are {done} % downloaded. Go on with {command}.")
        case "corrupt":
            raise ModelNotReady(
                f"The file {str(path)!r} is not {spec.title}: its size or its bytes are wrong. "
                f"Fetch it again with {command}."
            )
