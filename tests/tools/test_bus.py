"""The bus: whatever a tool does or a model writes, one bounded output comes back."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

import logician_graph.tools
from logician_graph.tools import Tool, ToolBus, ToolContext, ToolDeclaration, ToolFailed, ToolOutput, default_bus
from tests.tools.conftest import Place

DECLARATION = ToolDeclaration(
    name="probe",
    description='Tries. Example: {"count": 3}',
    parameters={
        "type": "object",
        "properties": {"count": {"type": "integer"}, "text": {"type": "string"}, "flag": {"type": "boolean"}},
        "required": ["count"],
        "additionalProperties": False,
    },
    effect="read",
    parallel_safe=True,
    replay="safe",
    timeout_s=5.0,
    output_chars=1000,
)
Behaviour = Callable[[Mapping[str, Any], ToolContext], Awaitable[ToolOutput]]


class Probe:
    def __init__(self, behaviour: Behaviour, **changes: Any) -> None:
        self.declaration = replace(DECLARATION, **changes)
        self._behaviour = behaviour

    def describe(self, arguments: Mapping[str, Any]) -> str:
        return "probe"

    def preview(self, arguments: Mapping[str, Any], context: ToolContext) -> str | None:
        return None

    async def run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        return await self._behaviour(arguments, context)


async def echo(arguments: Mapping[str, Any], context: ToolContext) -> ToolOutput:
    return ToolOutput(repr(dict(arguments)))


WARMED = """
import sys
from logician_graph.tools import decide, default_bus
bus = default_bus()
assert "jsonschema" not in sys.modules, "the start of the server need not wait for it"
bus.warm()
before = set(sys.modules)
for name in bus.names():
    arguments = {"command": "ls | wc -l", "path": "a", "pattern": "x"}
    for mode in ("plan", "ask", "accept_edits", "accept_all"):
        decide(bus.get(name).declaration, arguments, mode=mode, rules=[], workspace="/w", tainted=False)
