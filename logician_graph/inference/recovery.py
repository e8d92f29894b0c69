"""Finds the tool calls that a model wrote into its text. Pure and total: any text in, nothing raised.

Forms: ``<tool_call>{…}</tool_call>`` and its spellings (closed or not), code fences with one or several JSON values,
bare JSON objects and arrays, ``<function=name>`` with JSON or ``<parameter=…>``, ``<invoke name="…">``,
``[TOOL_CALLS][…]``, ``[TOOL_CALLS]name[ARGS]{…}``, ``<tool_call>name<arg_key>…``. Inside, the object may name the tool
as ``name``, ``tool``, ``function``, ``action`` … and the arguments as ``arguments``, ``args``, ``parameters``,
``input`` …, also as a string of JSON.

Invariants: only tools that are known; what is not part of a recovered call stays in the prose, character for
character; text without a call comes back identical; recovering again changes nothing; time grows linearly. A call that
is not complete is not recovered. Whether a call *may* run is not decided here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from logician_graph.inference.lenient_json import Budget, parse_at
from logician_graph.inference.types import ToolCall
from logician_graph.inference.wire import new_call_id, scrub

_NAME_KEYS = ("name", "tool", "tool_name", "function", "function_name", "action")
_ARGUMENT_KEYS = ("arguments", "args", "parameters", "params", "input", "tool_input", "action_input", "kwargs")
_LIST_KEYS = ("tool_calls", "calls", "function_calls")
_WRAPPER_KEYS = ("function", "tool_call", "function_call", "call", "action")
_STEPS_PER_CHARACTER = 8
_JSON_FENCES = frozenset(
    {"", "json", "jsonc", "json5", "javascript", "js", "tool", "tools", "tool_call", "tool_calls", "tool_code"}
    | {"function", "function_call", "xml", "text", "plaintext", "txt", "tool_use", "action"}
)
_TAG = r"tool_?calls?|function_?calls?|tool_use|tool_request"
_OPENER = re.compile(
    rf"(?P<tag><\|?(?:{_TAG})\|?>)"
    r"|(?P<function><function=)"
    r"|(?P<invoke><invoke\s+name=)"
    r"|(?P<mistral>\[TOOL_CALLS\])"
    r"|(?P<fence>^[ \t]*(?P<ticks>`{3,}|~{3,})[ \t]*(?P<language>[\w+-]*)[ \t]*\n)"
    r"|(?P<bare>(?:<\|python_tag\|>)?(?:\{(?=\s*[\"'“`\w])|\[(?=\s*\{)))",
    re.MULTILINE,
)
_CLOSER = re.compile(rf"\s*<(?:/|\|/?|\|)?(?:{_TAG}|tools?)\|?>")
_BLANK = re.compile(r"\s*")
_JOIN = re.compile(r"[\s,;]*")
_FUNCTION = re.compile(r"<function=[\"']?([\w.:-]+)[\"']?\s*>\s*")
_INVOKE = re.compile(r"<invoke\s+name=[\"']?([\w.:-]+)[\"']?\s*>\s*")
_PARAMETER = re.compile(r"\s*<parameter(?:=|\s+name=)[\"']?([\w.:-]+)[\"']?\s*>(.*?)</parameter>", re.DOTALL)
_ARGUMENT_PAIR = re.compile(r"\s*<arg_key>\s*([\w.:-]+)\s*</arg_key>\s*<arg_value>(.*?)</arg_value>", re.DOTALL)
_FUNCTION_END = re.compile(r"\s*</(?:function|invoke)>")
_NAMED = re.compile(r"\s*([\w.:-]+)\s*(?:\[CALL_ID\][\w-]+)?(?:\[ARGS\])?\s*(?=\{)")
_BARE_NAME = re.compile(r"\s*([\w.:-]+)\s*(?=<arg_key>)")


@dataclass(frozen=True, slots=True)
class Recovery:
    """What is left of the text, and the calls that were in it, in order."""

    prose: str
    calls: tuple[ToolCall, ...]


class _Raw(NamedTuple):
    name: str
    arguments: dict[str, Any]


class _Found(NamedTuple):
    start: int
    end: int
    calls: list[_Raw]


def recover_tool_calls(text: str, known_tools: Collection[str], *, new_id: Callable[[], str] = new_call_id) -> Recovery:
    """The prose and the calls to ``known_tools`` in ``text``; ``new_id`` names each call."""
    if not any(name in text for name in known_tools):
        return Recovery(text, ())
    found = list(_Scanner(text, frozenset(known_tools)).run())
    if not found:
        return Recovery(text, ())
    prose = _without(text, found)
    if any(True for _ in _Scanner(prose, frozenset(known_tools)).run()):
        # Taking the calls out would join the text around them into a call that nobody wrote.
        return Recovery(text, ())
    calls = (ToolCall(new_id(), raw.name, scrub(raw.arguments)) for item in found for raw in item.calls)
    return Recovery(prose, tuple(calls))


def fit_to_schema(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """``arguments`` with strings read as the number, boolean, list or object that ``schema`` asks for there.

    Only for calls from text, where ``<parameter=limit>10</parameter>`` has no types. What does not fit stays as it is.
    """
    properties: Mapping[str, Any] = schema.get("properties") or {}
    return {name: _fit(value, properties.get(name)) for name, value in arguments.items()}


def _fit(value: Any, schema: Any) -> Any:
    wanted = cast(Mapping[str, Any], schema).get("type") if isinstance(schema, Mapping) else None
    if not isinstance(value, str) or wanted not in {"integer", "number", "boolean", "array", "object"}:
        return value
    parsed = parse_at(value, 0, Budget(4 * len(value) + 4))
    if parsed is None or value[parsed.end :].strip():
        return value
    is_bool = isinstance(parsed.value, bool)
    fits = {
        "integer": isinstance(parsed.value, int) and not is_bool,
        "number": isinstance(parsed.value, (int, float)) and not is_bool,
        "boolean": is_bool,
        "array": isinstance(parsed.value, list),
        "object": isinstance(parsed.value, dict),
    }
    return parsed.value if fits[cast(str, wanted)] else value


def _without(text: str, found: list[_Found]) -> str:
    kept: list[str] = []
    at = 0
    for item in found:
        kept.append(text[at : item.start])
        at = item.end
    return "".join([*kept, text[at:]])


class _Scanner:
    """One pass from left to right; every opener is tried once, and spans never overlap."""

    def __init__(self, text: str, known: frozenset[str]) -> None:
        self.text = text
        self.known = known
        self.budget = Budget(_STEPS_PER_CHARACTER * len(text) + 1000)

    def run(self) -> Iterator[_Found]:
        at = 0
        while (opener := _OPENER.search(self.text, at)) is not None and self.budget.left > 0:
            at = opener.end()
            for item in self._try(opener):
                at = item.end
                if item.calls:
                    yield item

    def _try(self, opener: re.Match[str]) -> Iterator[_Found]:
        """Calls that begin at ``opener``; an item without calls only moves the scan forward."""
        match opener.lastgroup:
            case "tag":
                found = self._tagged(opener)
            case "function":
                found = self._xml(opener.start(), _FUNCTION)
            case "invoke":
                found = self._xml(opener.start(), _INVOKE)
            case "mistral":
                found = self._mistral(opener)
            case "bare":
                found = self._bare(opener)
            case _:
                yield from self._fence(opener)
                return
        if found is not None:
            yield found

    def _search(self, pattern: re.Pattern[str], at: int) -> re.Match[str] | None:
        found = pattern.search(self.text, at)
        self.budget.left -= (found.end() if found else len(self.text)) - at
        return found

    def _match(self, pattern: re.Pattern[str], head: str, at: int) -> re.Match[str] | None:
        """``pattern`` at ``at``. Without its end it looks through all the text, which is charged."""
        blank = _BLANK.match(self.text, at)
        if blank is None or not self.text.startswith(head, blank.end()):
            return None
        found = pattern.match(self.text, at)
        self.budget.left -= (found.end() if found else len(self.text)) - at
        return found

    def _object(self, at: int) -> tuple[dict[str, Any], int] | None:
        value, end = parse_at(self.text, at, self.budget) or (None, at)
        return (cast(dict[str, Any], value), end) if isinstance(value, dict) else None

    def _values(self, at: int, *, closed_by: int | None = None, named: bool) -> tuple[list[_Raw], int]:
        """Calls in the JSON values one after another from ``at``; stops before the first value that is none."""
        calls: list[_Raw] = []
        end = at
        while True:
            parsed = parse_at(self.text, at, self.budget, closed_by=closed_by)
            here = None if parsed is None else self._calls_in(parsed.value, named=named)
            if parsed is None or not here:
                return calls, end
            calls += here
            end = parsed.end
            joint = _JOIN.match(self.text, end)
            at = joint.end() if joint else end
            if self.text[at : at + 1] not in {"{", "["}:
                return calls, end

    def _tagged(self, opener: re.Match[str]) -> _Found | None:
        closer = self._search(_CLOSER, opener.end())
        bound = closer.start() if closer else None
        pairs = _BARE_NAME.match(self.text, opener.end())
        if pairs is not None:
            return self._pairs(opener.start(), pairs[1], pairs.end())
        calls, end = self._values(opener.end(), named=True)
        if not calls and bound is not None:
            calls, end = self._values(opener.end(), closed_by=bound, named=True)
        if not calls:
            return None
        closer = _CLOSER.match(self.text, end)
        return _Found(opener.start(), closer.end() if closer else end, calls)

    def _pairs(self, start: int, name: str, at: int) -> _Found | None:
        """``name<arg_key>k</arg_key><arg_value>v</arg_value>…`` behind an opening tag."""
        arguments: dict[str, Any] = {}
        while (pair := self._match(_ARGUMENT_PAIR, "<arg_key>", at)) is not None:
            arguments[pair[1]] = pair[2]
            at = pair.end()
        closer = _CLOSER.match(self.text, at)
        if name not in self.known or closer is None:
            return None
        return _Found(start, closer.end(), [_Raw(name, arguments)])

    def _xml(self, start: int, head: re.Pattern[str]) -> _Found | None:
        opened = head.match(self.text, start)
        if opened is None or opened[1] not in self.known:
            return None
        arguments: dict[str, Any] = {}
        at = opened.end()
        if self.text[at : at + 1] == "{":
            parsed = self._object(at)
            if parsed is None:
                return None
            arguments, at = parsed
        else:
            while (parameter := self._match(_PARAMETER, "<parameter", at)) is not None:
                arguments[parameter[1]] = parameter[2].removeprefix("\n").removesuffix("\n")
                at = parameter.end()
        closer = _FUNCTION_END.match(self.text, at)
        if closer is None and (at == opened.end() or self.text[at - 1] != "}"):
            return None  # cut off between parameters
        return self._wrapped(start, closer.end() if closer else at, [_Raw(opened[1], arguments)])

    def _wrapped(self, start: int, end: int, calls: list[_Raw]) -> _Found:
        """With the ``<tool_call>`` tags that stand directly around it."""
        before = re.search(rf"<\|?(?:{_TAG})\|?>\s*$", self.text[max(0, start - 40) : start])
        after = _CLOSER.match(self.text, end)
        if before is None or after is None:
            return _Found(start, end, calls)
        return _Found(start - (min(start, 40) - before.start()), after.end(), calls)

    def _mistral(self, opener: re.Match[str]) -> _Found | None:
        calls: list[_Raw] = []
        end = at = opener.end()
        while (named := _NAMED.match(self.text, at)) is not None and named[1] in self.known:
            parsed = self._object(named.end())
            if parsed is None:
                break
            calls.append(_Raw(named[1], parsed[0]))
            end = at = parsed[1]
            if self.text.startswith("[TOOL_CALLS]", at):
                at += len("[TOOL_CALLS]")
        if not calls:
            calls, end = self._values(opener.end(), named=True)
        return _Found(opener.start(), end, calls) if calls else None

    def _fence(self, opener: re.Match[str]) -> Iterator[_Found]:
        ticks = opener["ticks"]
        closing = re.compile(rf"\s*?^[ \t]*{re.escape(ticks)}[ \t]*$", re.MULTILINE)
        if opener["language"].lower() not in _JSON_FENCES:
            # Code is not searched for calls: a program may well contain an object that looks like one.
            closed = self._search(closing, opener.end())
            if closed is not None:
                yield _Found(opener.start(), closed.end(), [])
            return
        calls, end = self._values(opener.end(), named=False)
        if not calls:
            return
        closed = closing.match(self.text, end)
        if closed is not None:
            yield _Found(opener.start(), closed.end(), calls)
        elif not self.text[end:].strip():
            yield _Found(opener.start(), end, calls)
        else:
            first = _BLANK.match(self.text, opener.end())
            yield _Found(first.end() if first else opener.end(), end, calls)

    def _bare(self, opener: re.Match[str]) -> _Found | None:
        parsed = parse_at(self.text, opener.end() - 1, self.budget)
        calls = None if parsed is None else self._calls_in(parsed.value, named=False)
        return None if parsed is None or not calls else _Found(opener.start(), parsed.end, calls)

    # From values to calls

    def _calls_in(self, value: Any, *, named: bool) -> list[_Raw] | None:
        """The calls that ``value`` stands for, or None if it is, or holds, anything else.

        ``named``: a tag around it says that it is a call, so the arguments may be left out.
        """
        if isinstance(value, list):
            calls: list[_Raw] = []
            for item in cast(list[Any], value):
                inner = self._calls_in(item, named=named) if isinstance(item, dict) else None
                if not inner:
                    return None
                calls += inner
            return calls
        if not isinstance(value, dict):
            return None
        fields = cast(dict[str, Any], value)
        call = self._call(fields, named=named)
        if call is not None:
            return [call]
        for key in _LIST_KEYS:
            if isinstance(fields.get(key), list):
                return self._calls_in(fields[key], named=True)
        for key in _WRAPPER_KEYS:
            if isinstance(fields.get(key), dict):
                return self._calls_in(fields[key], named=True)
        return None

    def _call(self, fields: Mapping[str, Any], *, named: bool) -> _Raw | None:
        key = next((key for key in _NAME_KEYS if isinstance(fields.get(key), str) and fields[key] in self.known), None)
        if key is None or "description" in fields:  # with a description it is a tool's declaration, not a call
            return None
        name: str = fields[key]
        argument_key = next((key for key in _ARGUMENT_KEYS if key in fields), None)
        if argument_key is None:
            rest = {other: value for other, value in fields.items() if other not in {key, "id", "type"}}
            return _Raw(name, rest) if named else None
        arguments: Any = fields[argument_key] or {}
        if isinstance(arguments, str):
            parsed = parse_at(arguments, 0, self.budget)
            arguments = None if parsed is None else parsed.value
        return _Raw(name, cast(dict[str, Any], arguments)) if isinstance(arguments, dict) else None
