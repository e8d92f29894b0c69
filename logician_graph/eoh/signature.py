"""Whether a function can be called as the problem calls it, and the small changes after which it can."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from logician_graph.eoh.code import parse_code
from logician_graph.eoh.source_edit import Edit, Source


@dataclass(frozen=True, slots=True)
class Signed:
    """The text with the arguments asked for, and what was changed."""

    text: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Why the arguments do not fit."""

    message: str


def accepts(args: ast.arguments, count: int) -> bool:
    """Whether a call with ``count`` arguments by position is possible."""
    positional = [*args.posonlyargs, *args.args]
    if any(default is None for default in args.kw_defaults):
        return False
    required = len(positional) - len(args.defaults)
    return required <= count and (count <= len(positional) or args.vararg is not None)


def with_signature(
    text: str, tree: ast.Module, function: ast.FunctionDef, arguments: Sequence[str]
) -> Signed | Mismatch:
    """``text`` in which ``function`` takes ``arguments`` in this order; more parameters need defaults.

    The right names in another order are put in order. Other names in the right number are kept inside the function by
    one assignment at its start; that is refused where it is not plain which argument is meant.
    """
    args = function.args
    wanted = list(arguments)
    have = [each.arg for each in (*args.posonlyargs, *args.args)]
    mismatch = Mismatch(f"the arguments must be ({', '.join(wanted)}), but the function takes ({_words(args)})")
    if not accepts(args, len(wanted)):
        return mismatch
    first = have[: len(wanted)]
    if first == wanted[: len(first)]:
        return Signed(text)
    if len(first) < len(wanted) or len(set(have)) < len(have):
        return mismatch
    edited = _reordered(text, args, wanted) if set(first) == set(wanted) else _renamed(text, tree, function, wanted)
    return edited or mismatch


def _reordered(text: str, args: ast.arguments, wanted: Sequence[str]) -> Signed | None:
    if len(args.posonlyargs) + len(args.args) - len(args.defaults) < len(wanted):
        return None  # a default would move to another argument
    source = Source(text)
    places = (*args.posonlyargs, *args.args)[: len(wanted)]
    texts = {each.arg: text[slice(*source.span(each))] for each in places}
    edits = [Edit(*source.span(each), texts[name]) for each, name in zip(places, wanted, strict=True)]
    return _checked(source.edited(edits), f"arguments put in the order ({', '.join(wanted)})")


def _renamed(text: str, tree: ast.Module, function: ast.FunctionDef, wanted: Sequence[str]) -> Signed | None:
    places = (*function.args.posonlyargs, *function.args.args)[: len(wanted)]
    pairs = [(each, name) for each, name in zip(places, wanted, strict=True) if each.arg != name]
    new = {name for _, name in pairs}
    taken = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    taken |= {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}
    if new & taken:
        return None
    source = Source(text)
    edits = [Edit((at := source.span(each)[0]), at + len(each.arg), name) for each, name in pairs]
    old_names, new_names = ", ".join(each.arg for each, _ in pairs), ", ".join(name for _, name in pairs)
    statement = f"{old_names} = {new_names}"
    edits.append(_as_first_statement(source, function, statement))
    return _checked(source.edited(edits), f"arguments renamed: {statement}")


def _as_first_statement(source: Source, function: ast.FunctionDef, statement: str) -> Edit:
    body = function.body
    has_docstring = ast.get_docstring(function, clean=False) is not None and len(body) > 1
    node = body[1] if has_docstring else body[0]
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    line = min([node.lineno, *(each.lineno for each in decorators)])
    start = source.line_start(line)
    indent = source.indent(line)
    if source.text[start : source.span(node)[0]].strip(" \t@"):  # other code stands before it on its line
        place = source.span(node)[0]
        return Edit(place, place, f"{statement}; ")
    return Edit(start, start, f"{indent}{statement}\n")


def _words(args: ast.arguments) -> str:
    """The parameters without annotations and defaults."""
    names = [each.arg for each in (*args.posonlyargs, *args.args)]
    names += [f"*{args.vararg.arg}"] if args.vararg else []
    names += [f"{each.arg}=" for each in args.kwonlyargs]
    return ", ".join(names)


def _checked(text: str, note: str) -> Signed | None:
    try:
        parse_code(text)
    except SyntaxError:
        return None
    return Signed(text, (note,))
