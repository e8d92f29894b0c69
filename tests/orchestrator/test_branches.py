"""Branches: edit, ask again, switch; attachments and exports."""

from __future__ import annotations

import json
import pathlib

import pytest

from logician_graph.errors import Conflict, NotFound, UsageError
from logician_graph.orchestrator import UserTurn
from tests.orchestrator.harness import Harness


def _texts(h: Harness, thread_id: str | None) -> list[str]:
    return [message.text for message in h.branch(thread_id)]


def test_editing_makes_a_branch_and_keeps_the_old_one(h: Harness) -> None:
    first = h.run("say one")
    h.run("say two", first.thread_id)
    question = h.branch(first.thread_id)[2]
    edited = h.done(h.engine.edit(question.id, "say zwei"))
    assert _texts(h, first.thread_id) == ["say one", "one", "say zwei", "zwei"]
    assert h.engine.threads.branch(question.id)[-1].text == "say two"
    h.engine.conversations.show_branch(question.id)
    assert _texts(h, first.thread_id) == ["say one", "one", "say two", "two"]
    h.engine.conversations.show_branch(edited.input_message_id or "")
    assert _texts(h, first.thread_id) == ["say one", "one", "say zwei", "zwei"]
    h.check_thread(first.thread_id)


def test_editing_the_first_message_makes_a_second_root(h: Harness) -> None:
    first = h.run("say one")
    h.done(h.engine.edit(h.branch(first.thread_id)[0].id, "say uno"))
    branch = h.branch(first.thread_id)
    assert [m.text for m in branch] == ["say uno", "uno"]
    assert (branch[0].parent_id, branch[0].depth) == (None, 0)
    view = h.engine.thread_view(first.thread_id or "")
    turn = view.turns[0]
    assert isinstance(turn, UserTurn) and len(turn.siblings.ids) == 2 and turn.siblings.position == 1


def test_regenerating_answers_the_same_message_again(h: Harness) -> None:
    first = h.run("say one")
    question = h.branch(first.thread_id)[0]
    h.run("say later", first.thread_id)
    again = h.done(h.engine.regenerate(question.id))
    assert again.input_message_id == question.id
    assert _texts(h, first.thread_id) == ["say one", "one"]
    assert h.branch(first.thread_id)[-1].run_id == again.id
    assert len(h.fake.bodies[-1]["messages"]) == 2, "what came later is not sent"
    answers = h.engine.threads.children(first.thread_id or "", [question.id])
    assert [message.run_id for message in answers] == [first.id, again.id]
    h.engine.conversations.show_branch(answers[0].id)
    assert _texts(h, first.thread_id) == ["say one", "one", "say later", "later"]


def test_only_a_persons_message_is_edited_or_answered_again(h: Harness) -> None:
    run = h.run("say one")
    reply = h.branch(run.thread_id)[-1]
    for act in (lambda: h.engine.edit(reply.id, "x"), lambda: h.engine.regenerate(reply.id)):
        with pytest.raises(NotFound):
            act()
    with pytest.raises(NotFound):
        h.engine.edit("nothing", "x")
    with pytest.raises(NotFound):
        h.engine.conversations.show_branch("nothing")


def test_branches_stay_as_they_are_while_a_run_works(h: Harness) -> None:
    first = h.run("say one")
    busy = h.ask("say slow 0.3 a b c", first.thread_id)
    question = h.branch(first.thread_id)[0]
    with pytest.raises(Conflict):
        h.engine.conversations.show_branch(question.id)
    with pytest.raises(Conflict):
        h.engine.regenerate(question.id)
    h.done(busy)
    h.check_thread(first.thread_id)


def test_a_branch_goes_on_from_where_it_is_shown(h: Harness) -> None:
    first = h.run("say one")
    question = h.branch(first.thread_id)[0]
    h.run("say two", first.thread_id)
    h.done(h.engine.edit(question.id, "say uno"))
    h.run("say due", first.thread_id)
    assert _texts(h, first.thread_id) == ["say uno", "uno", "say due", "due"]
    assert "two" not in json.dumps(h.fake.bodies[-1]["messages"])


