"""What a shell command line would run: every simple command in it, wherever it is nested, as words. Pure.

Parsed by tree-sitter's bash grammar, never executed or expanded. Judges nothing. Whatever is not plainly understood
is named in ``problems``; whoever grants something from a parse must refuse when there is any.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

_HARMLESS_VARIABLES = frozenset({
    "LANG", "LC_ALL", "TZ", "NO_COLOR", "FORCE_COLOR", "CI", "COLUMNS", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE",
})  # fmt: skip
_HARMLESS_TARGETS = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr"})
_RESERVED = frozenset({"coproc", "function", "select"})
"""Words that the grammar takes for programs."""
_ONE_LINE = frozenset(
    {"command", "redirected_statement", "file_redirect", "herestring_redirect", "variable_assignment"}
)
_ENDS_OF_WORDS = (b"", b" ", b"\t", b"\n", b";", b"&", b"|", b")", b"`")
_CONNECTORS = frozenset({"\n", ";", "&", "&&", "||", "|", "|&", "(", ")", "{", "}", "!", "$(", "<(", ">(", "`"})
_STRUCTURE = frozenset({"program", "list", "pipeline", "subshell", "compound_statement", "negated_command"})
_SUBSTITUTIONS = frozenset({"command_substitution", "process_substitution"})
_VARIABLE_PARTS = frozenset({"simple_expansion", "expansion"})
_PLAIN_PARTS = frozenset({
    *_VARIABLE_PARTS, "string", "string_content", "word", "number", "variable_name", "special_variable_name",
})  # fmt: skip
_HEREDOC_PARTS = frozenset({"heredoc_start", "heredoc_body", "heredoc_content", "heredoc_end", *_VARIABLE_PARTS})
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash"})
_UNQUOTED_SPECIAL = re.compile(r"[*?\[{~]")
_MAX_CHARS = 50_000
_MAX_DEPTH = 100
_TOO_DEEP, _UNPARSED = "is nested too deeply", "cannot be parsed"


@dataclass(frozen=True, slots=True)
class Word:
    """One argument. ``text`` is what the program gets, None when that is only known when it runs."""

    text: str | None
    expands: bool = False
    """An unquoted pattern, brace or tilde: the shell may put other words in its place."""


@dataclass(frozen=True, slots=True)
class Segment:
    """One simple command."""

    words: tuple[Word, ...]

    @property
    def argv(self) -> tuple[str | None, ...]:
        """The words' texts."""
        return tuple(word.text for word in self.words)

    @property
    def program(self) -> str | None:
        """The program as written; None when unknown."""
        word = self.words[0] if self.words else Word(None)
        return None if word.expands else word.text


@dataclass(frozen=True, slots=True)
class CommandLine:
    """All simple commands of a command line, and why it is not fully understood."""

    segments: tuple[Segment, ...]
    problems: tuple[str, ...]
    """Each completes "the command …"."""
    hidden: bool = False
    """Whether there may be commands that ``segments`` does not hold."""


@lru_cache(maxsize=256)
def parse(command: str) -> CommandLine:
    """Take ``command`` apart; never raises for its content."""
    if len(command) > _MAX_CHARS:
        return CommandLine((), (f"is longer than {_MAX_CHARS:,} characters",), hidden=True)
    if re.search(r"[\x00-\x08\x0b-\x1f\x7f]", command):
        return CommandLine((), ("holds control characters",), hidden=True)
    if "\\\n" in re.sub(r"[^\s\\][ \t]+\\\n", " ", command):
        # Elsewhere than between two words the grammar reads a continued line differently from the shell.
        return CommandLine((), ("continues a line in an odd place",), hidden=True)
    source = command.encode("utf-8", "replace")
    # The grammar's scanner reads outside its tables at some characters beyond ASCII, which can end the process:
    # tree-sitter-bash issue 337. To the shell they are all ordinary, so they are parsed as one that is nowhere else.
    root = _parser().parse(re.sub(rb"[\x80-\xff]", b"\x01", source)).root_node
    reader = _Reader(source)
    hidden = root.has_error or _has_gaps(root, source)
    if hidden:
        reader.problems.append(_UNPARSED)
    reader.statement(root, 0)
    for script in reader.scripts:
        # A script is shorter than the command that holds it, so this ends.
        inner = parse(script)
        reader.segments += inner.segments
        reader.problems += inner.problems
        hidden = hidden or inner.hidden
    hidden = hidden or not {_TOO_DEEP, _UNPARSED}.isdisjoint(reader.problems)
    return CommandLine(tuple(reader.segments), tuple(dict.fromkeys(reader.problems)), hidden)


