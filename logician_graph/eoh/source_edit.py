"""Changes to source text at the places that the syntax tree names, so that everything else keeps its layout."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass

from logician_graph.eoh.code import parse_code


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the characters ``start`` to ``end`` by ``text``."""

    start: int
    end: int
    text: str


class Source:
    """Text whose positions can be asked for by line and column as ``ast`` counts them (columns in UTF-8 bytes)."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._lines = text.split("\n")
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line) + 1)

    def at(self, line: int, column: int) -> int:
        """The character index of line ``line`` (from 1) and byte ``column`` (from 0)."""
        text = self._lines[line - 1]
        within = len(text.encode("utf-8")[:column].decode("utf-8", "ignore"))
        return self._starts[line - 1] + within

    def span(self, node: ast.expr | ast.stmt | ast.arg) -> tuple[int, int]:
        """Where ``node`` begins and ends, without decorators."""
        end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or 0
        return self.at(node.lineno, node.col_offset), self.at(end_line, end_column)

    def line_start(self, line: int) -> int:
        """The character index at which line ``line`` (from 1) begins."""
        return self._starts[line - 1]

    def indent(self, line: int) -> str:
        """The white space before line ``line``."""
        text = self._lines[line - 1]
        return text[: len(text) - len(text.lstrip())]

    def edited(self, edits: Iterable[Edit]) -> str:
        """The text after ``edits``, which must not overlap."""
        text = self.text
        for edit in sorted(edits, key=lambda one: (one.start, one.end), reverse=True):
            text = text[: edit.start] + edit.text + text[edit.end :]
        return text


def without_annotations(text: str, tree: ast.Module) -> str:
    """``text`` without the annotations of parameters, results and variables; unchanged where that cannot be done.

    Those in the body of a class stay: they may be what the class is made of.
    """
    source = Source(text)
    fields = {id(each) for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for each in node.body}
    edits: list[Edit] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.arg) and node.annotation:
            start = source.span(node)[0] + len(node.arg)
            edits.append(Edit(start, source.span(node.annotation)[1], ""))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns:
            start, end = source.span(node.returns)
            arrow = text.rfind("->", source.span(node)[0], start)
            edits.append(Edit(len(text[:arrow].rstrip()), end, ""))
        elif isinstance(node, ast.AnnAssign) and id(node) not in fields:
            start, end = source.span(node)
            if node.value is None:
                edits.append(Edit(start, end, "pass"))
            else:
                edits.append(Edit(source.span(node.target)[1], source.span(node.annotation)[1], ""))
    changed = source.edited(edits)
    return changed if _parses(changed) else text


def _parses(text: str) -> bool:
    try:
        parse_code(text)
    except SyntaxError:
        return False
    return True
