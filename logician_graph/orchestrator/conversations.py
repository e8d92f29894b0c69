"""What a person does with threads: write, edit, ask again, switch branches, stop, answer, rename, delete, export.

Everything is durable when the call returns. The room hands runs to the worker through ``wake`` and never waits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from logician_graph.errors import Conflict, NotFound, UsageError
from logician_graph.orchestrator.texts import storable, valid_unicode
from logician_graph.orchestrator.types import RunOptions, RunUsage
from storage import Message, Run, RunLedger, Thread, ThreadStore, new_id, next_depth, now

TITLE_LENGTH = 60
ATTACHMENT_SHOWN = 24_000
"""Characters of an attachment that the model is shown; the rest is saved and can be read with read_file."""


@dataclass(frozen=True, slots=True)
class Attachment:
    """A text file that a person gave with a message."""

    name: str
    text: str
    saved_path: str
    """Where the whole file is kept, readable by the agent's read tools."""


class Conversations:
    """Threads and the runs that answer in them."""

    def __init__(self, ledger: RunLedger, threads: ThreadStore, wake: Callable[[], None]) -> None:
        self._ledger = ledger
        self._threads = threads
        self._wake = wake

    # Asking

    def send(
        self,
        thread_id: str,
        text: str,
        options: RunOptions,
        *,
        attachments: Sequence[Attachment] = (),
        context: str | None = None,
        reserved_for: str | None = None,
    ) -> Run:
        """Add a message at the end of the shown branch and queue the run that answers it."""
        thread = self.thread(thread_id)
        parent = self._threads.message(thread.leaf_id) if thread.leaf_id else None
        shown = [_attachment(attachment) for attachment in attachments]
        return self._ask(thread, parent, text, options, shown, context, reserved_for)

    def edit(self, message_id: str, text: str, options: RunOptions, *, context: str | None = None) -> Run:
        """Ask again with other words: a new branch beside ``message_id``, which stays as it was."""
        message = self._user_message(message_id)
        parent = self._threads.message(message.parent_id) if message.parent_id else None
        attachments: list[dict[str, Any]] = (message.extra or {}).get("attachments") or []
        return self._ask(self.thread(message.thread_id), parent, text, options, attachments, context, None)

    def regenerate(self, message_id: str, options: RunOptions) -> Run:
        """Answer the message ``message_id`` of a person again, as a new branch."""
        message = self._user_message(message_id)
        thread = self.thread(message.thread_id)
        run = self._run(thread.id, message.id, options, None)
        self._accept(run, [], message.id)
        return run

    def _ask(
        self,
        thread: Thread,
        parent: Message | None,
        text: str,
        options: RunOptions,
        attachments: Sequence[dict[str, Any]],
        context: str | None,
        reserved_for: str | None,
    ) -> Run:
        text = storable(text).strip()
        if not text and not attachments:
            raise UsageError("The message is empty: write something first.")
        extra: dict[str, Any] = {}
        if attachments:
            extra["attachments"] = list(attachments)
        if context:
            extra["context"] = context
        message = Message(
            id=new_id(),
            thread_id=thread.id,
            parent_id=parent.id if parent else None,
            depth=next_depth(parent),
            role="user",
            text=text,
            extra=extra or None,
            created_at=now(),
        )
        run = self._run(thread.id, message.id, options, reserved_for)
        self._accept(run, [message], message.id)
        if thread.titled_by == "auto" and not thread.title:
            self._threads.update(thread.id, title=make_title(text or attachments[0]["name"]))
        return run

    def _run(self, thread_id: str, message_id: str, options: RunOptions, reserved_for: str | None) -> Run:
        return Run(
            id=new_id(),
            thread_id=thread_id,
            input_message_id=message_id,
            options=options.stored(),
            usage=RunUsage().model_dump(),
            reserved_for=reserved_for,
            created_at=now(),
        )

    def _accept(self, run: Run, messages: list[Message], leaf_id: str) -> None:
        if not self._ledger.create(run, messages, leaf_id=leaf_id):
            raise Conflict("This chat is still working: wait until it is done, answer it, or stop it first.")
        self._wake()

    def _user_message(self, message_id: str) -> Message:
        message = self._threads.message(message_id)
        if message is None or message.role != "user":
            raise NotFound(f"There is no message {message_id!r} of yours.")
        return message

    # Threads

    def thread(self, thread_id: str) -> Thread:
        """The thread; raises ``NotFound`` when there is none or it was deleted."""
        thread = self._threads.get(thread_id)
        if thread is None or thread.deleted_at is not None:
            raise NotFound(f"There is no chat {thread_id!r}; it may have been deleted.")
        return thread

    def rename(self, thread_id: str, title: str) -> None:
        """Give a thread a title of the person's own."""
        title = " ".join(valid_unicode(title).split())[:200]
        if not title:
            raise UsageError("A title needs at least one character.")
        self.thread(thread_id)
        self._threads.update(thread_id, title=title, titled_by="person")

    def delete(self, thread_id: str) -> None:
        """Hide a thread; :meth:`restore` brings it back. A thread that works or waits must be stopped first."""
        self.thread(thread_id)
        if self._ledger.unfinished(thread_id):
            raise Conflict("This chat is still working: stop it before you delete it.")
        self._threads.update(thread_id, deleted_at=now())

    def restore(self, thread_id: str) -> None:
        """Bring a deleted thread back."""
        if not self._threads.update(thread_id, deleted_at=None):
            raise NotFound(f"There is no chat {thread_id!r} to restore: it was removed for good, or never was.")

    def show_branch(self, message_id: str) -> None:
        """Show the branch through ``message_id``, down to its newest end."""
        message = self._threads.message(message_id)
        if message is None:
            raise NotFound(f"There is no message {message_id!r}.")
        if self._ledger.unfinished(message.thread_id):
            raise Conflict("This chat is still working: switch branches when it is done.")
        self._threads.update(message.thread_id, leaf_id=self._threads.newest_leaf(message_id))


def _attachment(attachment: Attachment) -> dict[str, Any]:
    text = storable(attachment.text)
    shown = text[:ATTACHMENT_SHOWN]
    if len(text) > len(shown):
        shown += f"\n[… {len(text) - len(shown)} more characters: read_file {attachment.saved_path}]"
    return {
        "name": attachment.name,
        "characters": len(text),
        "shown": shown,
        "saved_path": attachment.saved_path,
    }


def make_title(text: str) -> str:
    """A title from the first line of a message."""
    line = " ".join(text.split("\n", 1)[0].split())
    if len(line) <= TITLE_LENGTH:
        return line
    cut = line[:TITLE_LENGTH].rsplit(" ", 1)[0]
    return f"{cut.rstrip('.,;:')}…"
