"""The process that candidates are forked from. It waits, forks, kills and counts; it reads nothing a candidate writes.

Forked from the judge before an instance was read; gets from it, over a socket, only what candidates may see. One
candidate at a time: ``run`` forks it, ``end`` kills what is left of it and answers how it ended.
"""

from __future__ import annotations

import array
import gc
import os
import pickle
import signal
import socket
import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from logician_graph.eoh.evaluator.worker import candidate, confine
from logician_graph.sandbox.launcher import capabilities, processes

_LENGTH = struct.Struct("<Q")
_ENDED = struct.Struct("<id")
_READY = struct.Struct("<??")
_NO_FORK, _STOPPED = -1000, -1001
_LAST_BREATH_S = 0.1


class Ended(NamedTuple):
    """How a candidate's process ended."""

    code: int | None
    """Exit code, or minus the signal of another's making; None when it could not be started."""
    stopped: bool
    """Whether it was killed here."""
    cpu_seconds: float


class Nursery:
    """The judge's side."""

    def __init__(self, evaluate_file: Path, close_there: list[int]) -> None:
        """Fork it. ``close_there``: descriptors that are the judge's alone. Raises EOFError when it does not live."""
        self._socket, theirs = socket.socketpair()
        self._pid = os.fork()
        if self._pid == 0:
            try:
                self._socket.close()
                for descriptor in close_there:
                    os.close(descriptor)
                _serve(theirs, evaluate_file)
            except EOFError:
                os._exit(0)
            except BaseException:  # noqa: BLE001 -- this copy of the process must end here
                os._exit(1)
        theirs.close()
        self.landlock, self.filter = _READY.unpack(_exactly(self._socket, _READY.size))

    def keep(self, name: str, visible: list[Any]) -> None:
        """Hand over what candidates may see of a set of instances."""
        self._say(("keep", name, visible))

    def run(self, task: candidate.Task, set_name: str, result: int, output: int) -> None:
        """Start a candidate that writes to these two pipes."""
        self._say(("run", task, set_name))
        handles = array.array("i", [result, output])
        self._socket.sendmsg([b"r"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, handles)])

    def end(self, *, expected: bool) -> Ended:
        """Kill what is left of it; ``expected``: it seems to be ending by itself, so look how before."""
        self._say(("end", expected))
        code, seconds = _ENDED.unpack(_exactly(self._socket, _ENDED.size))
        return Ended(None if code in {_NO_FORK, _STOPPED} else code, code == _STOPPED, seconds)

    def close(self) -> None:
        """End it, and the candidate with it."""
        self._socket.close()
        os.waitpid(self._pid, 0)

    def _say(self, message: tuple[Any, ...]) -> None:
        data = pickle.dumps(message, protocol=5)
        self._socket.sendall(_LENGTH.pack(len(data)) + data)


def _serve(judge: socket.socket, evaluate_file: Path) -> NoReturn:
    solve, own_word = _solver(evaluate_file)
    means = confine.strongest()
    processes.become_subreaper()
    _give_up_rights()
    judge.sendall(_READY.pack(means.landlock, means.filter is not None))
    visible: dict[str, list[Any]] = {}
    child: int | None = None
    while True:
        (length,) = _LENGTH.unpack(_exactly(judge, _LENGTH.size, child))
        match pickle.loads(_exactly(judge, length, child)):  # noqa: S301 -- from the judge
            case ("keep", str(name), instances):
                visible[name] = instances
                gc.collect()
                gc.freeze()
            case ("run", candidate.Task() as task, str(name)):
                result, output = _receive_handles(judge)
                child = _fork(task, means, solve, visible, name, result, output, fresh=own_word)
                os.close(result)
                os.close(output)
            case ("end", bool(expected)):
                patience = _LAST_BREATH_S if expected else 0.0
                judge.sendall(_ENDED.pack(*_buried(child, patience, swept=means.filter is None)))
                child = None
            case message:
                raise ValueError(f"unknown message {message!r}")


def _solver(evaluate_file: Path) -> tuple[Callable[..., Any], bool]:
    """The problem's ``solve``, and whether its word is the score."""
    from logician_graph.eoh.problem_code import load_code
    from logician_graph.errors import UsageError

    try:
        code = load_code(evaluate_file)
    except UsageError as error:
        # The judge meets the same error and tells it.
        raise EOFError from error
    return code.solve, not code.strict


def _fork(
    task: candidate.Task, means: confine.Means, solve: Callable[..., Any], visible: dict[str, list[Any]], name: str,
    result: int, output: int, *, fresh: bool,
) -> int | None:  # fmt: skip
    try:
        child = os.fork()
    except OSError:
        return None
    if child == 0:
        instances = visible.pop(name)
        visible.clear()
        candidate.live(task, means, solve, instances, result, output, fresh=fresh)
    return child


def _buried(child: int | None, patience_s: float, *, swept: bool) -> tuple[int, float]:
    if child is None:
        return _NO_FORK, 0.0
    deadline = time.monotonic() + patience_s
    ended, status, usage = os.wait4(child, os.WNOHANG)
    while not ended and time.monotonic() < deadline:
        time.sleep(0.001)
        ended, status, usage = os.wait4(child, os.WNOHANG)
    if not ended:
        os.kill(child, signal.SIGKILL)
        _, status, usage = os.wait4(child, 0)
    if swept:
        # Nothing kept the candidate from starting processes.
        processes.kill_tree(os.getpid(), limit_s=3.0)
    return os.waitstatus_to_exitcode(status) if ended else _STOPPED, usage.ru_utime + usage.ru_stime


def _give_up_rights() -> None:
    try:
        capabilities.drop_all_but_files()
    except (OSError, KeyError):
        return


def _receive_handles(judge: socket.socket) -> tuple[int, int]:
    handles = array.array("i")
    _, extras, _, _ = judge.recvmsg(1, socket.CMSG_SPACE(2 * handles.itemsize))
    for _, _, data in extras:
        handles.frombytes(data)
    result, output = handles
    return result, output


def _exactly(connection: socket.socket, count: int, child: int | None = None) -> bytes:
    parts: list[bytes] = []
    while count:
        part = connection.recv(min(count, 1 << 20))
        if not part:
            if child is not None:
                _buried(child, 0.0, swept=True)
            raise EOFError
        parts.append(part)
        count -= len(part)
    return b"".join(parts)
