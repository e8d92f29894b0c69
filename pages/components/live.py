"""The text that a run is writing now, token by token, from its event stream.

The browser follows the stream itself, so a token needs no page run. Events that close a step make the component ask
for one, and the page then draws the step. A lost connection is taken up again where it broke.
"""

from __future__ import annotations

import time
from pathlib import Path

from streamlit.components.v2 import component

from logician_graph.orchestrator import RunView

_HERE = Path(__file__).parent
_HTML = """
<div class="live">
  <div class="reasoning" hidden></div>
  <div class="text"></div>
  <div class="tails"></div>
  <div class="status"><span class="dot"></span><span class="activity"></span><span class="time"></span></div>
  <div class="spoken" role="log" aria-live="polite"></div>
</div>
"""
_LIVE = component(
    "logician_live",
    html=_HTML,
    css=(_HERE / "live.css").read_text(encoding="utf-8"),
    js="\n".join((_HERE / name).read_text(encoding="utf-8") for name in ("live_markdown.js", "live.js")),
)


def live_text(view: RunView) -> None:
    """Show what the active run ``view`` writes; asks for a new run of the page or fragment when a step closes."""
    since = view.started_at or view.queued_at
    _LIVE(
        key=f"live_{view.run_id}",
        data={
            "run": view.run_id,
            "url": f"/api/runs/{view.run_id}/events",
            "base": base(view),
            "drawn": view.last_seq,
            "elapsed": max(0.0, time.time() - since) if since else 0.0,
            "waiting": view.status == "waiting",
            "activity": activity(view),
            "tools": {step.key: step.title for step in view.tool_steps if step.state == "running"},
        },
        on_step_change=lambda: None,
    )


def base(view: RunView) -> int:
    """The event after which nothing is drawn by the page yet: a new follower starts there and misses no token."""
    closed = (
        step.seq
        for step in view.steps
        if (step.kind == "tool" and step.state not in ("running", "waiting"))
        or (step.kind == "text" and not step.final and not step.partial)
    )
    return max(closed, default=0)


def activity(view: RunView) -> str:
    """What the run does now, in a few words."""
    if view.waiting():
        return "Waiting for you"
    running = next((step for step in reversed(view.steps) if step.state == "running"), None)
    if running is not None:
        return running.title
    if view.open_call is not None:
        return f"Preparing {view.open_call['name']}"
    if view.open_text:
        return "Writing"
    if view.open_reasoning:
        return "Thinking"
    return "In the queue" if view.status == "queued" else "Waiting for the model"
