"""Twenty runs at once, followed over HTTP: no event lost, none reordered, and how late events arrive.

    python -m benchmarks.concurrent_runs [--runs 20] [--json]

A real engine behind Logician's HTTP routes, a fake endpoint (in a process of its own) that streams a word every 20 ms,
one SSE client per run. An event's lateness is the time between its commit and its arrival at the client.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.fake_endpoint import endpoint_process
from benchmarks.ports import free_port

WORDS = 60


async def _follow(client: Any, base: str, run_id: str) -> dict[str, Any]:
    seqs: list[int] = []
    late: list[float] = []
    text = ""
    async with client.stream("GET", f"{base}/api/runs/{run_id}/events") as reply:
        reply.raise_for_status()
        async for line in reply.aiter_lines():
            if not line.startswith("data:") or '"seq"' not in line:
                continue
            event = json.loads(line[5:])
            late.append(time.time() - event["at"])
            seqs.append(event["seq"])
            if event["type"] == "text.delta":
                text += event["data"]["text"]
            if event["type"] == "run.finished":
                break
    gapless = seqs == list(range(1, len(seqs) + 1))
    return {"gapless": gapless, "events": len(seqs), "late": late, "words": len(text.split())}


async def _serve(engine: Any, port: int) -> tuple[Any, asyncio.Task[None]]:
    import uvicorn
    from starlette.applications import Starlette

    from logician_graph.gateway import Gateway, build_routes

    app = Starlette(routes=list(build_routes(Gateway(door=lambda: engine, active_sessions=lambda: 0))))
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="error"))
    task = asyncio.create_task(server.serve())
    while not server.started:  # noqa: ASYNC110 - uvicorn offers no event
        await asyncio.sleep(0.01)
    return server, task


async def _measure(count: int, base_url: str, home: Path) -> dict[str, Any]:
    import httpx

    from logician_graph.engine import Engine
    from logician_graph.settings import Settings, ensure_home

    os.environ.update(LOGICIAN_HOME=str(home), LOGICIAN_BASE_URL=base_url, LOGICIAN_MODEL="fake")
    settings = Settings.load()
    ensure_home(settings)
    engine = Engine(settings)
    await engine.start()
    port = free_port()
    server, task = await _serve(engine, port)
    limits = httpx.Limits(max_connections=count + 5)
    async with httpx.AsyncClient(timeout=120, limits=limits) as client:
        began = time.perf_counter()
        runs = [engine.send(engine.new_thread().id, f"stream {number}") for number in range(count)]
        results = await asyncio.gather(*(_follow(client, f"http://127.0.0.1:{port}", run.id) for run in runs))
        seconds = time.perf_counter() - began
    server.should_exit = True
    await task
    await engine.stop()
    late = sorted(value for result in results for value in result["late"])
    return {
        "runs": count,
        "gapless_and_ordered": sum(result["gapless"] for result in results),
        "complete_text": sum(result["words"] == WORDS for result in results),
        "events": sum(result["events"] for result in results),
        "seconds": round(seconds, 2),
        "lateness_ms": {
            "median": round(statistics.median(late) * 1000, 1),
            "p95": round(late[int(len(late) * 0.95)] * 1000, 1),
        },
    }


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as home, endpoint_process() as base_url:
        result = asyncio.run(_measure(arguments.runs, base_url, Path(home)))
    print(json.dumps(result, indent=None if arguments.json else 2))


if __name__ == "__main__":
    main()