class _Reader:
    """Collects segments and problems from a syntax tree."""

    def __init__(self, source: bytes) -> None:
        self._source = source
        self.segments: list[Segment] = []
        self.problems: list[str] = []
        self.scripts: list[str] = []
        """Texts that a shell inside the command would run."""

    def statement(self, node: Node, depth: int) -> None:
        """A statement or a list of them."""
        if depth > _MAX_DEPTH:
            self.problems.append(_TOO_DEEP)
            return
        if node.type in _ONE_LINE:
            self._check_line(node)
        match node.type:
            case "command":
                self._command(node, depth)
            case "redirected_statement":
                self._each(node, depth)
            case "file_redirect":
                self._redirect(node, depth)
            case "heredoc_redirect" | "herestring_redirect":
                self._here(node, depth)
            case "variable_assignment":
                self._assignment(node, depth)
            case "comment":
                return
            case kind:
                if kind not in _STRUCTURE and kind not in _SUBSTITUTIONS:
                    self.problems.append(f"uses {kind.replace('_', ' ')}")
                elif any(not child.is_named and not self._connects(child) for child in node.children):
                    self.problems.append(_UNPARSED)
                self._each(node, depth)

    def _connects(self, token: Node) -> bool:
        """Whether a token between statements is one for the shell too: ``{`` and ``!`` need a blank after them."""
        if token.type in {"{", "!"}:
            return self._source[token.end_byte : token.end_byte + 1].isspace()
        return token.type in _CONNECTORS

    def _check_line(self, node: Node) -> None:
        """The grammar sometimes passes over the end of a line, and hides the command on the next one."""
        at = node.start_byte
        for child in node.children:
            if re.sub(rb"\\\n|[ \t]", b"", self._source[at : child.start_byte]):
                self.problems.append(_UNPARSED)
            at = child.end_byte

    def _each(self, node: Node, depth: int) -> None:
        for child in node.named_children:
            self.statement(child, depth + 1)

    def _command(self, node: Node, depth: int) -> None:
        words: list[Word] = []
        end = -1
        for child in node.children:
            if child.start_byte == end:
                # Two words that touch are one word for the shell.
                self.problems.append(_UNPARSED)
            end = child.end_byte
            if not child.is_named:
                words.append(Word(self._text(child)))
                continue
            match child.type:
                case "command_name":
                    words += [self._word(part, depth) for part in child.named_children]
                case "file_redirect" | "herestring_redirect" | "heredoc_redirect" | "variable_assignment" | "comment":
                    self.statement(child, depth + 1)
                case _:
                    words.append(self._word(child, depth))
        if words:
            segment = Segment(tuple(words))
            if segment.program in _RESERVED:
                self.problems.append(f"uses {segment.program}")
            self.segments.append(segment)
            self.scripts += _inner_scripts(segment)

    def _word(self, node: Node, depth: int) -> Word:
        match node.type:
            case "word" | "number":
                if node.named_children:
                    return self._unknown(node, depth)
                text = self._text(node)
                if re.search(r"[\s;&|<>()]", re.sub(r"\\.", "", text, flags=re.DOTALL)):
                    # The grammar takes a line that starts with a backslash for a part of the line before.
                    self.problems.append(_UNPARSED)
                literal = re.sub(r"\\(\n|.)", _unescaped, text, flags=re.DOTALL)
                return Word(literal, bool(_UNQUOTED_SPECIAL.search(text)))
            case "raw_string":
                return Word(self._text(node)[1:-1])
            case "string":
                if any(child.type != "string_content" for child in node.named_children):
                    return self._unknown(node, depth)
                return Word(re.sub(r'\\([$`"\\\n])', _unescaped, self._text(node)[1:-1]))
            case "concatenation":
                parts = [self._word(child, depth + 1) for child in node.named_children]
                whole = "".join(part.text for part in parts if part.text is not None)
                # Braces and the like are tokens of their own here, so what the parts cover is compared with the whole.
                covered = sum(child.end_byte - child.start_byte for child in node.named_children)
                complete = covered == node.end_byte - node.start_byte and all(part.text is not None for part in parts)
                return Word(whole if complete else None, any(part.expands for part in parts) or not complete)
            case _:
                return self._unknown(node, depth)

    def _unknown(self, node: Node, depth: int) -> Word:
        """A word that only running can tell; the commands inside it are collected."""
        self._look_into(node, depth)
        return Word(None, expands=True)

    def _look_into(self, node: Node, depth: int) -> None:
        if depth > _MAX_DEPTH:
            self.problems.append(_TOO_DEEP)
        elif node.type in _SUBSTITUTIONS:
            self.statement(node, depth + 1)
        else:
            if node.type not in _PLAIN_PARTS:
                self.problems.append(f"uses {node.type.replace('_', ' ')}")
            for child in node.named_children:
                self._look_into(child, depth + 1)

    def _redirect(self, node: Node, depth: int) -> None:
        operator = next((child.type for child in node.children if not child.is_named), "")
        targets = [child for child in node.named_children if child.type != "file_descriptor"]
        if any(not self._text(child).isdecimal() for child in node.named_children if child not in targets):
            self.problems.append(_UNPARSED)
        if self._source[node.end_byte : node.end_byte + 1] not in _ENDS_OF_WORDS:
            self.problems.append(_UNPARSED)
        words = [self._word(child, depth) for child in targets]
        if len(targets) > 1:
            # The grammar takes words after the target for more targets; for the shell they are arguments.
            self.problems.append("has arguments after a redirection")
        if operator in {"<", "<&", "<&-", ">&-"}:
            return
        if operator == ">&" and all(self._text(child).isdecimal() for child in targets):
            return
        for word in words:
            if word.expands or word.text not in _HARMLESS_TARGETS:
                self.problems.append(f"writes to {word.text or 'a file'!r}")

    def _here(self, node: Node, depth: int) -> None:
        for child in node.named_children:
            if child.type in _SUBSTITUTIONS or child.type == "heredoc_body":
                for part in (child,) if child.type in _SUBSTITUTIONS else child.named_children:
                    self._here_part(part, depth)
            elif child.type in {"string", "raw_string", "word", "concatenation", "number", *_VARIABLE_PARTS}:
                self._word(child, depth)
                if node.type == "heredoc_redirect":
                    self.problems.append("has arguments after a here-document")
            elif child.type == "heredoc_start" and not self._source[child.start_byte : child.end_byte].isascii():
                self.problems.append(_UNPARSED)
            elif child.type not in _HEREDOC_PARTS:
                self.statement(child, depth + 1)

    def _here_part(self, node: Node, depth: int) -> None:
        if node.type != "heredoc_content":
            self._look_into(node, depth + 1)

    def _assignment(self, node: Node, depth: int) -> None:
        name = node.child_by_field_name("name")
        text = self._text(name) if name is not None else "?"
        if text not in _HARMLESS_VARIABLES:
            self.problems.append(f"sets the variable {text}")
        for child in node.named_children:
            if child != name:
                self._word(child, depth)

    def _text(self, node: Node) -> str:
        return self._source[node.start_byte : node.end_byte].decode("utf-8", "replace")


