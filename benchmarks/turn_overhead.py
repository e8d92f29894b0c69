"""Engine overhead per model turn: Logician against LangChain's ``create_agent`` with the SQLite checkpointer.

Both talk to the same fake endpoint without latency, in a process of its own, and keep everything on disk. One thread,
``--turns`` turns, one after the other; every second turn reads a file of 2.5 kB first: 1.5 model calls a turn. What
is compared is the wall time per turn, in the same run, interleaved in blocks, so that a noisy machine disturbs both.

    python -m benchmarks.turn_overhead [--turns 500] [--json]

Also reported: the bytes on disk after the last turn against the size of the transcript as JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from benchmarks.fake_endpoint import endpoint_process

QUESTION = "Turn {n}: what is the state of item {n}, and which of its neighbours changed since we last looked at it?"
ITEM = "".join(f"entry {n:03}: owner=alice size={n * 37} state=fine\n" for n in range(60))
Turn = Callable[[int], Awaitable[None]]


async def logician(base_url: str, folder: Path) -> tuple[Turn, Callable[[], Awaitable[dict[str, Any]]]]:
    """A turn function on a real engine, and one that closes it and says how many bytes it left."""
    from logician_graph.engine import Engine
    from logician_graph.settings import Settings, ensure_home

    os.environ.update(LOGICIAN_HOME=str(folder), LOGICIAN_BASE_URL=base_url, LOGICIAN_MODEL="fake")
    settings = Settings.load()
    ensure_home(settings)
    engine = Engine(settings)
    await engine.start()
    (settings.workspace / "item.txt").write_text(ITEM, encoding="utf-8")
    thread = engine.new_thread()

    async def turn(number: int) -> None:
        run = engine.send(thread.id, QUESTION.format(n=number))
        async for event in engine.follow(run.id):
            if event["type"] == "run.finished":
                assert event["data"]["outcome"] == "completed", event

    async def close() -> dict[str, Any]:
        messages = engine.threads.all_messages(thread.id)
        plain = [{"role": m.role, "text": m.text, **(m.extra or {})} for m in messages]
        transcript = len(json.dumps(plain, ensure_ascii=False).encode())
        await engine.stop()
        size = sum(path.stat().st_size for path in folder.glob("*.db*"))
        return {"transcript_bytes": transcript, "disk_bytes": size, "messages": len(messages)}

    return turn, close


async def create_agent(base_url: str, folder: Path) -> tuple[Turn, Callable[[], Awaitable[dict[str, Any]]]]:
    """The same on LangChain's agent."""
    import aiosqlite
    from langchain.agents import create_agent as make_agent
    from langchain_core.tools import tool
    from langchain_openai import ChatOpenAI
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

    @tool
    def read_file(path: str) -> str:
        """Read a file."""
        return (folder / path).read_text(encoding="utf-8")

    (folder / "item.txt").write_text(ITEM, encoding="utf-8")
    connection = await aiosqlite.connect(folder / "agent.db")
    saver = AsyncSqliteSaver(connection)
    await saver.setup()
    model = ChatOpenAI(model="fake", base_url=base_url, api_key="k")  # pyright: ignore[reportArgumentType]
    agent = make_agent(model, [read_file], checkpointer=saver, system_prompt="You are an agent.")
    config: Any = {"configurable": {"thread_id": "bench"}}

    async def turn(number: int) -> None:
        await agent.ainvoke({"messages": [("user", QUESTION.format(n=number))]}, config)

    async def close() -> dict[str, Any]:
        await connection.close()
        return {"disk_bytes": sum(path.stat().st_size for path in folder.glob("agent.db*"))}

    return turn, close


async def _measure(base_url: str, turns: int, block: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as ours, tempfile.TemporaryDirectory() as theirs:
        sides = {
            "logician": await logician(base_url, Path(ours)),
            "create_agent": await create_agent(base_url, Path(theirs)),
        }
        seconds: dict[str, list[float]] = {name: [] for name in sides}
        for start in range(0, turns, block):
            for name, (turn, _) in sides.items():
                for number in range(start + 1, min(start + block, turns) + 1):
                    began = time.perf_counter()
                    await turn(number)
                    seconds[name].append(time.perf_counter() - began)
        sizes = {name: await close() for name, (_, close) in sides.items()}
    result: dict[str, Any] = {"turns": turns}
    for name, times in seconds.items():
        edge = min(50, max(1, len(times) // 4))
        result[name] = {
            "median_ms": round(statistics.median(times) * 1000, 2),
            "mean_ms": round(statistics.mean(times) * 1000, 2),
            "first_median_ms": round(statistics.median(times[2 : 2 + edge]) * 1000, 2),
            "last_median_ms": round(statistics.median(times[-edge:]) * 1000, 2),
            **sizes[name],
        }
    ours, theirs = result["logician"], result["create_agent"]
    result["ratio_of_medians"] = round(ours["median_ms"] / theirs["median_ms"], 3)
    result["ratio_first"] = round(ours["first_median_ms"] / theirs["first_median_ms"], 3)
    result["growth"] = round(ours["last_median_ms"] / ours["first_median_ms"], 3)
    result["disk_over_transcript"] = round(ours["disk_bytes"] / ours["transcript_bytes"], 3)
    return result


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    parser.add_argument("--turns", type=int, default=500)
    parser.add_argument("--block", type=int, default=25)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with endpoint_process() as base_url:
        result = asyncio.run(_measure(base_url, arguments.turns, arguments.block))
    print(json.dumps(result, indent=None if arguments.json else 2))


if __name__ == "__main__":
    main()
