"""A module as its top-level statements, with the names that each of them binds and needs."""

from __future__ import annotations

import ast
import builtins
import symtable
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from logician_graph.eoh.source_edit import Source

BUILTINS = frozenset(dir(builtins))


@dataclass(frozen=True, slots=True)
class Part:
    """One top-level statement with its comments on the last line and its decorators."""

    text: str
    node: ast.stmt
    binds: frozenset[str]
    """Names that it sets, and those of objects that it fills or calls a method of (``table[i] = …``)."""
    uses: frozenset[str]
    """Names of the module that it reads, now or when a function in it is called."""

    @property
    def is_import(self) -> bool:
        """Whether it only imports."""
        return isinstance(self.node, ast.Import | ast.ImportFrom)


def parts_of(text: str, tree: ast.Module) -> list[Part]:
    """The parts of ``text``. ``SyntaxError`` for what parses but cannot be a scope (``nonlocal`` at the top)."""
    source = Source(text)
    return [_part(source, tree.body, index) for index in range(len(tree.body))]


def needed(main: Part, parts: Iterable[Part], name: str) -> list[Part]:
    """``main`` and the parts that it needs, directly or not, in the given order; ``main`` alone binds ``name``."""
    others = [part for part in parts if part is not main and _may_belong(part, name)]
    chosen = [main]
    wanted = set(main.uses)
    while True:
        more = [part for part in others if part.binds & wanted and not any(part is each for each in chosen)]
        if not more:
            break
        chosen += more
        wanted |= {used for part in more for used in part.uses}
    order = {id(part): index for index, part in enumerate(parts)}
    return sorted(chosen, key=lambda part: order[id(part)])


def missing_names(parts: Sequence[Part]) -> list[str]:
    """The names that ``parts`` read and neither they nor Python itself define, sorted."""
    bound = {name for part in parts for name in part.binds}
    return sorted({name for part in parts for name in part.uses} - bound - BUILTINS)


def joined(parts: Sequence[Part], *, first: Sequence[str] = ()) -> str:
    """One text: the lines ``first`` and the imports, then everything else in order, a blank line between."""
    imports = [*first, *(part.text for part in parts if part.is_import)]
    rest = [part.text for part in parts if not part.is_import]
    return "\n\n".join([*(["\n".join(imports)] if imports else []), *rest]) + "\n"


def _may_belong(part: Part, name: str) -> bool:
    """Not a second binding of the function's own name, and no call that tries the function out."""
    if name in part.binds:
        return False
    tries_it = name in part.uses and not isinstance(part.node, ast.FunctionDef | ast.ClassDef | ast.Assign)
    return not tries_it


def _part(source: Source, body: list[ast.stmt], index: int) -> Part:
    node = body[index]
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(each.lineno for each in decorators)])
    last = node.end_lineno or node.lineno
    shares_line = any(
        other is not node and other.lineno <= last and (other.end_lineno or other.lineno) >= first for other in body
    )
    if shares_line:
        start, end = source.span(node)
    else:
        start, end = source.line_start(first), source.line_start(last + 1)
    text = source.text[start:end].strip("\n").rstrip().removesuffix(";")
    binds, uses = _names(text)
    return Part(text, node, binds | _filled(node), uses)


def _names(text: str) -> tuple[frozenset[str], frozenset[str]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            top = symtable.symtable(text, "<candidate>", "exec")
        except (ValueError, RecursionError, MemoryError) as error:
            raise SyntaxError(str(error)) from error
    binds = {symbol.get_name() for symbol in top.get_symbols() if symbol.is_assigned() or symbol.is_imported()}
    uses = {symbol.get_name() for symbol in top.get_symbols() if symbol.is_referenced()}
    stack = list(top.get_children())
    while stack:
        table = stack.pop()
        stack.extend(table.get_children())
        for symbol in table.get_symbols():
            if symbol.is_global():
                uses.add(symbol.get_name())
                if symbol.is_assigned():
                    binds.add(symbol.get_name())
    return frozenset(binds), frozenset(uses)


def _filled(node: ast.stmt) -> frozenset[str]:
    """Names of objects that a statement outside any function changes in place."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return frozenset()
    names: set[str] = set()
    for each in ast.walk(node):
        target: ast.expr | None = None
        if isinstance(each, ast.Subscript | ast.Attribute) and isinstance(each.ctx, ast.Store | ast.Del):
            target = each.value
        elif isinstance(each, ast.Expr) and isinstance(each.value, ast.Call):
            target = each.value.func.value if isinstance(each.value.func, ast.Attribute) else None
        while isinstance(target, ast.Subscript | ast.Attribute):
            target = target.value
        if isinstance(target, ast.Name):
            names.add(target.id)
    return frozenset(names)
