"""How a run is told on a terminal: every event as a JSON line, or its text on stdout with short notes on stderr.

Both flush per line. Known secrets are masked in what is written, as on every other way out of the process.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Protocol, TextIO

from logician_graph.redaction import redact

_LONGEST = 200


class Narrator(Protocol):
    """Tells a run while it goes on."""

    def event(self, envelope: Mapping[str, Any]) -> None:
        """One event of the run, in order."""
        ...

    def result(self, result: Mapping[str, Any]) -> None:
        """The end, once."""
        ...


class JsonLines:
    """One JSON object a line: the envelopes as on ``/api/runs/{id}/events``, and last the result."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def event(self, envelope: Mapping[str, Any]) -> None:
        """Write the envelope."""
        self._write(envelope)

    def result(self, result: Mapping[str, Any]) -> None:
        """Write the last line."""
        self._write(result)

    def _write(self, value: Mapping[str, Any]) -> None:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
        print(redact(text), file=self._out, flush=True)


class Prose:
    """The model's text on ``out`` as it streams, and one short line per step on ``notes``."""

    def __init__(self, out: TextIO, notes: TextIO) -> None:
        self._out = out
        self._notes = notes
        self._open = False
        """True while ``out`` stands inside a line of text."""
        self._written: dict[str, int] = {}
        """Characters already written, by message."""

    def event(self, envelope: Mapping[str, Any]) -> None:
        """Write what a person wants to know of it, which is nothing for most events."""
        data: Mapping[str, Any] = envelope["data"]
        match envelope["type"]:
            case "text.delta":
                self._text(str(data["text"]), str(data["message_id"]))
            case "text.reset":
                if self._written.pop(data["message_id"], 0):
                    self._note("the reply was cut off; the text so far is void, it starts again:")
            case "message.added":
                self._message(data["message"])
            case kind:
                if (note := _note_of(kind, data)) is not None:
                    self._note(note)

    def result(self, result: Mapping[str, Any]) -> None:
        """End the text and say how it went."""
        usage: Mapping[str, Any] = result["usage"]
        parts = [str(result["outcome"])]
        if result["reason"] and result["outcome"] != "completed":
            parts.append(str(result["reason"]))
        if usage:
            tokens = f"{_count(usage.get('input_tokens'))} tokens in, {_count(usage.get('output_tokens'))} out"
            parts += [f"{usage.get('model_calls')} model calls, {usage.get('tool_calls')} tool calls", tokens]
            parts.append(f"{usage.get('seconds', 0):.1f} s")
        if result["run_id"]:
            parts.append(f"run {result['run_id']}")
        self._note(" · ".join(parts), longest=2000)

    def _text(self, text: str, message_id: str) -> None:
        self._written[message_id] = self._written.get(message_id, 0) + len(text)
        print(redact(text), end="", file=self._out, flush=True)
        self._open = not text.endswith("\n")

    def _message(self, message: Mapping[str, Any] | None) -> None:
        if message is None or message["role"] != "assistant":
            return
        if message["text"] and message["id"] not in self._written:  # it came whole, not in pieces
            self._text(str(message["text"]), str(message["id"]))
        self._end_line()

    def _end_line(self) -> None:
        if self._open:
            print(file=self._out, flush=True)
            self._open = False

    def _note(self, text: str, longest: int = _LONGEST) -> None:
        self._end_line()
        line = " ".join(text.split()) if not text.startswith("  ") else "  " + " ".join(text.split())
        shown = line if len(line) <= longest else line[: longest - 1] + "…"
        print(redact(shown), file=self._notes, flush=True)


def _note_of(kind: str, data: Mapping[str, Any]) -> str | None:
    """The short line for an event, None when it is not worth one."""
    match kind:
        case "model.retry":
            return f"waiting {data['wait_s']:.0f} s for the model: {data['error']}"
        case "gate.decided" if data["action"] not in {"allow", "answered"}:
            return f"{data['tool']}: {data['action']}: {data['reason']}"
        case "tool.started":
            return f"> {data['description']}"
        case "tool.finished":
            return f"  {data['status']}: {data['summary'] or data['tool']} ({data['duration_s']:.1f} s)"
        case "verify.finished":
            return f"check {'passed' if data['passed'] else 'FAILED'}: {data['command']}"
        case "context.trimmed":
            from logician_graph.orchestrator import left_out  # loads SQLAlchemy, which `--help` need not wait for

            return f"left out to fit the model's window: {left_out(data)}"
        case "run.interrupted":
            return str(data["reason"])
        case _:
            return None


def _count(number: int | None) -> str:
    return "?" if number is None else str(number)
