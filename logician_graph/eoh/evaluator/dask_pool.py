"""Evaluations on a Dask cluster. Each Dask worker runs the same pool as this machine would (:mod:`.dask_worker`).

Dask places the work and notices dead machines; confining, limits and measuring stay with the pool. The problem's
folder travels once to each Dask worker, when that one says that it lacks it. The package ``distributed`` is needed only
here; on the cluster this house must be installed in the same version.
"""

from __future__ import annotations

import asyncio
import importlib
import itertools
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from logician_graph.eoh.evaluator import dask_worker
from logician_graph.eoh.evaluator.types import Isolation, ProblemSpec, digest, rejected, without_process
from logician_graph.eoh.types import Evaluation
from logician_graph.errors import Conflict, SettingsError

_CONNECT_TIMEOUT_S = 15
_CLOSE_TIMEOUT_S = 5.0


class DaskEvaluator:
    """As many candidates at once as the cluster has threads."""

    def __init__(self, spec: ProblemSpec, *, scheduler: str) -> None:
        try:
            self._distributed: Any = importlib.import_module("distributed")
        except ImportError as error:
            raise SettingsError("a Dask scheduler is set, but the package 'distributed' is not installed") from error
        self._spec = spec
        self._scheduler = scheduler
        self._package = _packed(spec)
        self._study = f"{digest(self._package.contents)}-{uuid.uuid4().hex[:8]}"
        self._client: Any = None
        self._connecting = asyncio.Lock()
        self._numbers = itertools.count()
        self._under_way: set[asyncio.Task[Any]] = set()
        self._closed = False

    async def evaluate(self, code: str, *, instances: str = "train", cut_above: float | None = None) -> Evaluation:
        """See :class:`~logician_graph.eoh.evaluator.types.Evaluator`."""
        self._spec.files_of(instances)
        if (verdict := rejected(code)) is not None:
            return verdict
        if self._closed:
            return without_process("cancelled", None)
        token = f"{self._study}-{next(self._numbers)}"
        task = asyncio.create_task(self._remotely(dask_worker.evaluate, token, code, instances, cut_above))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if not task.cancelled():
                await asyncio.shield(self._dropped(task, token))
                raise
            return without_process("cancelled", None)
        except self._distributed.KilledWorker as error:
            return without_process("crashed", f"the machines that ran it died: {error}")

    async def isolation(self) -> Isolation:
        """Of the first Dask worker that answers."""
        if self._closed:
            raise Conflict("this evaluator is closed")
        return await self._remotely(dask_worker.isolation)

    async def close(self) -> None:
        """See :class:`~logician_graph.eoh.evaluator.types.Evaluator`."""
        self._closed = True
        client, self._client = self._client, None
        if client is None:
            return
        try:
            async with asyncio.timeout(_CLOSE_TIMEOUT_S):
                await client.run(dask_worker.close, self._study)
                await asyncio.gather(*self._under_way, return_exceptions=True)
        except (TimeoutError, OSError):
            for task in self._under_way:
                task.cancel()
        await client.close()

    async def _remotely(self, function: Callable[..., Any], *arguments: Any) -> Any:
        client = await self._connected()
        place: dict[str, Any] = {}
        package = None
        while True:
            answer = await client.submit(function, self._study, package, *arguments, pure=False, **place)
            if not isinstance(answer, dask_worker.Lacking):
                return answer
            if self._closed:
                return without_process("cancelled", None)
            package = self._package
            place = {"workers": [answer.address], "allow_other_workers": True}

    async def _dropped(self, task: asyncio.Task[Any], token: str) -> None:
        """Tell the cluster that nobody waits for it any more."""
        if self._client is not None and not task.done():
            await self._client.run(dask_worker.drop, token, on_error="ignore")

    async def _connected(self) -> Any:
        async with self._connecting:
            if self._client is None:
                try:
                    self._client = await self._distributed.Client(
                        self._scheduler, asynchronous=True, timeout=_CONNECT_TIMEOUT_S, set_as_default=False
                    )
                except (OSError, TimeoutError, ValueError) as error:
                    raise SettingsError(f"no Dask scheduler answers at {self._scheduler!r}: {error}") from error
            return self._client


def _packed(spec: ProblemSpec) -> dask_worker.Package:
    """The folder's files, and those of sets that lie elsewhere under names of their own."""
    folder = Path(spec.folder)
    contents = {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not any(part.startswith((".", "__pycache__")) for part in path.relative_to(folder).parts)
    }
    sets: dict[str, tuple[tuple[str, ...], Any]] = {}
    for name, (files, overrides) in spec.sets.items():
        inside: list[str] = []
        for file in files:
            if Path(file).is_absolute():
                data = Path(file).read_bytes()
                file = f"elsewhere/{len(contents)}_{Path(file).name}"  # noqa: PLW2901
                contents[file] = data
            inside.append(file)
        sets[name] = (tuple(inside), dict(overrides))
    return dask_worker.Package(
        name=folder.name,
        contents=contents,
        spec=ProblemSpec(
            folder="", function=spec.function, imports=spec.imports, seconds=spec.seconds, memory_mb=spec.memory_mb,
            direction=spec.direction, sets=cast("Any", sets),
        ),
    )  # fmt: skip
