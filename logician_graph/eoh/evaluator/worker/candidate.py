"""The life of one candidate's process: confine itself, look at the code, run it, hand in solutions, end.

Everything here happens after the fork, in a process whose word counts for nothing: it can hand in solutions or say why
it has none.
"""

from __future__ import annotations
import __future__

import ast
import json
import os
import signal
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from logician_graph.eoh.evaluator.worker import confine, guard, namespaces, wire

FILE = "<candidate>"
_MAX_MESSAGE = 600
_OUT_OF_MEMORY = json.dumps(
    {"status": "memory", "error": "MemoryError: more memory was asked for than a candidate may use"}
)


@dataclass(frozen=True)
class Task:
    """One candidate on one set of instances."""

    code: str
    function: str
    imports: tuple[str, ...]
    seconds: float
    memory_bytes: int
    """On top of what the process holds at its start."""
    calls: int | None = None
    """How often the heuristic will be called on the whole set, where that is known."""


HOPELESS_AFTER, HOPELESS_SHARE = 1 / 8, 1 / 128
"""So much of the time limit over and so little of the calls made: the pace is a sixteenth of what it would take."""


class _TooSlow(BaseException):
    """It will not end in time. A candidate that catches this just uses up its limit."""


class _Refused(Exception):
    """The code must not run."""


def live(
    task: Task, means: confine.Means, solve: Callable[[Callable[..., Any], Any], Any], visible: Sequence[Any],
    result: int, output: int, *, fresh: bool,
) -> NoReturn:  # fmt: skip
    """Never returns: this process was forked for the task and ends with it.

    ``fresh``: each call of the heuristic gets copies of its arguments, for problems that believe the caller's word.
    """
    try:
        confine.take_places(result, output)
        confine.first_to_go()
        if task.calls is not None:
            signal.setitimer(signal.ITIMER_REAL, task.seconds * HOPELESS_AFTER)
        held = confine.address_space()
        means.confine(seconds=task.seconds, memory_bytes=None if held is None else held + task.memory_bytes)
        _run(task, solve, visible, fresh=fresh)
    except BaseException:  # noqa: BLE001 -- nobody above may go on with this copy of the process
        os._exit(1)
    os._exit(0)


def _run(task: Task, solve: Callable[[Callable[..., Any], Any], Any], visible: Sequence[Any], *, fresh: bool) -> None:
    try:
        heuristic = _defined(task)
        if task.calls is not None:
            heuristic = _paced(heuristic, task.calls, task.seconds)
        if fresh:
            heuristic = _with_fresh_arguments(heuristic)
        for instance in visible:
            namespaces.seed()
            text, raw = wire.encode(solve(heuristic, instance))
            _send(wire.SOLUTION, text, raw)
        _send(wire.DONE)
    except BaseException as error:  # noqa: BLE001 -- the candidate may raise anything
        _send(wire.FAILURE, _told(error, task.code))


def _defined(task: Task) -> Callable[..., Any]:
    warnings.simplefilter("ignore")
    namespaces.seed()
    try:
        tree = ast.parse(task.code, FILE)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        where = f"line {error.lineno}: " if isinstance(error, SyntaxError) and error.lineno else ""
        text = error.msg if isinstance(error, SyntaxError) else str(error)
        raise _Refused(f"{where}not Python: {text}") from None
    if problem := guard.objection(tree, namespaces.IMPORTABLE, task.imports):
        raise _Refused(problem)
    names = namespaces.globals_for(task.imports, lambda data: os.write(confine.OUTPUT, data))
    # Annotations say nothing here, so they are not evaluated.
    code = compile(tree, FILE, "exec", flags=__future__.annotations.compiler_flag, dont_inherit=True)
    exec(code, names)  # noqa: S102 -- running it is the purpose
    heuristic = names.get(task.function)
    if not callable(heuristic):
        raise _Refused(f"it defines no function {task.function!r}")
    return heuristic


def _with_fresh_arguments(heuristic: Callable[..., Any]) -> Callable[..., Any]:
    from copy import deepcopy

    def called(*arguments: Any, **named: Any) -> Any:
        return heuristic(*map(deepcopy, arguments), **{name: deepcopy(value) for name, value in named.items()})

    return called


def _paced(heuristic: Callable[..., Any], calls: int, seconds: float) -> Callable[..., Any]:
    made = 0

    def check(*_: object) -> None:
        if made < calls * HOPELESS_SHARE:
            after = seconds * HOPELESS_AFTER
            raise _TooSlow(f"it made {made} of {calls} calls in {after:.1f} s, an eighth of its time limit")

    def called(*arguments: Any, **named: Any) -> Any:
        nonlocal made
        made += 1
        return heuristic(*arguments, **named)

    signal.signal(signal.SIGALRM, check)
    return called


def _told(error: BaseException, code: str) -> bytes:
    if isinstance(error, MemoryError):
        # Free what the frames hold before anything else is allocated.
        error.__traceback__ = None
        return _OUT_OF_MEMORY.encode()
    try:
        if isinstance(error, _Refused | _TooSlow):
            status = "rejected" if isinstance(error, _Refused) else "timeout"
            return json.dumps({"status": status, "error": str(error)[:_MAX_MESSAGE]}).encode()
        message = str(error)[:_MAX_MESSAGE]
        line = _line(error.__traceback__)
        source = code.splitlines()[line - 1].strip()[:120] if line else ""
        where = f" (line {line}: {source})" if line else ""
        text = f"{type(error).__name__}: {message}{where}"
        return json.dumps({"status": "failed", "error": text}).encode()
    except BaseException:  # noqa: BLE001 -- an exception can be built so that it cannot be shown
        return json.dumps({"status": "failed", "error": "it raised an exception that cannot be shown"}).encode()


def _line(trace: TracebackType | None) -> int | None:
    """The innermost line of the candidate that the exception went through."""
    found = None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == FILE:
            found = trace.tb_lineno
        trace = trace.tb_next
    return found


def _send(kind: bytes, text: bytes = b"", raw: Sequence[NDArray[np.uint8]] = ()) -> None:
    try:
        wire.write_all(confine.RESULT, wire.HEADER.pack(kind, len(text), sum(map(len, raw))) + text)
        for part in raw:
            wire.write_all(confine.RESULT, part.data)
    except OSError:
        # Nobody is listening any more: the candidate was given up.
        sys.exit()
