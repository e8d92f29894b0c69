"""Shows a constrained reply while it is written.

The reply is one JSON object, ``{"thought": …, "tool": …, "arguments": {…}}``. :class:`AnswerStream` takes its text in
pieces of any size and gives the words meant for a person as they come: the thought as reasoning, the text of the
``answer`` variant as text, and for a call its name and how much of its arguments is written. It only shows; what the
reply means is decided from the whole text. A reply that is no object is passed through as text.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from logician_graph.inference.transcript import ANSWER
from logician_graph.inference.types import ChatPart, ReasoningDelta, TextDelta, ToolCallProgress

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_Mode = Literal["before", "plain", "structure", "string"]


class AnswerStream:
    """Feed the reply's text; each call gives the parts that it adds."""

    def __init__(self) -> None:
        self._mode: _Mode = "before"
        self._path: list[str] = []
        """Keys (objects) and ``[]`` (arrays) from the root to here."""
        self._key: str | None = None
        """The key just read, waiting for its value."""
        self._expects_key = False
        self._decoder = _StringDecoder()
        self._string: list[str] = []
        self.tool = ""
        self._characters = 0

    def feed(self, text: str) -> Iterator[ChatPart]:
        """The parts that ``text`` adds."""
        counted = self._characters
        shown: list[tuple[type[TextDelta | ReasoningDelta], list[str]]] = []
        for character in text:
            kind, piece = self._take(character)
            if kind is None or not piece:
                continue
            if not shown or shown[-1][0] is not kind:
                shown.append((kind, []))
            shown[-1][1].append(piece)
        for kind, pieces in shown:
            yield kind("".join(pieces))
        if self._characters != counted:
            yield ToolCallProgress(self.tool, self._characters)

    def _take(self, character: str) -> tuple[type[TextDelta | ReasoningDelta] | None, str]:
        if self._mode == "before" and not character.isspace():
            self._mode = "structure" if character == "{" else "plain"
        if self._mode == "plain":
            return TextDelta, character
        if self._inside_call():
            self._characters += 1
        if self._mode == "string":
            return self._in_string(character)
        self._structure(character)
        return None, ""

    def _inside_call(self) -> bool:
        return bool(self.tool) and self.tool != ANSWER and self._path[:1] == ["arguments"]

    def _in_string(self, character: str) -> tuple[type[TextDelta | ReasoningDelta] | None, str]:
        if character == '"' and not self._decoder.escaping:
            self._mode = "structure"
            self._end_string()
            return None, ""
        piece = self._decoder.feed(character)
        if self._expects_key:
            self._string.append(piece)
            return None, ""
        where = [*self._path, self._key]
        if where == ["tool"]:
            self._string.append(piece)
        elif where == ["thought"]:
            return ReasoningDelta, piece
        elif where == ["arguments", "text"] and self.tool == ANSWER:
            return TextDelta, piece
        return None, ""

    def _end_string(self) -> None:
        read, self._string = "".join(self._string), []
        if self._expects_key:
            self._key = read
        elif not self._path and self._key == "tool":
            self.tool = read

    def _structure(self, character: str) -> None:
        match character:
            case '"':
                self._mode = "string"
                self._decoder = _StringDecoder()
            case "{" | "[":
                if self._key is not None or self._path:
                    self._path.append("[]" if self._key is None else self._key)
                self._key = None
                self._expects_key = character == "{"
            case "}" | "]":
                if self._path:
                    self._path.pop()
                self._key = None
                self._expects_key = False
            case ":":
                self._expects_key = False
            case ",":
                # Only the top level and the answer's arguments are read; elsewhere keys need no telling from values.
                self._expects_key = len(self._path) <= 1
                self._key = None if self._expects_key else self._key
            case _:
                return


class _StringDecoder:
    """Characters of a JSON string literal in, characters of the string out; escapes may be split anywhere."""

    def __init__(self) -> None:
        self.escaping = False
        self._code: str | None = None
        self._high = 0

    def feed(self, character: str) -> str:
        if self._code is not None:
            self._code += character
            if len(self._code) < 4:
                return ""
            code, self._code = self._code, None
            self.escaping = False
            return self._unit(code)
        if self.escaping:
            if character == "u":
                self._code = ""
                return ""
            self.escaping = False
            return self._unpaired() + _ESCAPES.get(character, character)
        if character == "\\":
            self.escaping = True
            return ""
        return self._unpaired() + character

    def _unit(self, code: str) -> str:
        try:
            unit = int(code, 16)
        except ValueError:
            return "\ufffd"
        if 0xD800 <= unit < 0xDC00:
            before = self._unpaired()
            self._high = unit
            return before
        if 0xDC00 <= unit < 0xE000:
            if not self._high:
                return "\ufffd"
            high, self._high = self._high, 0
            return chr(0x10000 + ((high - 0xD800) << 10) + (unit - 0xDC00))
        return self._unpaired() + chr(unit)

    def _unpaired(self) -> str:
        """The replacement character for a high surrogate whose second half did not come."""
        lost, self._high = self._high, 0
        return "\ufffd" if lost else ""
