"""What a run did, step by step: one line each, and the whole of it when opened.

A closed step costs one element: its body is drawn only while it is open.
"""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import Any

import streamlit as st

from logician_graph.engine import Engine
from logician_graph.orchestrator import RunUsage, RunView, Step
from pages.components import places
from pages.components.words import count, duration, exact, plain, shortened

_STATES = {
    "running": "spinner",
    "waiting": ":material/front_hand:",
    "ok": ":material/check_circle:",
    "error": ":material/error:",
    "denied": ":material/block:",
    "stopped": ":material/stop_circle:",
}
_WORDS = {"waiting": ":orange[waits for you]", "error": ":red[failed]", "denied": "denied", "stopped": "stopped"}
_LINES_SHOWN = 16
_HEIGHT = 330


def work_steps(view: RunView) -> list[Step]:
    """The steps of the timeline: everything but the answer itself."""
    answer = answer_step(view)
    return [step for step in view.steps if step is not answer]


def answer_step(view: RunView) -> Step | None:
    """The text that answers, or what was kept of it; text that led to more calls is part of the work."""
    texts = [step for step in view.steps if step.kind == "text"]
    last = texts[-1] if texts else None
    return last if last is not None and (last.final or last.partial) else None


def timeline(engine: Engine, view: RunView) -> None:
    """Draw the steps of a run, and when it is done what it took."""
    for step in work_steps(view):
        _step(engine, view, step)
    if view.status == "done":
        st.caption(_facts(view))


def label(engine: Engine, step: Step) -> str:
    """The step in one line."""
    if step.kind == "text":
        return f":material/chat_bubble: {plain(shortened(step.text, 90))}"
    if step.kind == "thinking":
        return f":material/psychology: Thought · :gray[{plain(shortened(step.text, 70))}]"
    if step.kind == "notice":
        return f":material/info: {plain(step.title)}"
    icon = ":material/fact_check:" if step.kind == "verify" else _icon(engine, step.tool)
    parts = [_coloured(_line(step, _title(engine, step)))]
    if step.state in _WORDS and step.summary != step.state:
        parts.append(_WORDS[step.state])
    if step.duration_s is not None and not re.search(r"\d m?s\b", step.summary):
        parts.append(f":gray[{duration(step.duration_s)}]")
    line = f"{icon} {' · '.join(parts)}"
    return f":shimmer[{line}]" if step.state == "running" else line


def _icon(engine: Engine, name: str) -> str:
    tool = engine.bus.get(name)
    return tool.declaration.icon if tool is not None else ":material/build:"


def _title(engine: Engine, step: Step) -> str:
    if step.title and step.title != step.tool:
        return step.title
    tool = engine.bus.get(step.tool)  # a call that was never started has not been described yet
    return tool.describe(step.arguments) if tool is not None else step.tool


def _line(step: Step, title: str) -> str:
    title, summary = shortened(title, 90), shortened(step.summary, 90)
    if not summary or summary == title:
        return plain(title)
    name = PurePath(str(step.arguments.get("path") or "/")).name
    if name and name in summary.split(" ", 1)[0]:
        return plain(f"{step.tool} {summary}")  # the summary names the file itself
    return f"{plain(title)} · {plain(summary)}"


def _coloured(line: str) -> str:
    """Counts of added and removed lines in green and red."""
    line = re.sub(r" (?:\\?\+|−|\\-)0(?!\S)", "", line)
    line = re.sub(r"(?<!\S)\\?\+(\d[\d,]*)(?!\S)", r":green[+\1]", line)
    return re.sub(r"(?<!\S)(?:−|\\-)(\d[\d,]*)(?!\S)", r":red[−\1]", line)


def _step(engine: Engine, view: RunView, step: Step) -> None:
    key = f"step_{view.run_id}_{step.key}"
    box = st.expander(label(engine, step), type="step", icon=_STATES[step.state], key=key, on_change="rerun")
    if not (step.text or step.arguments or step.diff or step.decision or step.kind == "tool"):
        return
    with box:
        if box.open:
            _body(view, step)
        else:
            st.empty()  # an expander that holds nothing cannot be opened


def _body(view: RunView, step: Step) -> None:
    if step.kind in ("text", "thinking"):
        st.text(step.text)
        return
    if step.kind == "tool":
        _arguments(step)
    if step.decision:
        icon = ":material/block:" if step.state == "denied" else ":material/verified_user:"
        st.caption(f"{icon} {plain(step.decision)}")
    if step.diff:
        block(step.diff, "diff")
    if step.text:
        block(step.text, None)
    if step.saved_path:
        st.caption("The whole output is kept in")
        st.code(step.saved_path, language=None)
    if step.kind == "tool" and places.exists(places.RUNS):
        st.page_link(
            places.RUNS,
            label="Open in the run's trace",
            icon=":material/timeline:",
            query_params={"run": view.run_id, "step": step.key},
        )


def _arguments(step: Step) -> None:
    arguments: dict[str, Any] = dict(step.arguments)
    command = arguments.pop("command", None)
    if isinstance(command, str):
        block(command, "bash")
    if step.diff:  # the diff says it better
        arguments = {name: value for name, value in arguments.items() if not isinstance(value, str)}
    if arguments:
        st.json(arguments, expanded=2)


def block(text: str, language: str | None) -> None:
    """Code or output; a long one scrolls in a box of its own."""
    tall = text.count("\n") > _LINES_SHOWN or len(text) > 100 * _LINES_SHOWN
    st.code(text, language=language, wrap_lines=True, height=_HEIGHT if tall else "content")


def _facts(view: RunView) -> str:
    usage = RunUsage.model_validate(view.usage)
    facts = [f"Run `{view.run_id}`", count(usage.model_calls, "model call")]
    if usage.unreported_calls:
        facts.append(f"{count(usage.unreported_calls, 'call')} without a token count")
    if view.finished_at is not None:
        facts.append(f"finished {exact(view.finished_at, st.context.timezone)}")
    return " · ".join(facts)