# Attachments


def test_a_text_file_is_shown_to_the_model_and_saved_whole(h: Harness) -> None:
    text = "line ü\n" * 10_000
    run = h.run("look at this", files=[("../notes.txt", text.encode())])
    (attachment,) = (h.branch(run.thread_id)[0].extra or {})["attachments"]
    assert (attachment["name"], attachment["characters"]) == ("notes.txt", len(text))
    with pathlib.Path(attachment["saved_path"]).open(encoding="utf-8") as file:
        assert file.read() == text
    sent = h.fake.bodies[-1]["messages"][1]["content"]
    assert '<attachment name="notes.txt">' in sent
    assert "more characters: read_file" in sent
    assert len(sent) < 25_000


def test_a_message_may_be_a_file_alone(h: Harness) -> None:
    run = h.run("", files=[("data.csv", b"a,b\n1,2\n")])
    assert run.outcome == "completed"
    assert h.engine.threads.get(run.thread_id or "").title == "data.csv"  # type: ignore[union-attr]


def test_a_binary_file_is_refused_and_nothing_is_sent(h: Harness) -> None:
    thread = h.thread()
    with pytest.raises(UsageError, match=r"'photo.png' is not a text file"):
        h.ask("look", thread, files=[("photo.png", b"\x89PNG\x00\x01")])
    assert h.branch(thread.id) == []


def test_invalid_utf8_is_shown_with_marks(h: Harness) -> None:
    run = h.run("look", files=[("latin.txt", "käse".encode("latin-1"))])
    assert "k\N{REPLACEMENT CHARACTER}se" in h.fake.bodies[-1]["messages"][1]["content"]
    h.check_thread(run.thread_id)


def test_editing_keeps_the_attachments_as_they_were(h: Harness) -> None:
    run = h.run("look", files=[("big.txt", b"x" * 50_000)])
    before = (h.branch(run.thread_id)[0].extra or {})["attachments"]
    edited = h.done(h.engine.edit(run.input_message_id or "", "look again"))
    after = (h.engine.threads.message(edited.input_message_id or "").extra or {})["attachments"]  # type: ignore[union-attr]
    assert after == before


# Exports


@pytest.fixture
def rich(h: Harness) -> str:
    """A thread with a call, a branch, an attachment and a code fence."""
    first = h.run('call count {"text": "```\\nfence"}\nsay done', files=[("a.txt", b"attached")])
    h.run("say two", first.thread_id)
    h.done(h.engine.edit(h.branch(first.thread_id)[-2].id, "say zwei"))
    return first.thread_id or ""


def test_the_markdown_export_is_the_shown_branch(h: Harness, rich: str) -> None:
    text = h.engine.export_thread(rich, "md")
    assert text.startswith("# call count")
    assert "zwei" in text and "\nsay two" not in text
    assert "Attachment `a.txt` (8 characters)" in text
    assert "Calls `count`" in text and "**count** (ok)" in text
    assert "````" in text, "a fence in the output is fenced with more ticks"
    assert text.count("*Run `") == 2


def test_the_json_export_holds_every_branch_run_and_event(h: Harness, rich: str) -> None:
    data = json.loads(h.engine.export_thread(rich, "json"))
    assert (data["format"], data["version"], data["thread"]["id"]) == ("logician.thread", 1, rich)
    texts = [message["text"] for message in data["messages"]]
    assert {"say two", "two", "say zwei", "zwei"} <= set(texts)
    assert len(data["runs"]) == 3
    for run in data["runs"]:
        assert run["events"] == h.engine.hub.stored(run["id"])
        assert run["events"][-1]["type"] == "run.finished"
    by_id = {message["id"]: message for message in data["messages"]}
    assert all(message["parent_id"] is None or message["parent_id"] in by_id for message in data["messages"])


def test_an_empty_thread_can_be_exported(h: Harness) -> None:
    thread = h.thread()
    assert h.engine.export_thread(thread.id, "md").startswith("# Untitled chat")
    assert json.loads(h.engine.export_thread(thread.id, "json"))["messages"] == []
