"""The inbox: what waits is answered in place, once, and remembered."""

from __future__ import annotations

from collections.abc import Callable

from streamlit.testing.v1 import AppTest

from logician_graph.engine import Engine
from pages.components.inbox import verdict
from storage import Approval
from tests.pages.conftest import ask, text_of, wait_for

Open = Callable[..., AppTest]
MAKE = 'call bash {"command": "make all"}'


def waiting(engine: Engine) -> Approval:
    return engine.ledger.approvals(state="open")[0]


def test_nothing_waits_and_the_page_teaches(open_page: Open) -> None:
    app = open_page("approvals.py")
    assert "Nothing waits for you" in text_of(app)


def test_a_command_is_shown_exactly_and_allowed_once(open_page: Open, engine: Engine) -> None:
    run = ask(engine, MAKE)
    approval = waiting(engine)
    app = open_page("approvals.py")
    assert "make all" in [code.value for code in app.code]
    assert "1 request waits for you" in text_of(app)
    app.button(key=f"inbox_{approval.id}_allow").click().run()
    assert wait_for(engine, run.id, "done").outcome == "completed"
    app.run()
    said = text_of(app)
    assert "Nothing waits for you" in said
    assert "Decided before" in said
    assert "Allowed by you" in said


def test_a_denial_takes_its_reason_to_the_agent(open_page: Open, engine: Engine) -> None:
    run = ask(engine, MAKE)
    approval = waiting(engine)
    app = open_page("approvals.py")
    app.text_input(key=f"inbox_{approval.id}_reason").set_value("use ninja")
    app.button(key=f"inbox_{approval.id}_deny").click().run()
    wait_for(engine, run.id, "done")
    answered = engine.approval(approval.id)
    assert answered.answer == {"decision": "deny", "reason": "use ninja"}
    app.run()
    assert "Reason given: use ninja" in text_of(app)


def test_a_question_is_answered_with_a_choice_or_in_words(open_page: Open, engine: Engine) -> None:
    question = 'call ask_user {"question": "Which?", "choices": ["red", "blue"]}'
    first, second = ask(engine, question), ask(engine, question)
    ids = {approval.run_id: approval.id for approval in engine.ledger.approvals(state="open")}
    app = open_page("approvals.py")
    app.button(key=f"inbox_{ids[first.id]}_choice_1").click().run()
    app.text_input(key=f"inbox_{ids[second.id]}_text").set_value("green")
    app.button(key=f"inbox_{ids[second.id]}_send").click().run()
    assert engine.approval(ids[first.id]).answer == {"text": "blue"}
    assert engine.approval(ids[second.id]).answer == {"text": "green"}


def test_an_answer_that_came_too_late_is_said_and_leaves_no_rule(open_page: Open, engine: Engine) -> None:
    ask(engine, MAKE)
    approval = waiting(engine)
    app = open_page("approvals.py")
    engine.answer_approval(approval.id, "deny")  # in another tab
    app.button(key=f"inbox_{approval.id}_allow").click().run()
    assert not app.exception
    assert any("This was answered already" in toast.value for toast in app.toast)
    assert engine.preferences.rules() == []


def test_the_badge_counts_what_waits(open_page: Open, engine: Engine) -> None:
    ask(engine, MAKE)
    ask(engine, MAKE)
    labels = [link.proto.label for link in open_page("approvals.py").get("page_link")]
    assert "Approvals :orange-badge[2]" in labels


def test_every_ending_has_its_word() -> None:
    def of(**values: object) -> str:
        return verdict(Approval(**{"kind": "approval", "state": "answered", **values}))[1]  # type: ignore[arg-type]

    assert of(answer={"decision": "allow"}) == "Allowed"
    assert of(answer={"decision": "allow", "rule_id": "r"}) == "Always allowed"
    assert of(answer={"decision": "deny"}) == "Denied"
    assert of(kind="question", answer={"text": "x"}) == "Answered"
    assert of(state="withdrawn") == "Withdrawn"
