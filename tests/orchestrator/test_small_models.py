"""What keeps a small model from going round in circles: with constrained decoding, what is done is not done again."""

from __future__ import annotations

from collections.abc import Callable

from storage import Run
from tests.fakes.openai_server import FakeOpenAI, Reply
from tests.orchestrator.harness import Harness


def _settled(h: Harness, run: Run) -> list[list[str]]:
    """The settled calls that each request was made with."""
    return [
        [call["name"] for call in event["data"]["request"].get("settled") or ()]
        for event in h.events(run)
        if event["type"] == "model.started"
    ]


def test_an_edit_is_not_taken_back(build: Callable[..., Harness], fake: FakeOpenAI) -> None:
    h = build(tool_calling="constrained")
    (h.workspace / "app.py").write_text("DEBUG = True\n", encoding="utf-8")
    there = ("edit_file", {"path": "app.py", "old_text": "True", "new_text": "False"})
    back = ("edit_file", {"path": "app.py", "old_text": "False", "new_text": "True"})
    replies = iter([Reply(tool_calls=[there]), Reply(tool_calls=[back]), Reply("DEBUG is off.")])
    fake.handler = lambda body: next(replies)
    run = h.run("Switch DEBUG off")
    assert (h.workspace / "app.py").read_text(encoding="utf-8") == "DEBUG = False\n"
    assert run.outcome == "completed"
    assert _settled(h, run) == [[], ["edit_file", "edit_file"]]
