"""Entry of the judge: ``python -s -P -B worker/ SERVER_PID`` with messages on stdin and stdout.

Messages, one JSON object each: ``problem`` (first, answered with how candidates are confined), ``set`` (instances by
file, answered with their number), ``evaluate`` (answered with an evaluation), ``cancel`` (ends the evaluation that
runs; no answer of its own). Where the problem's own files are at fault the answer is ``{"broken": why}``.
"""

from __future__ import annotations

import contextlib
import os
import sys
import types
from typing import Any


def _house_without_its_init() -> None:
    """Make the house importable without running its packages' own ``__init__``.

    Those import what the server needs (databases, web, models): hundreds of megabytes that a candidate would inherit.
    """
    worker = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120
    house = worker.removesuffix("/eoh/evaluator/worker")
    sys.path[:] = [path for path in sys.path if path != worker]
    for name in ("", ".eoh", ".eoh.evaluator", ".eoh.evaluator.worker", ".sandbox", ".sandbox.launcher"):
        package = types.ModuleType(f"logician_graph{name}")
        package.__path__ = [house + name.replace(".", os.sep)]
        sys.modules[package.__name__] = package


def main(server: int) -> None:
    """Serve until the pipe ends."""
    from logician_graph.eoh.evaluator.worker import confine, wire

    # Messages keep their pipes; whatever the problem's code prints goes to stderr.
    control, answers = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    confine.die_with_parent()
    if os.getppid() != server:
        return
    service: _Service | None = None
    while True:
        try:
            message = wire.receive_message(control)
            if message["do"] == "problem":
                service = _Service(message, control, answers)
                wire.send_message(answers, service.ready)
            elif message["do"] != "cancel" and service is not None:
                wire.send_message(answers, service.answer(message))
        except EOFError:
            if service is not None:
                service.close()
            return


class _Service:
    """One problem and its judge."""

    def __init__(self, message: dict[str, Any], control: int, answers: int) -> None:
        from pathlib import Path

        from logician_graph.eoh.evaluator.worker.judge import Judge
        from logician_graph.eoh.evaluator.worker.nursery import Nursery

        self._message = message
        folder = Path(message["folder"])
        self._nursery: Nursery | None = None
        # Where it dies, evaluate.py most likely cannot be run; then neither can it here, and here that is told.
        with contextlib.suppress(EOFError):
            self._nursery = Nursery(folder / "evaluate.py", [control, answers])
        # After the fork: neither this library nor what it reads is in a candidate's memory.
        from logician_graph.eoh.problem import load_problem
        from logician_graph.errors import UsageError

        try:
            self._problem = load_problem(folder)
            code = self._problem.code
        except UsageError as error:
            self.ready: dict[str, Any] = {"broken": str(error)}
            return
        if self._nursery is None:
            raise SystemExit("the process that candidates are forked from died at its start")
        self._judge = Judge(code, self._nursery, control, maximise=message["direction"] == "max")
        self.ready = {"landlock": self._nursery.landlock, "filter": self._nursery.filter}

    def close(self) -> None:
        """End the processes below."""
        if self._nursery is not None:
            self._nursery.close()

    def answer(self, message: dict[str, Any]) -> dict[str, Any]:
        """Answer to ``set`` and ``evaluate``."""
        if message["do"] == "set":
            return self._keep(message)
        from logician_graph.eoh.evaluator.worker.candidate import Task

        task = Task(
            code=message["code"],
            function=self._message["function"],
            imports=tuple(self._message["imports"]),
            seconds=self._message["seconds"],
            memory_bytes=self._message["memory_mb"] * 1024**2,
        )
        return self._judge.evaluate(task, message["set"], message["cut_above"])

    def _keep(self, message: dict[str, Any]) -> dict[str, Any]:
        from logician_graph.errors import UsageError

        try:
            instances = [
                instance
                for file in message["files"]
                for instance in self._problem.load_instances(
                    self._problem.folder / file, overrides=message["overrides"]
                )
            ]
            return {"count": self._judge.keep(message["name"], instances)}
        except UsageError as error:
            return {"broken": str(error)}
        except BrokenPipeError:  # the nursery is gone: that is nobody's fault here, and this worker is replaced
            raise
        except Exception as error:  # noqa: BLE001 -- the problem's own ``visible``
            return {"broken": f"{self._problem.evaluate_file}: visible failed: {type(error).__name__}: {error}"}


if __name__ == "__main__":
    _house_without_its_init()
    main(int(sys.argv[1]))
