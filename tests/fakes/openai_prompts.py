"""The fake model's default behaviour: the person's text is the script.

Each line of the last user message is what the model does at one call of that turn: the first call follows the first
line, the call after the first round of tool results follows the second, and so on. After the last line it says
``Done.``; text without any of these verbs is echoed as ``You said: …``.

    say TEXT                        streamed at once
    say slow TEXT                   a word every 0.15 s        (``say slow 0.5 TEXT``: every 0.5 s)
    say long N                      N numbered words
    think REASONING | TEXT          reasoning, then text
    call NAME {JSON} [; NAME {JSON}]…   one or more tool calls at once
    calltext NAME {JSON}            the call written into the text as <tool_call>…</tool_call>
    truncated NAME {JSON}           a call that stops in the middle (finish reason ``length``)
    fail STATUS [xN] [after S]      an HTTP error, the first N times only, with Retry-After S
    overflow                        the context-length error
    cut | reset | hang | invalid_json | error_chunk | no_done | empty | garbage   [xN] [TEXT]
    wait S LINE                     LINE after S seconds before the first byte

``xN`` counts calls with the same user text at the same step; the step then goes on with ``Recovered.``.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

from tests.fakes.openai_replies import Call, Fault, Reply

_FAULTS = frozenset(get_args(Fault))
_VERBS = frozenset({"say", "think", "call", "calltext", "truncated", "fail", "overflow", "wait"}) | _FAULTS
_TIMES = re.compile(r"^x(\d+)\b\s*")
_RESULT = re.compile(r"^\[?Result of ")


def message_text(message: Mapping[str, Any]) -> str:
    """The text of a message whose content is a string, a list of parts or null."""
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "".join(str(part.get("text", "")) for part in content)


def script_and_step(messages: Sequence[Mapping[str, Any]]) -> tuple[str, int]:
    """The last text that a person wrote and how many times the model has spoken since."""
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        text = message_text(message)
        if message.get("role") == "user" and not _RESULT.match(text):
            return text, sum(1 for later in messages[place + 1 :] if later.get("role") == "assistant")
    return "", 0


def parse_calls(text: str) -> tuple[Call, ...]:
    """``NAME {JSON} ; NAME {JSON}`` as calls; JSON that does not parse is sent as it is written."""
    calls: list[Call] = []
    rest = text.strip()
    while rest:
        name, _, rest = rest.partition(" ")
        rest = rest.strip()
        try:
            arguments, end = json.JSONDecoder().raw_decode(rest)
        except ValueError:
            calls.append((name, rest))
            break
        calls.append((name, arguments))
        rest = rest[end:].lstrip(" ;")
    return tuple(calls)


class PromptScript:
    """A handler that obeys the last user message. Keeps count of the faults already served."""

    def __init__(self) -> None:
        self._served: Counter[tuple[str, int]] = Counter()

    def __call__(self, body: Mapping[str, Any]) -> Reply:
        script, step = script_and_step(body.get("messages") or ())
        lines = [line.strip() for line in script.splitlines() if line.strip()]
        if not lines or lines[0].split()[0] not in _VERBS:
            return Reply(f"You said: {script}") if step == 0 else Reply("Done.")
        if step >= len(lines):
            return Reply("Done.")
        return self._line(lines[step], (script, step))

    def _line(self, line: str, place: tuple[str, int]) -> Reply:
        verb, _, rest = line.partition(" ")
        rest = rest.strip()
        match verb:
            case "say":
                return _say(rest)
            case "think":
                reasoning, _, text = rest.partition("|")
                return Reply(text.strip(), reasoning=reasoning.strip())
            case "call":
                return Reply(tool_calls=parse_calls(rest))
            case "calltext":
                return Reply("".join(_written(call) for call in parse_calls(rest)))
            case "truncated":
                name, arguments = parse_calls(rest)[0]
                written = arguments if isinstance(arguments, str) else json.dumps(dict(arguments))
                return Reply(tool_calls=[(name, written[: len(written) // 2])], finish_reason="length")
            case "wait":
                seconds, _, following = rest.partition(" ")
                return replace(self._line(following, place), first_byte_s=float(seconds))
            case "overflow":
                return Reply.context_overflow()
            case "fail":
                return self._fail(rest, place)
            case _ if verb in _FAULTS:
                return self._fault(verb, rest, place)
            case _:
                return Reply(line)

    def _used_up(self, rest: str, place: tuple[str, int]) -> tuple[bool, str]:
        """Whether ``xN`` at the head of ``rest`` is used up, and the rest behind it."""
        times = _TIMES.match(rest)
        if times is None:
            return False, rest
        self._served[place] += 1
        return self._served[place] > int(times[1]), rest[times.end() :]

    def _fail(self, rest: str, place: tuple[str, int]) -> Reply:
        status, _, rest = rest.partition(" ")
        done, rest = self._used_up(rest.strip(), place)
        if done:
            return Reply("Recovered.")
        after = re.search(r"after (\S+)", rest)
        return Reply.failing(int(status), f"scripted failure {status}", retry_after=after[1] if after else None)

    def _fault(self, verb: str, rest: str, place: tuple[str, int]) -> Reply:
        done, rest = self._used_up(rest, place)
        if done:
            return Reply("Recovered.")
        return Reply("" if verb == "empty" else rest or "one two three four five", fault=verb)  # type: ignore[arg-type]


def _say(rest: str) -> Reply:
    slow = re.match(r"slow(?::|\s)\s*(?:(\d+(?:\.\d+)?)\s+)?", rest)
    if slow:
        return Reply(rest[slow.end() :], delay_s=float(slow[1] or 0.15))
    long = re.fullmatch(r"long (\d+)", rest)
    if long:
        return Reply(" ".join(f"word{number}" for number in range(1, int(long[1]) + 1)))
    return Reply(rest)


def _written(call: Call) -> str:
    name, arguments = call
    written = arguments if isinstance(arguments, str) else json.dumps(dict(arguments))
    return f'<tool_call>{{"name": "{name}", "arguments": {written}}}</tool_call>\n'
