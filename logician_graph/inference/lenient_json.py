"""Reads the JSON that models really write, and says where it ends.

Lenient about form: single quotes, backticks, triple and typographic quotes, raw newlines and unescaped quotes in
strings, unquoted keys, trailing commas, Python literals, ``//`` comments. Strict about completeness: a value that is
not closed is no value, so that a truncated call is never taken for a whole one. Valid JSON always means what it says.
Never raises; every call costs at most a bounded number of steps per character (``budget``).

Own code because the libraries for this (json_repair and the like) complete what is missing and do not tell where the
value ended.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

_STRICT = json.JSONDecoder(strict=False)
_STRICT_START = re.compile(r"\{\s*[\"}]|\[\s*[\[\]{\"\-\dtfn]")
_BLANK = re.compile(r"(?:\s+|//[^\n]*)*")
_NUMBER = re.compile(r"-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.])")
_WORD = re.compile(r"[A-Za-z_$][\w$-]*")
_LITERALS: dict[str, Any] = {
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
    "null": None,
    "None": None,
    "undefined": None,
}
_CLOSING = {'"': '"', "'": "'", "`": "`", "“": "”"}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "/": "/", "\\": "\\", "\n": ""}
_STOP = {closing: re.compile(rf"[\\\\{closing}]") for closing in _CLOSING.values()}
_AFTER_STRING = re.compile(r"\s*(?:[,}\]:]|//|$)")
_UNICODE = re.compile(r"u([0-9a-fA-F]{4})")
_DEEPEST = 60
_LONGEST_NUMBER = 400


class Parsed(NamedTuple):
    """A value and the offset behind it."""

    value: Any
    end: int


class Budget:
    """Characters that may still be looked at; shared by many parses of one text, it keeps the whole linear."""

    __slots__ = ("left",)

    def __init__(self, left: int) -> None:
        self.left = left


class _NoValueError(Exception):
    pass


def parse_at(text: str, start: int, budget: Budget, *, closed_by: int | None = None) -> Parsed | None:
    """The value that starts at ``start`` (blanks before it are skipped), or None.

    With ``closed_by``, the text is known to be complete up to that offset (a closing tag stands there): brackets that
    are missing right before it are taken as written. Strings are never completed.
    """
    if budget.left <= 0:
        return None
    reader = _Reader(text, len(text) if closed_by is None else closed_by, forgiving=closed_by is not None)
    try:
        begin = reader.skip(start)
        strict = _strict(text, begin, reader.end, budget)
        if strict is not None:
            return strict
        return reader.value(begin, 0)
    except _NoValueError:
        return None
    finally:
        budget.left -= reader.furthest - start + 1


def _strict(text: str, start: int, end: int, budget: Budget) -> Parsed | None:
    """Valid JSON by the C parser; what it looked at is charged to ``budget``."""
    if _STRICT_START.match(text, start, end) is None:
        return None
    try:
        value, stop = _STRICT.raw_decode(text, start)
    except json.JSONDecodeError as error:
        looked_at = end if error.msg.startswith("Unterminated") else error.pos
        budget.left -= max(0, looked_at - start) + error.pos // 20  # making the error counts all lines before it
        return None
    except (ValueError, RecursionError):
        budget.left -= end - start
        return None
    budget.left -= stop - start
    return Parsed(value, stop) if stop <= end else None


class _Reader:
    """Recursive descent over ``text[:end]``."""

    __slots__ = ("end", "forgiving", "furthest", "text")

    def __init__(self, text: str, end: int, *, forgiving: bool) -> None:
        self.text = text
        self.end = end
        self.forgiving = forgiving
        self.furthest = 0

    def skip(self, at: int) -> int:
        found = _BLANK.match(self.text, at, self.end)
        at = found.end() if found else at
        self.furthest = max(self.furthest, at)
        return at

    def value(self, at: int, depth: int) -> Parsed:
        if at >= self.end or depth > _DEEPEST:
            raise _NoValueError
        first = self.text[at]
        if first == "{":
            return self.object(at + 1, depth)
        if first == "[":
            return self.array(at + 1, depth)
        if first in _CLOSING:
            return self.string(at)
        number = _NUMBER.match(self.text, at, self.end)
        if number and number.end() - at <= _LONGEST_NUMBER:
            return Parsed(_number(number[0]), number.end())
        word = _WORD.match(self.text, at, self.end)
        if word and word[0] in _LITERALS:
            return Parsed(_LITERALS[word[0]], word.end())
        raise _NoValueError

    def object(self, at: int, depth: int) -> Parsed:
        result: dict[str, Any] = {}
        while True:
            at = self.skip(at)
            if self.closes(at, "}"):
                return Parsed(result, min(at + 1, self.end))
            key, at = self.key(at)
            at = self.skip(at)
            if self.text[at : at + 1] not in {":", "="}:
                raise _NoValueError
            result[key], at = self.value(self.skip(at + 1), depth + 1)
            at = self.separator(at, "}")

    def array(self, at: int, depth: int) -> Parsed:
        result: list[Any] = []
        while True:
            at = self.skip(at)
            if self.closes(at, "]"):
                return Parsed(result, min(at + 1, self.end))
            item, at = self.value(at, depth + 1)
            result.append(item)
            at = self.separator(at, "]")

    def closes(self, at: int, bracket: str) -> bool:
        if at >= self.end:
            if self.forgiving:
                return True
            raise _NoValueError
        return self.text[at] == bracket

    def separator(self, at: int, bracket: str) -> int:
        at = self.skip(at)
        if at < self.end and self.text[at] == ",":
            return at + 1
        if self.closes(at, bracket):
            return at
        raise _NoValueError

    def key(self, at: int) -> tuple[str, int]:
        if at < self.end and self.text[at] in _CLOSING:
            value, at = self.string(at)
            return value, at
        word = _WORD.match(self.text, at, self.end)
        if word is None:
            raise _NoValueError
        return word[0], word.end()

    def string(self, at: int) -> Parsed:
        """A quoted string. A quote ends it only where JSON could go on behind it: others are content."""
        quote = self.text[at]
        if self.text.startswith(quote * 3, at) and quote in "\"'":
            return self.triple(at + 3, quote * 3)
        closing = _CLOSING[quote]
        out: list[str] = []
        stop = _STOP[closing]
        at += 1
        while True:
            found = stop.search(self.text, at, self.end)
            if found is None:
                self.furthest = self.end
                raise _NoValueError
            out.append(self.text[at : found.start()])
            at = found.end()
            self.furthest = max(self.furthest, at)
            if found[0] == "\\":
                piece, at = self.escape(at)
                out.append(piece)
            elif _AFTER_STRING.match(self.text, at, self.end):
                return Parsed("".join(out), at)
            else:
                out.append(closing)

    def triple(self, at: int, closing: str) -> Parsed:
        end = self.text.find(closing, at, self.end)
        if end < 0:
            self.furthest = self.end
            raise _NoValueError
        self.furthest = max(self.furthest, end)
        return Parsed(self.text[at:end], end + 3)

    def escape(self, at: int) -> tuple[str, int]:
        """What a backslash before ``at`` means; one that means nothing in JSON stays, as in ``\\d`` of a regex."""
        if at >= self.end:
            raise _NoValueError
        code = _UNICODE.match(self.text, at, self.end)
        if code is not None:
            first = int(code[1], 16)
            low = _UNICODE.match(self.text, code.end() + 1, self.end)
            if 0xD800 <= first < 0xDC00 and low and self.text[code.end()] == "\\":
                second = int(low[1], 16)
                if 0xDC00 <= second < 0xE000:
                    return chr(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00)), low.end()
            return chr(first), code.end()
        letter = self.text[at]
        if letter in _CLOSING or letter == "”":
            return letter, at + 1
        return _ESCAPES.get(letter, "\\" + letter), at + 1


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        return float(text)
