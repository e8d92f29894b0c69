"""The savers of LangGraph open on both databases, keep a run's state, and forget it when they are told."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt
from pydantic import BaseModel

from storage import Database, checkpointed, open_checkpoints, upgrade


class State(TypedDict, total=False):
    count: int
    nested: dict[str, Any]


def _graph(checkpoints: Any, answers: list[str]) -> Any:
    def first(state: State) -> State:
        return {"count": state.get("count", 0) + 1, "nested": {"text": "ü", "none": None, "list": [1, 2.5, True]}}

    def second(state: State) -> State:
        if not answers:
            interrupt({"ask": "?"})
        return {"count": state["count"] + 10}

    graph = StateGraph(State)
    graph.add_node("first", first)
    graph.add_node("second", second)
    graph.add_edge(START, "first")
    graph.add_edge("first", "second")
    graph.add_edge("second", END)
    return graph.compile(checkpointer=checkpoints)


def _config(run_id: str) -> Any:
    return {"configurable": {"thread_id": run_id}}


async def test_a_run_goes_on_where_it_was_after_the_saver_was_reopened(url: str, tmp_path: Path) -> None:
    answers: list[str] = []
    async with open_checkpoints(url, tmp_path) as saver:
        state = await _graph(saver, answers).ainvoke({"count": 0}, _config("run-1"), durability="sync")
        assert state["__interrupt__"]
    answers.append("yes")
    async with open_checkpoints(url, tmp_path) as saver:
        state = await _graph(saver, answers).ainvoke(None, _config("run-1"), durability="sync")
        assert state["count"] == 11
        assert state["nested"] == {"text": "ü", "none": None, "list": [1, 2.5, True]}


async def test_what_a_run_left_is_deleted_and_others_keep_theirs(url: str, tmp_path: Path) -> None:
    async with open_checkpoints(url, tmp_path) as saver:
        for run_id in ("run-1", "run-2"):
            await _graph(saver, []).ainvoke({"count": 0}, _config(run_id), durability="sync")
        assert sorted(await checkpointed(saver)) == ["run-1", "run-2"]
        await saver.adelete_thread("run-1")
        assert await checkpointed(saver) == ["run-2"]
        assert await saver.aget_tuple(_config("run-1")) is None
        assert await saver.aget_tuple(_config("run-2")) is not None
        await saver.adelete_thread("never there")


async def test_runs_at_the_same_time_do_not_mix(url: str, tmp_path: Path) -> None:
    async with open_checkpoints(url, tmp_path) as saver:
        graph = _graph(saver, ["yes"])
        runs = [graph.ainvoke({"count": number}, _config(f"run-{number}"), durability="sync") for number in range(12)]
        states = await asyncio.gather(*runs)
        assert [state["count"] for state in states] == [number + 11 for number in range(12)]


async def test_opening_twice_is_setting_up_once(url: str, tmp_path: Path) -> None:
    async with open_checkpoints(url, tmp_path) as one, open_checkpoints(url, tmp_path) as two:
        await _graph(one, []).ainvoke({"count": 0}, _config("run-1"), durability="sync")
        assert await two.aget_tuple(_config("run-1")) is not None


async def test_only_plain_data_is_ever_loaded(tmp_path: Path) -> None:
    """State is data: an object of a class that is not known is not brought back to life."""
    url = f"sqlite:///{tmp_path / 'x.db'}"
    async with open_checkpoints(url, tmp_path) as saver:
        kind, raw = saver.serde.dumps_typed({"own": _Own(value="x"), "text": "plain"})
        loaded = saver.serde.loads_typed((kind, raw))
        assert loaded["text"] == "plain"
        assert not isinstance(loaded["own"], _Own)


class _Own(BaseModel):
    value: str


async def test_checkpoint_tables_do_not_disturb_the_schema(url: str, tmp_path: Path) -> None:
    async with open_checkpoints(url, tmp_path):
        pass
    database = Database(url)
    assert upgrade(database) is None
    database.close()
