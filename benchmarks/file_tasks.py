"""How many of thirty small file tasks a local model solves, judged by executing what it left, not by its answer.

    python -m benchmarks.file_tasks --home HOME [--model qwen2.5-coder-1.5b] [--tool-calling native] [--json FILE]

``--tool-calling native`` is the state of the art before Logician's own work on small models: the server's own tool
calls, with the same prompt and tools. Everything runs in the sandbox, in a workspace of its own, at temperature 0,
with at most ``--max-turns`` model calls a task.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.file_task_set import TASKS, FileTask


def _solved(task: FileTask, workspace: Path) -> bool:
    try:
        return bool(task.check(workspace))
    except Exception:  # noqa: BLE001 - whatever a check stumbles over, the file is not right
        return False


async def _attempt(engine: Any, task: FileTask, max_turns: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder) / "work"
        workspace.mkdir()
        for name, content in task.files.items():
            (workspace / name).write_text(content, encoding="utf-8")
        thread = engine.new_thread(workspace=str(workspace))
        began = time.monotonic()
        run = engine.send(
            thread.id, task.prompt, mode="accept_all", interactive=False, max_turns=max_turns, temperature=0.0, seed=7
        )
        finished = [event["data"] async for event in engine.follow(run.id) if event["type"] == "tool.finished"]
        calls = [f"{data['tool']}:{data['status']}" for data in finished]
        done = engine.run(run.id)
        return {
            "id": task.id,
            "solved": await asyncio.to_thread(_solved, task, workspace),
            "outcome": done.outcome,
            "reason": done.reason,
            "calls": calls,
            "turns": done.usage.get("model_calls"),
            "input_tokens": done.usage.get("input_tokens"),
            "output_tokens": done.usage.get("output_tokens"),
            "seconds": round(time.monotonic() - began, 1),
        }


async def _all(arguments: argparse.Namespace) -> dict[str, Any]:
    from logician_graph.engine import Engine
    from logician_graph.settings import Settings, ensure_home

    settings = Settings.load()
    ensure_home(settings)
    engine = Engine(settings)
    await engine.start()
    chosen = set(arguments.only.split(",")) if arguments.only else None
    rows: list[dict[str, Any]] = []
    try:
        for task in TASKS:
            if chosen is None or task.id in chosen:
                row = await _attempt(engine, task, arguments.max_turns)
                rows.append(row)
                print(f"{'✓' if row['solved'] else '✗'} {json.dumps(row, ensure_ascii=False)}", flush=True)
    finally:
        await engine.stop()
    return {
        "model": arguments.model,
        "tool_calling": arguments.tool_calling or "default",
        "solved": sum(row["solved"] for row in rows),
        "tasks": len(rows),
        "tokens_per_task": round(sum((r["input_tokens"] or 0) + (r["output_tokens"] or 0) for r in rows) / len(rows)),
        "seconds": round(sum(row["seconds"] for row in rows), 1),
        "rows": rows,
    }


def main() -> None:
    """Run and print a line per task, then the sum."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--home", type=Path, required=True, help="home folder that has the model")
    parser.add_argument("--model", default="qwen2.5-coder-1.5b")
    parser.add_argument("--tool-calling", choices=("native", "constrained", "text"))
    parser.add_argument("--max-turns", type=int, default=12)
    parser.add_argument("--only", help="comma-separated task ids")
    parser.add_argument("--json", type=Path, help="write the whole result there")
    arguments = parser.parse_args()
    os.environ.pop("LOGICIAN_BASE_URL", None)
    os.environ.update(LOGICIAN_HOME=str(arguments.home), LOGICIAN_MODEL=arguments.model)
    if arguments.tool_calling:
        os.environ["LOGICIAN_TOOL_CALLING"] = arguments.tool_calling
    result = asyncio.run(_all(arguments))
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(json.dumps({key: value for key, value in result.items() if key != "rows"}))


if __name__ == "__main__":
    main()
