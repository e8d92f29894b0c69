"""Finding the text that an edit means: exactly, or with differences of white space that small models make. Pure.

Works on text with any line ends: what is found is a span of the original, so nothing outside it changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

_MAX_COMPARED_LINES, _MAX_COMPARED_CHARS = 4000, 200


@dataclass(frozen=True, slots=True)
class Match:
    """``start:end`` in the text, what to put there, and the line (from 1) where it starts."""

    start: int
    end: int
    replacement: str
    line: int


def find(text: str, old: str, new: str) -> list[Match]:
    """Every place that ``old`` means, best reading only: exact; with the file's line ends; by lines, spaces ignored."""
    newline = "\r\n" if "\r\n" in text else "\n"
    native_old, native_new = _with_ends(old, newline), _with_ends(new, newline)
    for wanted, replacement in ((native_old, native_new), (old, new)):
        if exact := _exact(text, wanted, replacement):
            return exact
    return _by_lines(text, old, native_new, newline)


def apply(text: str, matches: Sequence[Match]) -> str:
    """``text`` with every match replaced."""
    pieces: list[str] = []
    at = 0
    for match in matches:
        pieces += [text[at : match.start], match.replacement]
        at = match.end
    return "".join([*pieces, text[at:]])


def nearest(text: str, old: str, context: int = 2) -> tuple[int, str] | None:
    """First line number and text of the part that looks most like ``old``; None when nothing does."""
    lines = text.splitlines()[:_MAX_COMPARED_LINES]
    wanted = [line.strip() for line in old.splitlines() if line.strip()]
    if not lines or not wanted:
        return None
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(wanted[0][:_MAX_COMPARED_CHARS])
    best, score = 0, 0.0
    for number, line in enumerate(lines):
        matcher.set_seq1(line.strip()[:_MAX_COMPARED_CHARS])
        if matcher.quick_ratio() > score and (ratio := matcher.ratio()) > score:
            best, score = number, ratio
    if score < 0.5:
        return None
    first = max(0, best - context)
    return first + 1, "\n".join(lines[first : best + len(wanted) + context])


def _with_ends(text: str, newline: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", newline)


def _exact(text: str, wanted: str, replacement: str) -> list[Match]:
    found: list[Match] = []
    at = text.find(wanted)
    while at >= 0:
        found.append(Match(at, at + len(wanted), replacement, text.count("\n", 0, at) + 1))
        at = text.find(wanted, at + len(wanted))
    return found


def _by_lines(text: str, old: str, new: str, newline: str) -> list[Match]:
    """Windows of whole lines that equal ``old`` when white space is ignored; the replacement takes their indent."""
    wanted = old.strip("\r\n").splitlines()
    keys = [_key(line) for line in wanted]
    if not any(keys):
        return []
    lines = text.splitlines(keepends=True)
    line_keys = [_key(line) for line in lines]
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    found: list[Match] = []
    number = 0
    while number + len(keys) <= len(lines):
        if line_keys[number : number + len(keys)] != keys:
            number += 1
            continue
        window = lines[number : number + len(keys)]
        replacement = _indented(new.strip("\r\n"), wanted, window)
        end = window[-1][len(window[-1].rstrip("\r\n")) :]
        if replacement:
            replacement += end or ("" if number + len(keys) == len(lines) else newline)
        found.append(Match(starts[number], starts[number + len(keys)], replacement, number + 1))
        number += len(keys)
    return found


def _key(line: str) -> str:
    return " ".join(line.split())


def _indented(new: str, wanted: Sequence[str], window: Sequence[str]) -> str:
    """``new`` moved from the indent that the model wrote to the one that the file has."""
    first = next(index for index, line in enumerate(wanted) if line.strip())
    theirs, ours = _indent(wanted[first]), _indent(window[first])
    if theirs == ours:
        return new
    lines = new.splitlines(keepends=True)
    return "".join(ours + line[len(theirs) :] if line.strip() and line.startswith(theirs) else line for line in lines)


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]