print(sorted(set(sys.modules) - before))
"""


def test_a_warm_bus_loads_nothing_at_the_first_decision() -> None:
    done = subprocess.run([sys.executable, "-c", WARMED], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def with_probe(place: Place, behaviour: Behaviour, **changes: Any) -> Place:
    place.bus = ToolBus()
    place.bus.register(Probe(behaviour, **changes))
    return place


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({}, "probe needs the argument 'count'."),
        ({"count": "many"}, "The argument 'count' of probe must be an integer, not \"many\"."),
        ({"count": 1, "nmae": 2}, "probe has no argument 'nmae'. Its arguments: count, text, flag."),
        ({"count": 1, "text": ["x" * 99]}, "The argument 'text' of probe must be a string, not [\"xxxx"),
        ({"count": 1, "text": "a", "flag": 3}, "The argument 'flag' of probe must be a boolean, not 3."),
    ],
)
async def test_wrong_arguments_name_the_field_and_show_an_example(place: Place, arguments: Any, text: str) -> None:
    output = await with_probe(place, echo)("probe", **arguments)
    assert output.status == "error"
    assert output.text.startswith(text)
    assert output.text.endswith('Example: probe {"count": 3}')


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        ({"count": "12"}, {"count": 12}),
        ({"count": 3.0}, {"count": 3}),
        ({"count": 1, "flag": "True"}, {"count": 1, "flag": True}),
        ({"count": 1, "text": None}, {"count": 1}),
        ({"count": 1, "text": "a\ud835b"}, {"count": 1, "text": "a\ufffdb"}),
    ],
)
async def test_arguments_with_a_plain_meaning_are_mended(place: Place, arguments: Any, meant: Any) -> None:
    output = await with_probe(place, echo)("probe", **arguments)
    assert (output.status, output.text) == ("ok", repr(meant))


async def test_surrogates_never_get_through_in_either_direction(place: Place) -> None:
    async def surrogates(arguments: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        assert arguments["text"] == "\ufffd and 😀"
        return ToolOutput("out \udc80", summary="\udc80", diff="\udc80")

    output = await with_probe(place, surrogates)("probe", count=1, text="\ud800 and \ud83d\ude00")
    assert (output.text, output.summary, output.diff) == ("out \ufffd", "\ufffd", "\ufffd")
    written = await place_with_all(place)("write_file", path="a.txt", content="caf\udce9 \ud835")
    assert written.status == "ok"
    assert (place.workspace / "a.txt").read_text(encoding="utf-8") == "caf\ufffd \ufffd"
    assert (await place("read_file", path="\ud800")).status == "error"
    assert "defect" not in (await place("bash", command="echo \ud800")).text


def place_with_all(place: Place) -> Place:
    place.bus = default_bus()
    return place


async def test_an_unknown_tool_lists_the_known(place: Place) -> None:
    assert (await place("read", path="x")).text.startswith("There is no tool 'read'. Tools: list_files, read_file")


async def test_a_failure_is_text_for_the_model(place: Place) -> None:
    async def fail(arguments: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        raise ToolFailed("Do it otherwise.")

    assert (await with_probe(place, fail)("probe", count=1)) == ToolOutput(
        "Do it otherwise.", status="error", summary="Do it otherwise."
    )


async def test_a_defect_is_recorded_and_does_not_end_the_run(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    async def break_down(arguments: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        raise KeyError("oops")

    with caplog.at_level(logging.ERROR):
        output = await with_probe(place, break_down)("probe", count=1)
    assert output.status == "error"
    assert "KeyError" in output.text
    assert "Traceback" in caplog.text


async def test_time_is_bounded(place: Place) -> None:
    ended = asyncio.Event()

    async def sleep(arguments: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()
        return ToolOutput("")

    started = time.monotonic()
    output = await with_probe(place, sleep, timeout_s=0.2)("probe", count=1)
    assert "longer than 0.2 s" in output.text
    assert ended.is_set()
    assert time.monotonic() - started < 15


async def test_stopping_the_run_stops_a_tool_that_does_not_listen(place: Place) -> None:
    async def sleep(arguments: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        await asyncio.sleep(60)
        return ToolOutput("")

    asyncio.get_running_loop().call_later(0.1, place.cancelled.set)
    started = time.monotonic()
    output = await with_probe(place, sleep)("probe", count=1)
    assert output.status == "cancelled"
    assert time.monotonic() - started < 15


async def test_cancelling_the_task_is_passed_on(place: Place) -> None:
    cleaned = asyncio.Event()

    async def sleep(arguments: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        try:
            await asyncio.sleep(60)
        finally:
            cleaned.set()
        return ToolOutput("")

    task = asyncio.create_task(with_probe(place, sleep)("probe", count=1))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert cleaned.is_set()


async def test_long_output_is_a_preview_with_the_way_to_the_rest(place: Place) -> None:
    lines = [f"line {number}" for number in range(1, 1001)]

    async def long(arguments: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        return ToolOutput("\n".join(lines))

    output = await with_probe(place, long)("probe", count=1)
    assert len(output.text) <= 1200
    assert output.text.startswith("line 1\nline 2\n")
    assert output.text.endswith("line 999\nline 1000")
    assert output.saved_path == str(place.artifacts / "call_1.txt")
    assert (place.artifacts / "call_1.txt").read_text(encoding="utf-8") == "\n".join(lines)
    note = next(line for line in output.text.splitlines() if "left out" in line)
    words = dict(word.split("=") for word in note.replace("…]", "").split() if "=" in word)
    last_head_line = output.text.split("\n[…")[0].splitlines()[-1]
    rest = await place_with_all(place)("read_file", path=words["path"], offset=words["offset"])
    assert rest.text.splitlines()[0] == f"line {int(last_head_line.split()[1]) + 1}"


async def test_one_endless_line_is_bounded_too(place: Place) -> None:
    async def long(arguments: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        return ToolOutput("x" * 100_000)

    assert len((await with_probe(place, long)("probe", count=1)).text) < 1300


async def test_a_full_disk_costs_the_rest_and_not_the_preview(place: Place) -> None:
    async def long(arguments: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        return ToolOutput("x" * 5000)

    place.artifacts.rmdir()
    output = await with_probe(place, long)("probe", count=1)
    assert output.status == "ok"
    assert "could not be saved" in output.text
    assert output.saved_path is None


async def test_a_question_on_the_bus_has_nobody_to_answer(place: Place) -> None:
    assert "Nobody can answer" in (await place("ask_user", question="Which?")).text


def test_a_name_is_taken_once() -> None:
    bus = default_bus()
    with pytest.raises(ValueError, match="'bash'"):
        bus.register(next(tool for tool in bus if tool.declaration.name == "bash"))


def test_declarations_are_short_and_their_examples_are_right() -> None:
    import json

    from logician_graph.tools.arguments import problem

    for tool in default_bus():
        declaration = tool.declaration
        what, _, example = declaration.description.partition(" Example: ")
        assert len(what) < 110, declaration.name
        assert problem(declaration, json.loads(example)) is None, declaration.name
        assert declaration.parameters["additionalProperties"] is False


def test_what_runs_again_after_a_crash() -> None:
    facts = {tool.declaration.name: tool.declaration for tool in default_bus()}
    assert {name for name, each in facts.items() if each.replay == "never"} == {"bash", "edit_file"}
    assert {name for name, each in facts.items() if each.parallel_safe} == {"list_files", "read_file", "grep"}
    assert [facts[name].effect for name in ("read_file", "write_file", "bash", "ask_user")] == [
        "read", "write", "execute", "ask",
    ]  # fmt: skip


@pytest.mark.parametrize("arguments", [{}, {"path": 3, "command": None}, {"path": [], "content": 1, "old_text": {}}])
def test_describing_and_previewing_survive_odd_arguments(place: Place, arguments: dict[str, Any]) -> None:
    for tool in default_bus():
        assert isinstance(tool.describe(arguments), str)
        assert tool.preview(arguments, place.context()) is None


def test_specs_are_what_a_provider_takes() -> None:
    specs = default_bus().specs()
    assert [spec.name for spec in specs] == list(default_bus().names())


def test_the_names_of_the_package_are_sorted_and_there() -> None:
    names = logician_graph.tools.__all__
    assert list(names) == sorted(names)
    assert all(hasattr(logician_graph.tools, name) for name in names)
    assert issubclass(Probe, object)
    checked: Tool = Probe(echo)
    assert checked.declaration.name == "probe"
