"""Where in a model's reply the code stands and where the idea: text in, pieces of text out; nothing is judged here.

Two forms are known: a JSON object with ``code`` and perhaps ``thought``, also cut off in the middle, and prose with
fenced blocks of any tag. Without either, the code begins at the first line that looks like Python.
"""

from __future__ import annotations

import json
import re
import textwrap
from dataclasses import dataclass

MAX_REPLY_CHARS = 200_000
"""What comes after is not read."""
MAX_THOUGHT_CHARS = 500
PLACEHOLDER = "One sentence that says how the function decides."
"""Stands in the prompt where the thought belongs; no thought when it comes back."""

_THINKING = re.compile(r"\A\s*<think>.*?(?:</think>|\Z)", re.DOTALL)
_OBJECT = re.compile(r'^[ \t]*(\{\s*"(?:thought|code)"\s*:)', re.MULTILINE)
_CODE_VALUE = re.compile(r'"code"\s*:\s*"((?:[^"\\]|\\.)*+)("?)', re.DOTALL)
_THOUGHT_VALUE = re.compile(r'"thought"\s*:\s*("(?:[^"\\]|\\.)*+")', re.DOTALL)
_FENCE = re.compile(r"(`{3,}|~{3,})[^`~]*$")
_OPENING = re.compile(r"\s*(`{3,}|~{3,})[a-zA-Z]+\s*$")
_CODE_LINE = re.compile(r"\s*(?:async\s+def|def|class)\s+\w+|\s*import\s+\w|\s*from\s+[\w.]+\s+import\b|\s*@\w")
_DEFINITION = re.compile(r"\s*(?:async\s+)?def\s+\w+")
_BRACED = re.compile(r"\{([^{}]{8,})\}")
_SHORT_BRACED = re.compile(r"\{([^{}]+)\}")
_LABEL = re.compile(
    r"^(?:[#>*\-\s\d.]*)(?:\*\*)?(?:thought|idea|description|algorithm)(?:\*\*)?\s*:\s*(?:\*\*)?", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of text that may be code, dedented."""

    text: str
    closed: bool = True
    """False for a fence or a JSON string that the end of the reply cut off."""
    fenced: bool = True


@dataclass(frozen=True, slots=True)
class Extracted:
    """The pieces of a reply."""

    blocks: tuple[Block, ...]
    prose: str
    """What stands outside the blocks."""
    thought: str | None = None
    """Said outright, in the JSON form."""


def extract(reply: str) -> Extracted:
    """The pieces of ``reply``. Never raises."""
    text = clean_text(reply[:MAX_REPLY_CHARS])
    text = _THINKING.sub("", text)
    found = _from_json(text)
    if found is None:
        return _from_prose(text)
    thought, code, closed = found
    inner = _from_prose(code)
    blocks = [each for each in inner.blocks if each.fenced] or [Block(textwrap.dedent(code).strip("\n"), closed)]
    return Extracted(tuple(blocks), "", thought)


def clean_text(text: str) -> str:
    """``text`` with ``\\n`` as the only line end, without NUL and without halves of surrogate pairs."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "").removeprefix("\ufeff")
    return text.encode("utf-8", "replace").decode("utf-8")


def code_starts(text: str) -> list[int]:
    """Line numbers (from 0) at which Python may begin: the first line, and those before which no function stood."""
    starts = [0]
    for number, line in enumerate(text.split("\n")):
        if number and _CODE_LINE.match(line):
            starts.append(number)
        if _DEFINITION.match(line):
            break
    return starts[:12]


def leading_comments(text: str) -> str:
    """The comment lines before the code, without their marks."""
    lines: list[str] = []
    for line in text.split("\n"):
        if line.strip() and not line.lstrip().startswith("#"):
            break
        lines.append(line.strip().lstrip("# "))
    return " ".join(lines)


def find_thought(extracted: Extracted, skipped: str, docstring: str | None) -> str:
    """The idea in one line: said outright, else in braces, else the prose before the code, else the docstring."""
    if extracted.thought is not None:
        return tidy_thought(extracted.thought)
    prose = f"{extracted.prose}\n{skipped}"
    for match in _BRACED.finditer(prose):
        if (thought := tidy_thought(match.group(1))) != PLACEHOLDER:
            return thought
    prose = prose.replace(PLACEHOLDER, "")
    for paragraph in re.split(r"\n\s*\n", prose):
        thought = tidy_thought(paragraph)
        if len(thought) >= 8 and not thought.endswith(":"):
            return thought
    if match := _SHORT_BRACED.search(prose):
        return tidy_thought(match.group(1))
    return tidy_thought((docstring or "").strip().split("\n\n")[0])


def tidy_thought(text: str) -> str:
    """One line without braces, fences and labels, at most :data:`MAX_THOUGHT_CHARS` long."""
    before = None
    line = text
    while line != before:
        before = line
        line = " ".join(re.sub(r"[{}`~]+|</?think>", " ", line).split())
        line = _LABEL.sub("", line).strip(' *#>-"')[:MAX_THOUGHT_CHARS].strip()
    return line


def _from_json(text: str) -> tuple[str | None, str, bool] | None:
    for match in list(_OBJECT.finditer(text))[:5]:
        tail = text[match.start(1) :]
        try:
            value, _ = json.JSONDecoder(strict=False).raw_decode(tail)
        except (ValueError, RecursionError):
            if found := _from_cut_json(tail):
                return found
            continue
        code, thought = value.get("code"), value.get("thought")
        if isinstance(code, str):
            return clean_text(thought) if isinstance(thought, str) else None, clean_text(code), True
    return None


def _from_cut_json(text: str) -> tuple[str | None, str, bool] | None:
    match = _CODE_VALUE.search(text)
    if match is None:
        return None
    said = _THOUGHT_VALUE.search(text)
    thought = _string(said.group(1)) if said else None
    code = _string(f'"{match.group(1)}"') or _string(f'"{match.group(1).rsplit(chr(92), 1)[0]}"')
    return thought, code or "", bool(match.group(2))


def _string(literal: str) -> str | None:
    try:
        return clean_text(json.loads(literal, strict=False))
    except ValueError:
        return None


def _from_prose(text: str) -> Extracted:
    blocks: list[Block] = []
    prose: list[str] = []
    inside: list[str] | None = None
    fence = ""
    for line in text.split("\n"):
        if inside is None:
            if match := _FENCE.search(line):
                prose.append(line[: match.start()])
                inside, fence = [], match.group(1)
            else:
                prose.append(line)
        elif line.rstrip().endswith(fence):
            inside.append(line.rstrip().removesuffix(fence).rstrip(fence[0]))
            blocks.append(_block(inside))
            inside = None
        elif match := _OPENING.match(line):
            blocks.append(_block(inside, closed=False))
            inside, fence = [], match.group(1)
        else:
            inside.append(line)
    if inside is not None:
        blocks.append(_block(inside, closed=False))
    if not any(_has_definition(block.text) for block in blocks):
        start = next((number for number, line in enumerate(prose) if _CODE_LINE.match(line)), None)
        if start is not None:
            blocks.append(Block(textwrap.dedent("\n".join(prose[start:])).strip("\n"), fenced=False))
            prose = prose[:start]
    return Extracted(tuple(blocks), "\n".join(prose))


def _block(lines: list[str], *, closed: bool = True) -> Block:
    return Block(textwrap.dedent("\n".join(lines)).strip("\n"), closed)


def _has_definition(text: str) -> bool:
    return any(_DEFINITION.match(line) for line in text.split("\n"))
