"""From a model's reply to a thought and a function, or to why there is none. Never runs anything and never raises.

The result is stable: a reply written from what was read (see :func:`rendered`) is read as the same again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from logician_graph.eoh.extraction import Block, code_starts, extract, find_thought, leading_comments
from logician_graph.eoh.mending import FailureKind, Mended, Problem, Reading, callable_with, mend, read, rename


@dataclass(frozen=True, slots=True)
class Reply:
    """A usable reply."""

    thought: str
    """The idea in one line; empty when the model said none."""
    code: str
    """A module with the function, what it needs, and nothing else; it parses."""
    notes: tuple[str, ...] = ()
    """What had to be mended, in words: a name, an import, the order of the arguments."""


@dataclass(frozen=True, slots=True)
class ReplyFailure:
    """A reply without a usable function."""

    kind: FailureKind
    message: str
    """One sentence, for the repair prompt and for the person."""
    line: int | None = None
    """The line of :attr:`code` that is to blame, from 1."""
    code: str | None = None
    """The code that was found, for the repair prompt; None when there was none."""
    thought: str = ""


def parse_reply(
    text: str, function: str, arguments: Sequence[str], *, imports: Sequence[str] = ()
) -> Reply | ReplyFailure:
    """Read ``text`` for ``function(arguments)``. ``imports``: modules whose missing import may be added (``np`` too).

    Of several blocks with the function the last sound one counts: models repeat the parents before their own. Without
    the name, the one function that can be called with as many arguments is taken and renamed.
    """
    extracted = extract(text)
    attempts = [_Attempt(block, *_read_block(block)) for block in extracted.blocks]
    attempts = [each for each in attempts if each.reading.whole.strip()]
    readings = [each.reading for each in attempts]
    failure: Problem | None = None
    for attempt, reading in _named(attempts, function, len(arguments)):
        result = mend(reading, function, arguments, imports, readings)
        if isinstance(result, Mended):
            thought = find_thought(extracted, attempt.skipped, result.docstring)
            renamed = reading is not attempt.reading
            notes = (f"the function was renamed to {function!r}", *result.notes) if renamed else result.notes
            return Reply(thought, result.code, notes)
        failure = failure or _cut_off(result, attempt.block)
    if failure is None:
        failure = _why_none(attempts, function, arguments)
    skipped = "\n".join(each.skipped for each in attempts)
    return ReplyFailure(
        failure.kind, failure.message, failure.line, failure.code, find_thought(extracted, skipped, None)
    )


def rendered(thought: str, code: str) -> str:
    """The reply that says exactly this, in the form that the prompts ask for."""
    said = f"# {{{thought}}}\n" if thought else ""
    return f"```python\n{said}{code}```\n"


@dataclass(frozen=True, slots=True)
class _Attempt:
    block: Block
    reading: Reading
    skipped: str
    """Lines of the block before its code, and the comments that it begins with."""


def _read_block(block: Block) -> tuple[Reading, str]:
    """The reading from the first place in the block where a function comes out; else from its start."""
    lines = block.text.split("\n")
    first: Reading | None = None
    for start in code_starts(block.text):
        reading = read("\n".join(lines[start:]))
        if reading.functions():
            return reading, "\n".join([*lines[:start], leading_comments(reading.text)])
        if first is None or (reading.tree.body and not first.tree.body):
            first = reading
    assert first is not None
    return first, ""


def _named(attempts: Sequence[_Attempt], function: str, count: int) -> list[tuple[_Attempt, Reading]]:
    """Where the function is, last first; without the name, the one function that it can only be, renamed."""
    exact = [
        (each, each.reading)
        for each in reversed(attempts)
        if any(found.name == function for found in each.reading.functions())
    ]
    if exact or any(_mentions(each.block.text, function) for each in attempts):
        return exact
    fits = [(each, found) for each in attempts for found in callable_with(each.reading.functions(), count)]
    alike = [pair for pair in fits if _folded(pair[1].name) == _folded(function)]
    chosen = alike or fits
    if len({found.name for _, found in chosen}) != 1:
        return []
    attempt, found = chosen[-1]
    renamed = rename(attempt.reading, found, function)
    return [(attempt, renamed)] if renamed else []


def _folded(name: str) -> str:
    return name.replace("_", "").casefold()


def _mentions(text: str, function: str) -> bool:
    """Whether a plain function of this name begins somewhere at the start of a line."""
    return re.search(rf"^def\s+{re.escape(function)}\b", text, re.MULTILINE) is not None


def _cut_off(problem: Problem, block: Block) -> Problem:
    """A syntax error or a missing return at the end of a reply that was cut off is no mistake of the model."""
    if block.closed or problem.kind not in {"syntax_error", "no_return"}:
        return problem
    return Problem("incomplete", "the reply ended before the function was complete", problem.line, problem.code)


def _why_none(attempts: Sequence[_Attempt], function: str, arguments: Sequence[str]) -> Problem:
    """The failure when no function with the name or in its place was found."""
    for attempt in reversed(attempts):
        if attempt.reading.error and _mentions(attempt.block.text, function):
            return _cut_off(attempt.reading.problem(), attempt.block)
    functions = {found.name: attempt for attempt in attempts for found in attempt.reading.functions()}
    call = f"{function}({', '.join(arguments)})"
    if functions:
        code = list(functions.values())[-1].reading.text
        names = ", ".join(repr(name) for name in functions)
        fits = [found.name for each in attempts for found in callable_with(each.reading.functions(), len(arguments))]
        if len(set(fits)) > 1:
            return Problem("ambiguous", f"none of the functions {names} is called {function!r}", None, code)
        return Problem("wrong_name", f"there is no function {call}, only {names}", None, code)
    for attempt in reversed(attempts):
        if (
            re.search(rf"^\s+(async\s+)?def\s+{re.escape(function)}\b", attempt.block.text, re.MULTILINE)
            and not attempt.reading.error
        ):
            message = f"{function!r} must be a plain function at the top level, not inside a class or a block"
            return Problem("wrong_name", message, None, attempt.reading.whole)
    for attempt in reversed(attempts):
        if attempt.reading.error and re.search(r"\bdef\s+\w+", attempt.block.text):
            return _cut_off(attempt.reading.problem(), attempt.block)
    return Problem("no_code", f"the reply holds no function {call}")
