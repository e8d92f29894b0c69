"""What a candidate's text may hold. Refused here means: the code never runs, and the model is told why.

First of three walls (then: allow-lists of names in :mod:`.namespaces`, then the kernel), and the one with the best
messages. It looks at the syntax tree only. The idea: without underscores in attributes, without the few public
attributes that lead to frames, code objects or raw memory, and without classes, nothing reachable from the handed-in
names leads out of them. Strings that become attribute accesses are closed too: ``str.format``, ``getattr``,
``operator.attrgetter`` cannot be had.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping

_REFUSED_PREFIXES = ("_", "gi_", "cr_", "ag_", "tb_", "co_", "f_", "func_")
"""Beside all private names: frames and code of generators, coroutines, tracebacks and functions."""
_REFUSED_ATTRIBUTES = frozenset({
    # Attribute access by string, the object behind a failed one, and ways to types and tracebacks.
    *("format", "format_map", "obj", "mro", "with_traceback"),
    # ndarray: files, raw memory, and changing what a view may do.
    *("tofile", "dump", "dumps", "ctypes", "data", "base", "flags", "setflags", "strides", "getfield", "setfield"),
    *("resize", "metadata"),
    # Random generators: the state's address, which could outlive it.
    *("capsule", "cffi"),
})  # fmt: skip
_REFUSED_SYNTAX: Mapping[type[ast.AST], str] = {
    ast.ClassDef: "classes",
    ast.AsyncFunctionDef: "async functions",
    ast.AsyncFor: "async loops",
    ast.AsyncWith: "async with",
    ast.Await: "await",
}
_READABLE_DUNDERS = frozenset({"__name__"})
_ALWAYS_IMPORTABLE = frozenset({"__future__", "typing"})


def objection(tree: ast.AST, modules: Mapping[str, Collection[str]], imports: Collection[str]) -> str | None:
    """Why this code is refused, with the line; None when it may run.

    ``modules``: the names that can be imported from each module that is offered at all. ``imports``: the top-level
    modules that the problem allows.
    """
    for node in ast.walk(tree):
        for problem in _problems(node, modules, imports):
            line = getattr(node, "lineno", None)
            return problem if line is None else f"line {line}: {problem}"
    return None


def _problems(node: ast.AST, modules: Mapping[str, Collection[str]], imports: Collection[str]) -> Iterator[str]:
    if (what := _REFUSED_SYNTAX.get(type(node))) is not None or type(node).__name__ in {"TypeAlias", "TemplateStr"}:
        yield f"{what or 'this syntax'} cannot be used in a candidate"
    for name in _attributes(node):
        if name in _REFUSED_ATTRIBUTES or name.startswith(_REFUSED_PREFIXES):
            yield f"the attribute {name[:80]!r} cannot be used in a candidate"
    for name in _names(node):
        if name.startswith("__") and name.strip("_") and name not in _READABLE_DUNDERS:
            yield f"the name {name[:80]!r} cannot be used in a candidate"
    if isinstance(node, ast.comprehension) and node.is_async:
        yield "async comprehensions cannot be used in a candidate"
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield from _import_problems(node, modules, imports)


def _attributes(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Attribute):
        yield node.attr
    elif isinstance(node, ast.MatchClass):
        yield from node.kwd_attrs


def _names(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name) | ast.FunctionDef(name=name) | ast.arg(arg=name):
            yield name
        case ast.Global(names=names) | ast.Nonlocal(names=names):
            yield from names
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            yield name
        case ast.MatchMapping(rest=str(name)) | ast.keyword(arg=str(name)) | ast.alias(asname=str(name)):
            yield name
        case _:
            return


def _import_problems(
    node: ast.Import | ast.ImportFrom, modules: Mapping[str, Collection[str]], imports: Collection[str]
) -> Iterator[str]:
    wanted = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
    for module in wanted:
        top = module.partition(".")[0]
        if (isinstance(node, ast.ImportFrom) and node.level) or (top not in imports and top not in _ALWAYS_IMPORTABLE):
            yield f"import of {module[:80]!r} is not allowed, only {', '.join(sorted(imports)) or 'nothing'}"
        elif module not in modules and module != "__future__":
            yield f"{module[:80]!r} cannot be imported in a candidate"
        elif isinstance(node, ast.ImportFrom) and module != "__future__":
            for alias in node.names:
                if alias.name not in modules[module]:
                    yield f"{alias.name[:80]!r} cannot be imported from {module} in a candidate"
