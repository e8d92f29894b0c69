"""The list of runs and the page of one run."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable

from streamlit.testing.v1 import AppTest

from logician_graph.engine import Engine
from pages.components.run_list import to_csv
from pages.components.run_table import row_data
from storage import Run, RunRow, now
from tests.fakes.openai_server import FakeOpenAI
from tests.pages.conftest import ask, text_of

Open = Callable[..., AppTest]


def rows_of(app: AppTest) -> list[dict[str, object]]:
    """What the table component was given."""
    for element in app.get("bidi_component"):
        data = json.loads(element.proto.json or "null")
        if isinstance(data, dict) and "rows" in data and "span" not in data:
            return data["rows"]
    return []


def a_row(**values: object) -> RunRow:
    base = {"id": "r1", "status": "done", "outcome": "failed", "options": {"model": "endpoint:m"}, "usage": {}}
    return RunRow(Run(**{**base, "created_at": now(), "reason": "=1+1", **values}), "=SUM(A1)", deleted=False)  # type: ignore[arg-type]


def test_csv_has_units_free_numbers_and_no_formulas() -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv([a_row(usage={"input_tokens": 5, "cost_usd": None})]))))
    assert rows[0]["input_tokens"] == "5"
    assert rows[0]["cost_usd"] == ""
    assert rows[0]["chat"] == "'=SUM(A1)"
    assert rows[0]["reason"] == "'=1+1"
    assert rows[0]["state"] == "failed"


def test_a_row_says_what_is_unknown() -> None:
    data = row_data(a_row(), now(), None)
    assert (data["cost"], data["input"], data["time"]) == ("unknown", "unknown", "–")
    assert data["chat"] is None
    assert data["word"] == "Failed"


def test_an_empty_list_teaches(open_page: Open) -> None:
    assert "No runs yet" in text_of(open_page("runs.py"))


def test_filters_come_from_the_url(open_page: Open, engine: Engine) -> None:
    ask(engine, "say yes")
    ask(engine, "fail 400")
    assert [row["word"] for row in rows_of(open_page("runs.py"))] == ["Failed", "Completed"]
    assert [row["word"] for row in rows_of(open_page("runs.py", state="Failed"))] == ["Failed"]
    assert [row["title"] for row in rows_of(open_page("runs.py", q="yes"))] == ["say yes"]
    app = open_page("runs.py", q="nothing like it")
    assert "No run matches these filters" in text_of(app)
    app.button(key="clear_filters").click().run()
    assert len(rows_of(app)) == 2


def test_an_unknown_run_is_said(open_page: Open) -> None:
    app = open_page("runs.py", run="01zzzzzzzzzzzzzzzz")
    assert "There is no run `01zzzzzzzzzzzzzzzz`" in text_of(app)


def test_a_run_shows_its_numbers_and_its_reason(open_page: Open, engine: Engine) -> None:
    run = ask(engine, "fail 400")
    app = open_page("runs.py", run=run.id)
    assert "Failed" in text_of(app)
    metrics = {metric.label: metric.value for metric in app.metric}
    assert metrics["Cost"] == "unknown"
    assert metrics["Model calls"] == "1"
    assert app.error, "why it failed"


def test_a_waiting_run_can_be_stopped(open_page: Open, engine: Engine) -> None:
    run = ask(engine, 'call bash {"command": "make all"}')
    app = open_page("runs.py", run=run.id)
    app.button(key="stop_run").click().run()
    assert engine.run(run.id).cancel_requested


def test_what_was_sent_is_shown_word_for_word(open_page: Open, engine: Engine, fake: FakeOpenAI) -> None:
    run = ask(engine, "say exactly this")
    body = fake.requests[-1].body
    seq = next(event["seq"] for event in engine.hub.stored(run.id) if event["type"] == "model.started")
    app = open_page("runs.py", run=run.id, request=str(seq))
    shown = [code.value for code in app.code]
    sent = [message["content"] for message in body["messages"]]
    assert shown[: len(sent)] == sent
    assert "word for word" in text_of(app)


def test_a_request_that_is_none_is_said(open_page: Open, engine: Engine) -> None:
    run = ask(engine, "say hello")
    assert "not a model call" in text_of(open_page("runs.py", run=run.id, request="1")).replace("\\", "")
    assert "has no event 999" in text_of(open_page("runs.py", run=run.id, request="999")).replace("\\", "")
