"""The process that dies: an engine that works on one message and is killed at a chosen moment.

A zygote (``python -m tests.crash.child``) has everything imported and forks one child per order, so that a crash costs
no start of an interpreter. Orders are JSON lines on its stdin, answers JSON lines on its stdout::

    {"ask": "say hi", "options": {}, "kill": ["after", "tool.started", 1], "env": {…}, "folder": "/x"}  →  {"pid": 7}
    {"wait": 7}                                                                                     →  {"status": -9}

The child writes the id of its run to ``run.txt`` in the folder. ``kill`` names the commit, by the type of an event in
it, before or after which it sends itself SIGKILL; it wraps the ledger's commit here, in the child's own code. On
SIGTERM it stops the engine the way the server does and exits with 0.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import signal
import sys
import traceback
from pathlib import Path
from typing import Any

from logician_graph.engine import Engine
from logician_graph.settings import Settings, ensure_home
from storage import Change, RunEvent
from tests.crash.tools import register
from tests.fakes.tools import FileTool, declaration

HEAVY = ("logician_graph.orchestrator.worker", "logician_graph.orchestrator.graph", "logician_graph.inference.endpoint")
"""What an engine imports behind its start."""


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def kill_at(engine: Engine, moment: str, kind: str, number: int) -> None:
    """Die before or after the ``number``-th commit that has an event of type ``kind``."""
    original = engine.ledger.commit
    seen = 0

    def commit(run_id: str, change: Change, **fence: Any) -> list[RunEvent]:
        nonlocal seen
        met = any(event[0] == kind for event in change.events) or (kind == "leaf" and change.leaf is not None)
        seen += met
        if met and seen == number and moment == "before":
            die()
        written = original(run_id, change, **fence)
        if met and seen == number:
            die()
        return written

    engine.ledger.commit = commit  # type: ignore[method-assign]


async def work(order: dict[str, Any]) -> None:
    folder = Path(order["folder"])
    settings = Settings.load()
    ensure_home(settings)
    engine = Engine(settings)
    effects = folder / "effects.txt"
    register(engine, effects)
    engine.bus.register(FileTool(declaration("child_only"), path=effects))
    if order["kill"]:
        kill_at(engine, *order["kill"])
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    await engine.start()
    run = engine.send(engine.new_thread().id, order["ask"], **order["options"])
    (folder / "run.part").write_text(run.id, encoding="utf-8")
    (folder / "run.part").rename(folder / "run.txt")
    await stopped.wait()
    await engine.stop()


def child(order: dict[str, Any]) -> int:
    """Everything of the forked process; returns its exit code."""
    try:
        os.environ.clear()
        os.environ.update(order["env"])
        asyncio.run(work(order))
    except BaseException:  # noqa: BLE001 - the process ends here, and says why
        traceback.print_exc()
        return 1
    return 0


def serve() -> None:
    for module in HEAVY:
        importlib.import_module(module)
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        if "wait" in order:
            _, status = os.waitpid(order["wait"], 0)
            print(json.dumps({"status": os.waitstatus_to_exitcode(status)}), flush=True)
            continue
        pid = os.fork()
        if pid == 0:
            os.close(0)
            os._exit(child(order))
        print(json.dumps({"pid": pid}), flush=True)


if __name__ == "__main__":
    serve()
