"""The normal form of a syntax tree: what is left when everything that cannot change the behaviour is taken away.

Docstrings, bare constants, annotations and needless ``pass`` go. Local variables, parameters, inner functions and
comprehension variables get numbers in order of appearance. Names that one import binds become the path they stand for,
and these imports go, so ``import numpy as np`` at the top and ``import numpy`` inside the function are the same.
Names at module level stay, because the caller knows the function by its name; so do parameters that some call names by
keyword. Code that looks at its own names (``locals``, ``eval`` …) keeps all of them. No constant folding.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

Function = ast.FunctionDef | ast.AsyncFunctionDef
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_SCOPES = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef
_REFLECTION = frozenset({"locals", "globals", "vars", "dir", "eval", "exec", "compile"})


def normalised(tree: ast.Module) -> ast.Module:
    """``tree`` in normal form; the tree is changed and handed back."""
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    keywords = {node.arg for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg}
    globals_ = {name for node in ast.walk(tree) if isinstance(node, ast.Global) for name in node.names}
    _Normaliser(keywords, globals_, rename=not names & _REFLECTION).module(tree)
    return tree


@dataclass(frozen=True, slots=True)
class _Scope:
    names: dict[str, str]
    is_class: bool = False


class _Normaliser(ast.NodeTransformer):
    def __init__(self, keywords: set[str], declared_global: set[str], *, rename: bool) -> None:
        self._keywords = keywords
        self._global = declared_global
        self._rename = rename
        self._scopes: list[_Scope] = []
        self._count = 0

    def module(self, tree: ast.Module) -> None:
        imported = {name: path for name, path in _single_imports(tree.body).items() if name not in self._global}
        self._scopes = [_Scope({name: f"@{path}" for name, path in imported.items()} if self._rename else {})]
        self.generic_visit(tree)
        tree.body = _slim(tree.body, imported if self._rename else {}, may_be_empty=True)

    # names

    def _name(self, name: str) -> str:
        for depth, scope in enumerate(reversed(self._scopes)):
            if name in scope.names and (depth == 0 or not scope.is_class):
                return scope.names[name]
        return name

    def _fresh(self) -> str:
        self._count += 1
        return f"<{self._count}>"

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self._name(node.id)
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.arg, node.annotation = self._name(node.arg), None
        return node

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        node.name = self._name(node.name) if node.name else None
        self.generic_visit(node)
        node.body = _slim(node.body)
        return node

    def visit_MatchAs(self, node: ast.MatchAs) -> ast.AST:
        node.name = self._name(node.name) if node.name else None
        return self.generic_visit(node)

    def visit_MatchStar(self, node: ast.MatchStar) -> ast.AST:
        node.name = self._name(node.name) if node.name else None
        return node

    def visit_MatchMapping(self, node: ast.MatchMapping) -> ast.AST:
        node.rest = self._name(node.rest) if node.rest else None
        return self.generic_visit(node)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> ast.AST:
        node.names = [self._name(name) for name in node.names]
        return node

    def visit_alias(self, node: ast.alias) -> ast.AST:
        bound = node.asname or node.name.partition(".")[0]
        node.asname = None if (new := self._name(bound)) == bound and not node.asname else new
        return node

    # scopes

    def _function(self, node: Function) -> ast.AST:
        node.name = self._name(node.name)
        node.decorator_list = [self.visit(each) for each in node.decorator_list]
        node.returns = node.type_comment = None
        imported = _single_imports(node.body, {each.arg for each in _parameters(node.args)}) if self._rename else {}
        own = [each for statement in node.body for each in _own(statement)]
        outside = [name for each in own if isinstance(each, ast.Global) for name in each.names]
        self._enter(node.args, _bound(node.body), imported, outside)
        node.body = [self.visit(each) for each in node.body]
        self._scopes.pop()
        node.body = _slim(node.body, imported)
        return node

    def _enter(
        self,
        args: ast.arguments,
        bound: Iterable[str] = (),
        imported: Mapping[str, str] = MappingProxyType({}),
        declared_global: Iterable[str] = (),
    ) -> None:
        """Visits the defaults outside and the parameters inside the new scope."""
        args.defaults = [self.visit(each) for each in args.defaults]
        args.kw_defaults = [self.visit(each) if each else None for each in args.kw_defaults]
        names: dict[str, str] = {}
        if self._rename:
            for each in _parameters(args):
                names[each.arg] = each.arg if each.arg in self._keywords else self._fresh()
            names.update({name: f"@{path}" for name, path in imported.items()})
            for name in bound:
                if name not in names:
                    names[name] = self._fresh()
            names.update({name: name for name in declared_global})
        self._scopes.append(_Scope(names))
        for each in _parameters(args):
            self.visit(each)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._function(node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        self._enter(node.args)
        node.body = self.visit(node.body)
        self._scopes.pop()
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.name = self._name(node.name)
        node.decorator_list = [self.visit(each) for each in node.decorator_list]
        node.bases = [self.visit(each) for each in node.bases]
        node.keywords = [self.visit(each) for each in node.keywords]
        self._scopes.append(_Scope({name: name for name in _bound(node.body)}, is_class=True))
        node.body = [self.visit(each) for each in node.body]
        self._scopes.pop()
        node.body = _slim(node.body)
        return node

    def _comprehension(self, node: Comprehension) -> ast.AST:
        first = node.generators[0]
        first_iterable = self.visit(first.iter)
        names: dict[str, str] = {}
        for generator in node.generators:
            for each in ast.walk(generator.target):
                if self._rename and isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
                    names.setdefault(each.id, self._fresh())
        self._scopes.append(_Scope(names))
        first.iter = ast.Constant(None)
        self.generic_visit(node)
        first.iter = first_iterable
        self._scopes.pop()
        return node

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:
        return self._comprehension(node)

    def visit_SetComp(self, node: ast.SetComp) -> ast.AST:
        return self._comprehension(node)

    def visit_DictComp(self, node: ast.DictComp) -> ast.AST:
        return self._comprehension(node)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.AST:
        return self._comprehension(node)

    # what goes

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is None:
            return ast.Pass()
        return ast.Assign(targets=[self.visit(node.target)], value=self.visit(node.value), lineno=node.lineno)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        node.kind = None
        return node

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if isinstance(node, ast.If | ast.For | ast.AsyncFor | ast.While | ast.With | ast.AsyncWith | ast.Try):
            node.body = _slim(node.body)
        if isinstance(node, ast.If | ast.For | ast.AsyncFor | ast.While | ast.Try):
            node.orelse = _slim(node.orelse, may_be_empty=True)
        return node


def _slim(body: list[ast.stmt], imported: Iterable[str] = (), *, may_be_empty: bool = False) -> list[ast.stmt]:
    """``body`` without statements that do nothing and without the imports of these names."""
    paths = set(imported)
    kept = [
        each
        for each in body
        if not isinstance(each, ast.Pass)
        and not (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))
        and not (paths and _imports_only(each, paths))
    ]
    return kept if kept or may_be_empty else [ast.Pass()]


def _imports_only(node: ast.stmt, names: set[str]) -> bool:
    """Whether the statement (visited already: its aliases hold paths) imports nothing but single imports."""
    if not isinstance(node, ast.Import | ast.ImportFrom):
        return False
    return all((alias.asname or "").startswith("@") for alias in node.names)


def _single_imports(body: list[ast.stmt], parameters: set[str] | None = None) -> dict[str, str]:
    """The names of a scope that one path is imported under and nothing else bound, with that path."""
    paths: dict[str, set[str]] = {}
    others: Counter[str] = Counter(_bound(body))
    for node in body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                paths.setdefault(name, set()).add(alias.name if alias.asname else name)
                others[name] -= 1
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            for alias in node.names:
                if alias.name != "*":
                    paths.setdefault(alias.asname or alias.name, set()).add(f"{node.module}.{alias.name}")
                    others[alias.asname or alias.name] -= 1
    return {
        name: next(iter(found))
        for name, found in paths.items()
        if len(found) == 1 and others[name] == 0 and name not in (parameters or ())
    }


def _parameters(args: ast.arguments) -> list[ast.arg]:
    rest = [each for each in (args.vararg, args.kwarg) if each]
    return [*args.posonlyargs, *args.args, *args.kwonlyargs, *rest]


def _bound(body: Iterable[ast.stmt]) -> list[str]:
    """The names that statements bind in their own scope, in order of appearance, with repetitions."""
    elsewhere: set[str] = set()
    names: list[str] = []
    for statement in body:
        for node in _own(statement):
            if isinstance(node, ast.Global | ast.Nonlocal):
                elsewhere.update(node.names)
            else:
                names.extend(_binds(node))
    return [name for name in names if name not in elsewhere]


def _own(node: ast.AST, *, inside_comprehension: bool = False) -> Iterator[ast.AST]:
    """The nodes of one scope in source order: no bodies of inner scopes; of comprehensions only what leaks out."""
    if not inside_comprehension or isinstance(node, ast.NamedExpr):
        yield node
    if isinstance(node, _SCOPES):
        return
    inner = inside_comprehension or isinstance(node, Comprehension)
    for child in ast.iter_child_nodes(node):
        leaks = isinstance(node, ast.NamedExpr) and child is node.target
        yield from _own(child, inside_comprehension=inner and not leaks)


def _binds(node: ast.AST) -> list[str]:
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            return [name]
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            return [name]
        case ast.MatchMapping(rest=str(name)):
            return [name]
        case ast.Import() | ast.ImportFrom():
            return [alias.asname or alias.name.partition(".")[0] for alias in node.names]
        case _:
            return []