def _unescaped(match: re.Match[str]) -> str:
    return "" if match[1] == "\n" else match[1]


def _inner_scripts(segment: Segment) -> list[str]:
    """What ``sh -c '…'`` and ``eval '…'`` would run, as far as it is written out."""
    texts = [text for text in segment.argv[1:] if text is not None]
    program = (segment.program or "").rpartition("/")[2]
    if program == "eval":
        return [" ".join(texts)]
    if program in _SHELLS:
        for option, script in pairwise(texts):
            if re.fullmatch(r"-\w*c", option):
                return [script]
    return []


def _has_gaps(root: Node, source: bytes) -> bool:
    """Whether anything but blanks and continued lines lies between the tokens."""
    at = 0
    for leaf in _leaves(root):
        if leaf.start_byte > at and re.sub(rb"\\\n|\s", b"", source[at : leaf.start_byte]):
            return True
        at = max(at, leaf.end_byte)
    return bool(re.sub(rb"\\\n|\s", b"", source[at:]))


def _leaves(node: Node) -> Iterator[Node]:
    todo = [node]
    while todo:
        found = todo.pop()
        if found.child_count == 0:
            yield found
        todo += reversed(found.children)


@lru_cache(maxsize=1)
def _parser() -> Parser:
    # Imported at the first command: loading the grammar takes tens of milliseconds.
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))
