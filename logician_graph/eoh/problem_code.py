"""``evaluate.py``: the functions of a problem, checked before they run, with defaults for those it leaves out.

The file is the person's own code and runs unconfined. What the model writes never runs here: a candidate reaches a
problem only as the ``heuristic`` handed to ``solve``.
"""

from __future__ import annotations

import ast
import math
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from logician_graph.errors import UsageError

ARGUMENTS: dict[str, tuple[str, ...]] = {
    "load": ("raw",),
    "visible": ("instance",),
    "solve": ("heuristic", "visible"),
    "measure": ("solution", "instance"),
    "objective": ("values", "instances"),
    "partial_bound": ("values_so_far", "instances"),
    "calls": ("visible",),
    "evaluate": ("heuristic", "instance"),
}
"""The functions that ``evaluate.py`` may define. What they are called inside is free, their number is not."""


@dataclass(frozen=True, slots=True)
class ProblemCode:
    """The functions of one problem."""

    load: Callable[[Any], list[Any]]
    """From parsed JSON, or the text of any other file, to instances. Raises ValueError with what was expected."""
    visible: Callable[[Any], Any]
    """What the candidate's process may hold of an instance."""
    solve: Callable[[Callable[..., Any], Any], Any]
    """Calls the heuristic as often as it likes; gives plain data."""
    measure: Callable[[Any, Any], float]
    """The cost of a solution, found outside the candidate's process. Raises ValueError where it is not feasible."""
    objective: Callable[[list[float], list[Any]], float]
    """From one value per instance to the number that selection compares."""
    partial_bound: Callable[[list[float], list[Any]], float] | None
    """From the values of the first instances to a bound that the objective cannot improve past."""
    calls: Callable[[Any], int] | None
    """How often ``solve`` calls the heuristic on an instance, where that does not depend on the heuristic: one that
    hangs is then found out before its whole limit is spent."""
    strict: bool
    """Whether scores are computed where the candidate cannot reach. False with a plain ``evaluate``."""


def check_code(path: Path) -> None:
    """Parses ``evaluate.py`` without running it. Raises UsageError with file and line."""
    defined = defined_functions(path)
    for name, arguments in ARGUMENTS.items():
        if (node := defined.get(name)) is not None and not accepts(node, len(arguments)):
            raise UsageError(f"{path}, line {node.lineno}: {name}({', '.join(arguments)}) takes {len(arguments)} "
                             f"argument{'s' if len(arguments) > 1 else ''}")  # fmt: skip
    if "evaluate" not in defined and not {"solve", "measure"} <= defined.keys():
        raise UsageError(f"{path}: define solve(heuristic, visible) and measure(solution, instance), "
                         "or just evaluate(heuristic, instance)")  # fmt: skip
    if "evaluate" in defined and (clash := {"solve", "measure", "visible"} & defined.keys()):
        name = min(clash)
        raise UsageError(f"{path}, line {defined[name].lineno}: {name} beside evaluate: define one way or the other")


def defined_functions(path: Path) -> dict[str, ast.FunctionDef]:
    """The functions on the outermost level of a Python file. Raises UsageError with file and line."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    except SyntaxError as error:
        raise UsageError(f"{path}, line {error.lineno or 1}: not Python: {error.msg}") from None
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


def accepts(node: ast.FunctionDef, count: int) -> bool:
    """Whether the function can be called with ``count`` positional arguments."""
    positional = len(node.args.posonlyargs) + len(node.args.args)
    required = positional - len(node.args.defaults)
    bare = [default for default in node.args.kw_defaults if default is None]
    return not bare and required <= count and (count <= positional or node.args.vararg is not None)


def run_file(path: Path, name: str) -> ModuleType:
    """Runs a trusted Python file as a module of its own, leaving no byte code. Raises UsageError with the line."""
    module = ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module  # dataclasses look their module up
    try:
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), module.__dict__)  # noqa: S102
    except Exception as error:
        raise UsageError(f"{blame(error, path)}: {type(error).__name__}: {error}") from error
    return module


def blame(error: BaseException, path: Path) -> str:
    """``path, line n`` of the innermost frame of the file that an error went through."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    return f"{path}, line {lines[-1]}" if lines else str(path)


def load_code(path: Path) -> ProblemCode:
    """The functions of ``evaluate.py``. Raises UsageError where it is not usable."""
    check_code(path)
    names = vars(run_file(path, f"logician_problem_{path.parent.name}"))
    evaluate = names.get("evaluate")
    return ProblemCode(
        load=names.get("load", _plain_instances),
        visible=names.get("visible", _everything),
        solve=names["solve"] if evaluate is None else evaluate,
        measure=names["measure"] if evaluate is None else _own_word,
        objective=names.get("objective", _mean),
        partial_bound=names.get("partial_bound"),
        calls=names.get("calls"),
        strict=evaluate is None,
    )


def _plain_instances(raw: Any) -> list[Any]:
    instances: Any = cast("dict[str, Any]", raw).get("instances") if isinstance(raw, dict) else None
    if isinstance(instances, list):
        return cast("list[Any]", instances)
    raise ValueError("expected a JSON object with a list under 'instances'")


def _everything(instance: Any) -> Any:
    return instance


def _own_word(solution: Any, _instance: Any) -> float:
    """The number that ``evaluate`` gave. A bool is none: ``True`` must not count as a score of 1."""
    try:
        value = math.nan if isinstance(solution, bool) else float(solution)
    except (TypeError, ValueError):
        raise ValueError(f"evaluate gave {type(solution).__name__}, a number was expected") from None
    if not math.isfinite(value):
        raise ValueError(f"evaluate gave {solution!r}, a finite number was expected")
    return value


def _mean(values: Sequence[float], _instances: Sequence[Any]) -> float:
    return math.fsum(values) / len(values)
