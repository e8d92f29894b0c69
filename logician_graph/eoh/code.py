"""What can be said about a candidate's code without running it: is it the same as another, how big is it, what changed.

Nothing here executes code. Everything that parses raises ``SyntaxError`` and nothing else for text that is no Python.
"""

from __future__ import annotations

import ast
import difflib
import hashlib
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from logician_graph.eoh.normal_form import normalised

MAX_CODE_CHARS = 60_000
"""Longer code is refused before it is parsed; a heuristic has a few thousand."""

Feature = Literal["lines", "nodes", "depth", "branches", "calls", "constants"]
"""What :class:`Measures` can say about a candidate, as an axis of a behaviour grid or plot."""


@dataclass(frozen=True, slots=True)
class Measures:
    """Sizes of a piece of code; comments, docstrings and annotations do not count."""

    lines: int
    """Lines of the code as Python itself would print it."""
    nodes: int
    """Nodes of the syntax tree without the marks for load, store and delete."""
    depth: int
    """How deep loops, conditions and functions are nested."""
    branches: int
    """Loops, conditions and conditional expressions."""
    calls: int
    constants: int
    """Numbers in the code: the parameters that M2 plays with."""

    def get(self, feature: Feature) -> int:
        """The measure of that name."""
        value: int = getattr(self, feature)
        return value


def parse_code(code: str) -> ast.Module:
    """The syntax tree. ``SyntaxError`` also for what Python reports otherwise: NUL characters, nesting without end."""
    if len(code) > MAX_CODE_CHARS:
        raise SyntaxError(f"the code has {len(code)} characters; at most {MAX_CODE_CHARS} are read")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(code)
        except (ValueError, RecursionError, MemoryError) as error:
            raise SyntaxError(f"the code cannot be read: {error}") from error


def code_key(code: str) -> str:
    """Equal for codes that differ only in layout, comments, docstrings, annotations or the names of local variables.

    SHA-256 of the normal form (see ``normal_form``), hexadecimal. Different keys do not mean different behaviour.
    """
    tree = parse_code(code)
    try:
        form = ast.dump(normalised(tree))
    except RecursionError:  # nested too deeply for a normal form: only the same text counts as the same
        form = code
    return hashlib.sha256(form.encode("utf-8", "surrogatepass")).hexdigest()


def behaviour_key(objective: float, per_instance: Sequence[float | None]) -> str:
    """Equal for candidates that behave the same as far as the scores can tell.

    The rule: the objective and every value per instance agree to nine significant digits. Two candidates with the same
    mean but other values per instance behave differently; noise in the last digits of a sum is no behaviour.
    """
    return "|".join("-" if value is None else f"{value + 0.0:.9g}" for value in (objective, *per_instance))


def measure(code: str) -> Measures:
    """The sizes of ``code``."""
    bare = parse_code(code)
    try:
        bare = normalised(bare)
        text = ast.unparse(bare)
    except RecursionError:
        text = code
    lines = len([line for line in text.splitlines() if line.strip()])
    nodes = [node for node in ast.walk(bare) if not isinstance(node, ast.expr_context | ast.Module)]
    return Measures(
        lines=lines,
        nodes=len(nodes),
        depth=max((depth for _, depth in _with_depth(bare)), default=0),
        branches=sum(isinstance(node, _BRANCHES) for node in nodes),
        calls=sum(isinstance(node, ast.Call) for node in nodes),
        constants=sum(isinstance(node, ast.Constant) and _is_number(node.value) for node in nodes),
    )


def unified_diff(parent: str, child: str, *, names: tuple[str, str] = ("parent", "child"), context: int = 3) -> str:
    """The change from ``parent`` to ``child`` as a unified diff; empty when they are the same text."""
    lines = difflib.unified_diff(
        parent.splitlines(), child.splitlines(), fromfile=names[0], tofile=names[1], n=context, lineterm=""
    )
    return "\n".join(lines)


_BRANCHES = (ast.If, ast.IfExp, ast.For, ast.While, ast.Match, ast.comprehension)
_NESTING = (ast.If, ast.For, ast.While, ast.With, ast.Try, ast.Match, ast.FunctionDef, ast.ClassDef, ast.Lambda)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | complex) and not isinstance(value, bool)


def _with_depth(tree: ast.AST) -> Iterator[tuple[ast.AST, int]]:
    stack: list[tuple[ast.AST, int]] = [(tree, 0)]
    while stack:
        node, depth = stack.pop()
        inner = depth + isinstance(node, _NESTING)
        yield node, inner
        stack.extend((child, inner) for child in ast.iter_child_nodes(node))
