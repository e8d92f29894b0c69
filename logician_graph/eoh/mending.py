"""From text that may hold Python to one module with the function that was asked for, or to what is wrong with it.

Small things that cannot change the meaning are mended and said in ``notes``; nothing is guessed and nothing is run.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from logician_graph.eoh.code import parse_code
from logician_graph.eoh.module_parts import BUILTINS, Part, joined, missing_names, needed, parts_of
from logician_graph.eoh.signature import Mismatch, accepts, with_signature
from logician_graph.eoh.source_edit import without_annotations

FailureKind = Literal[
    "no_code", "syntax_error", "incomplete", "wrong_name", "wrong_arguments", "ambiguous", "no_return"
]
"""Why a reply holds no usable function. ``incomplete``: it was cut off before the function ended. ``ambiguous``: none
of its functions has the name and several could be meant. ``no_return``: the function never hands a value back."""

_TYPING = ("typing", "typing_extensions", "collections.abc", "numpy.typing", "__future__")


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a piece of code, in words for the model and the person."""

    kind: FailureKind
    message: str
    line: int | None = None
    """The line in :attr:`code`, from 1."""
    code: str | None = None


@dataclass(frozen=True, slots=True)
class Mended:
    """A module that parses and holds the function, and the repairs that were made."""

    code: str
    notes: tuple[str, ...]
    docstring: str | None


@dataclass(frozen=True, slots=True)
class Reading:
    """The longest beginning of a text that is Python, and why it ended there."""

    text: str
    tree: ast.Module
    whole: str
    error: SyntaxError | None = None
    inside_function: bool = False
    """The text stopped being Python within a function, not after it."""

    def functions(self) -> list[ast.FunctionDef]:
        """The plain functions at the top of the module."""
        return [node for node in self.tree.body if isinstance(node, ast.FunctionDef)]

    def problem(self) -> Problem:
        """The syntax error as a problem."""
        assert self.error is not None
        line = self.error.lineno
        return Problem("syntax_error", f"SyntaxError: {self.error.msg} (line {line})", line, self.whole)


def read(text: str) -> Reading:
    """Parse ``text``, without what follows the code when that is no Python."""
    lines = text.split("\n")
    first: SyntaxError | None = None
    end = len(lines)
    while True:
        try:
            tree = parse_code("\n".join(lines[:end]))
            break
        except SyntaxError as error:
            first = first or error
            end = max(0, min(end - 1, (error.lineno or 1) - 1))
    rest = next((line for line in lines[end:] if line.strip()), "")
    inside = first is not None and rest[:1].isspace()
    return Reading("\n".join(lines[:end]), tree, text, first, inside)


def mend(
    reading: Reading, name: str, arguments: Sequence[str], imports: Sequence[str], others: Iterable[Reading]
) -> Mended | Problem:
    """The module for the last function called ``name``, with what it needs from ``reading`` or else ``others``."""
    main = [node for node in reading.functions() if node.name == name][-1]
    if reading.inside_function and main is reading.tree.body[-1]:
        return reading.problem()
    if not _returns(main):
        line = main.lineno
        return Problem("no_return", f"the function {name!r} never returns a value", line, reading.text)
    notes: list[str] = []
    if reading.error is not None:
        notes.append("text after the code was dropped")
    signed = with_signature(reading.text, reading.tree, main, arguments)
    if isinstance(signed, Mismatch):
        return Problem("wrong_arguments", signed.message, main.lineno, reading.text)
    notes += signed.notes
    text = _readable_annotations(signed.text, notes)
    try:
        code = _assembled(text, name, imports, [other for other in others if other is not reading], notes)
        _compile(code)
    except SyntaxError as error:
        return replace(Reading("", reading.tree, text, error).problem(), code=text)
    docstring = ast.get_docstring(main)
    return Mended(code, tuple(notes), docstring)


