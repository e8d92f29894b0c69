"""The evaluator as the rest of the room sees it, and a problem as its executors take it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from logician_graph.eoh.problem import Problem
from logician_graph.eoh.types import Evaluation
from logician_graph.errors import NotFound, UsageError

MAX_CODE = 256 * 1024
"""Characters of source that are looked at."""


@dataclass(frozen=True, slots=True)
class Isolation:
    """How candidates are confined, as tried on the machine that runs them."""

    landlock: bool
    filter: bool
    """Whether the kernel refuses every system call that is not on the candidate's list."""

    @property
    def warning(self) -> str | None:
        """What is left open, for a person; None when nothing is."""
        if self.filter:
            return None
        if self.landlock:
            return "Candidates cannot read files, but this machine lets them start processes and use the network."
        return (
            "Candidates are NOT confined: this machine allows resource limits only, so code that gets past the check "
            "of its text can read and write your files and use the network. On Linux candidates are confined."
        )


class Evaluator(Protocol):
    """Runs candidates of one problem. Used on one event loop; any number of evaluations may be under way."""

    async def evaluate(self, code: str, *, instances: str = "train", cut_above: float | None = None) -> Evaluation:
        """What ``code`` is worth on a set of instances; whatever the code does becomes a status.

        ``cut_above``: an objective that must be met to be of interest (for ``direction = "max"``: to be reached). When
        the problem's ``partial_bound`` proves that it cannot be, the evaluation stops: ``stage`` is ``cut``, there is
        no objective. A tie is never cut. Cancelling the task ends the candidate. Raises UsageError where the problem's
        own files are at fault and SandboxError where no worker can be had.
        """
        ...

    async def isolation(self) -> Isolation:
        """How candidates are confined; starts a worker if there is none. Raises like ``evaluate``."""
        ...

    async def close(self) -> None:
        """End every process; evaluations under way return as ``cancelled``."""
        ...


@dataclass(frozen=True, slots=True)
class ProblemSpec:
    """A problem in plain data: what a worker on any machine needs beside the folder's files."""

    folder: str
    function: str
    imports: tuple[str, ...]
    seconds: float
    memory_mb: int
    direction: str
    sets: Mapping[str, tuple[tuple[str, ...], Mapping[str, Any]]]
    """Files, relative to the folder or absolute, and the keys laid over them."""

    def files_of(self, name: str) -> tuple[tuple[str, ...], Mapping[str, Any]]:
        """The set ``name``. Raises NotFound."""
        if name not in self.sets:
            raise NotFound(f"there is no set of instances {name!r}; there is {', '.join(map(repr, self.sets))}")
        return self.sets[name]


def spec_of(problem: Problem) -> ProblemSpec:
    """What workers are told about ``problem``. Raises UsageError for imports that no candidate can have."""
    if unknown := set(problem.imports) - OFFERED:
        raise UsageError(
            f"{problem.folder / 'problem.toml'}: imports: {', '.join(sorted(map(repr, unknown)))} cannot be offered to "
            f"candidates; there is {', '.join(sorted(OFFERED))}"
        )
    return ProblemSpec(
        folder=str(problem.folder),
        function=problem.signature.name,
        imports=tuple(problem.imports),
        seconds=problem.limits.seconds,
        memory_mb=problem.limits.memory_mb,
        direction=problem.direction,
        sets={name: (tuple(chosen.files), chosen.overrides) for name, chosen in problem.sets.items()},
    )


OFFERED = frozenset({
    *("bisect", "collections", "copy", "functools", "heapq", "itertools", "math", "numpy", "operator", "random"),
    *("statistics", "time", "typing"),
})  # fmt: skip
"""Modules that a problem's ``imports`` may name. What candidates get of each is listed in ``worker.namespaces``."""


def rejected(code: str) -> Evaluation | None:
    """The verdict on a text that is not worth a process, else None."""
    reason = None
    if len(code) > MAX_CODE:
        reason = f"the code has {len(code)} characters, at most {MAX_CODE} are looked at"
    else:
        try:
            code.encode()
        except UnicodeEncodeError as error:
            reason = f"the code is not text: character {error.start} stands for no letter"
    return None if reason is None else without_process("rejected", reason)


def without_process(status: Any, error: str | None) -> Evaluation:
    """An evaluation for which nothing was measured."""
    return Evaluation(status=status, objective=None, per_instance=(), seconds=0.0, cpu_seconds=0.0, error=error)


def digest(contents: Mapping[str, bytes]) -> str:
    """A name for what stands in these files."""
    total = hashlib.sha256()
    for name in sorted(contents):
        total.update(f"{name}\0{len(contents[name])}\0".encode())
        total.update(contents[name])
    return total.hexdigest()[:16]