def rename(reading: Reading, function: ast.FunctionDef, name: str) -> Reading | None:
    """``reading`` with ``function`` called ``name``; the old name stays known to code that uses it."""
    lines = reading.text.split("\n")
    after = lines[function.lineno - 1].removeprefix("def").lstrip()
    if not after.startswith(function.name):
        return None
    lines[function.lineno - 1] = f"def {name}{after[len(function.name) :]}"
    uses_itself = any(isinstance(node, ast.Name) and node.id == function.name for node in ast.walk(reading.tree))
    if uses_itself:
        lines.append(f"{function.name} = {name}")
    text = "\n".join(lines)
    try:
        return replace(reading, text=text, tree=parse_code(text))
    except SyntaxError:
        return None


def callable_with(functions: Iterable[ast.FunctionDef], count: int) -> list[ast.FunctionDef]:
    """The functions that can be called with ``count`` arguments; of several with one name only the last."""
    by_name = {function.name: function for function in functions}
    return [function for function in by_name.values() if accepts(function.args, count)]


def _assembled(text: str, name: str, imports: Sequence[str], others: Sequence[Reading], notes: list[str]) -> str:
    parts = parts_of(text, parse_code(text))
    main = [part for part in parts if isinstance(part.node, ast.FunctionDef) and part.node.name == name][-1]
    kept = needed(main, parts, name)
    for other in others:
        if lost := set(missing_names(kept)):
            there = parts_of(other.text, other.tree)
            found = [part for part in there if part.binds & lost and name not in part.binds | part.uses]
            if found:
                kept = [*_with_needs(found, there, name), *kept]
                notes.append("taken from another block: " + ", ".join(sorted(lost & _bound(found))))
    added = _absent_imports(missing_names(kept), imports)
    notes += [f"added: {line}" for line in added]
    return joined(kept, first=added)


def _with_needs(found: list[Part], parts: list[Part], name: str) -> list[Part]:
    chosen = {id(part) for each in found for part in needed(each, parts, name)}
    return [part for part in parts if id(part) in chosen]


def _bound(parts: Iterable[Part]) -> set[str]:
    return {name for part in parts for name in part.binds}


def _absent_imports(missing: Iterable[str], imports: Sequence[str]) -> list[str]:
    lines: list[str] = []
    for name in missing:
        if name == "np" and "numpy" in imports:
            lines.append("import numpy as np")
        elif name in imports:
            lines.append(f"import {name}")
    return lines


def _readable_annotations(text: str, notes: list[str]) -> str:
    """Annotations go when one of them needs a name that is not there or comes from ``typing``."""
    tree = parse_code(text)
    hints = {node.id for hint in _annotations(tree) for node in ast.walk(hint) if isinstance(node, ast.Name)}
    parts = parts_of(text, tree)
    known = {name for part in parts if not _is_typing(part.node) for name in part.binds} | {"np", "numpy"}
    if hints <= known | BUILTINS:
        return text
    stripped = without_annotations(text, tree)
    if stripped != text:
        notes.append("type annotations removed")
    return stripped


def _annotations(tree: ast.Module) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation:
            yield node.annotation
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns:
            yield node.returns


def _is_typing(node: ast.stmt) -> bool:
    if isinstance(node, ast.ImportFrom):
        return node.module in _TYPING
    return isinstance(node, ast.Import) and any(alias.name in _TYPING for alias in node.names)


def _returns(function: ast.FunctionDef) -> bool:
    """Whether some ``return`` of the function itself has a value other than None and ``...``."""
    stack: list[ast.AST] = list(function.body)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Return) and node.value is not None:
            if not (isinstance(node.value, ast.Constant) and node.value.value in {None, ...}):
                return True
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            stack.extend(ast.iter_child_nodes(node))
    return False


def _compile(code: str) -> None:
    """``SyntaxError`` for what parses but cannot be compiled: ``return`` outside a function, an argument twice."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(code, "<candidate>", "exec", dont_inherit=True)
        except (ValueError, RecursionError, MemoryError, OverflowError) as error:
            raise SyntaxError(f"the code cannot be compiled: {error}") from error
