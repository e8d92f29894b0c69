"""A problem is a folder: ``problem.toml``, ``evaluate.py``, instances and baselines. This is the door to it.

Every complaint about a folder or an instance file is a UsageError that names the file and, where there is one, the
line, the key or the instance. Nothing here confines anything: ``evaluate_here`` is for baselines and tests; what a
model wrote goes through the evaluator.

A baseline is a candidate file that defines the problem's function, measured as a candidate is. Where the known method
is no such function (Gupta's flow-shop rule, farthest insertion) it is written ``file.py:name`` in ``problem.toml``: a
whole algorithm ``name(visible) -> solution`` that takes the place of ``solve`` and whose solution goes through the same
``measure``.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NoReturn, cast

from logician_graph.eoh.problem_code import (
    ProblemCode,
    accepts,
    blame,
    check_code,
    defined_functions,
    load_code,
    run_file,
)
from logician_graph.eoh.problem_file import (
    ID,
    NAME,
    Complaints,
    InstanceSet,
    Limits,
    ProblemFile,
    Signature,
    read_problem_file,
    read_signature,
)
from logician_graph.errors import Conflict, NotFound, UsageError

HERE = Path(__file__).resolve().parent
BUNDLED = HERE / "problems"
STARTER = HERE / "starter"
TRAIN = "train"


@dataclass(frozen=True, slots=True)
class Baseline:
    """A known method to stand beside what evolves."""

    name: str
    path: Path
    algorithm: str | None
    """The function of a whole algorithm in ``path``; None: the file is a candidate."""


@dataclass(frozen=True)
class Problem:
    """A checked problem folder. Its ``evaluate.py`` has been parsed; it runs when ``code`` is first asked for."""

    folder: Path
    id: str
    title: str
    direction: Literal["min", "max"]
    signature: Signature
    returns: str
    description: str
    limits: Limits
    sets: Mapping[str, InstanceSet]
    """By name; ``train`` first, then the held-out ones as they stand in the file."""
    baselines: Mapping[str, Baseline]
    imports: tuple[str, ...]
    citation: str
    seed: str | None
    """Source of the heuristic to start from."""

    @property
    def held_out(self) -> tuple[str, ...]:
        """Names of the sets that are reported and never selected on."""
        return tuple(name for name in self.sets if name != TRAIN)

    @property
    def evaluate_file(self) -> Path:
        """Where the problem's functions stand."""
        return self.folder / "evaluate.py"

    @cached_property
    def code(self) -> ProblemCode:
        """The functions of ``evaluate.py``; runs that file. Raises UsageError."""
        return load_code(self.evaluate_file)

    def instances(self, name: str = TRAIN) -> list[Any]:
        """The instances of a set, fresh from its files. Raises NotFound, UsageError."""
        if (chosen := self.sets.get(name)) is None:
            raise NotFound(f"{self.id} has no set of instances {name!r}; it has {', '.join(map(repr, self.sets))}")
        return [
            instance
            for file in chosen.files
            for instance in self.load_instances(self.folder / file, overrides=chosen.overrides)
        ]

    def load_instances(self, path: Path, *, overrides: Mapping[str, Any] | None = None) -> list[Any]:
        """The instances of any file of this problem's shape. Raises UsageError saying what was expected and where."""
        raw = _read(path)
        if overrides:
            if not isinstance(raw, dict):
                raise UsageError(f"{path}: {', '.join(overrides)} can only be laid over a JSON object")
            raw = {**cast("dict[str, Any]", raw), **overrides}
        try:
            found = self.code.load(raw)
        except ValueError as error:
            raise UsageError(f"{path}: {error}") from error
        except Exception as error:
            where = blame(error, self.evaluate_file)
            raise UsageError(f"{path}: load failed at {where}: {type(error).__name__}: {error}") from error
        if not found:
            raise UsageError(f"{path}: holds no instances")
        return found

    def baseline_solver(self, name: str) -> Callable[[Any], Any]:
        """A baseline as ``visible -> solution``. Raises NotFound, UsageError."""
        if (baseline := self.baselines.get(name)) is None:
            raise NotFound(f"{self.id} has no baseline {name!r}; it has {', '.join(map(repr, self.baselines))}")
        if baseline.algorithm is not None:
            return getattr(run_file(baseline.path, _module(self, baseline.path)), baseline.algorithm)
        heuristic = load_function(self, baseline.path)
        return lambda visible: self.code.solve(heuristic, visible)


def load_problem(folder: Path) -> Problem:
    """The problem in ``folder``, checked but for what stands in its instances. Raises UsageError with file and line."""
    folder = folder.resolve()
    file, complaints = read_problem_file(folder)
    try:
        signature = read_signature(file.function)
    except ValueError as error:
        raise complaints.at(("function",), str(error)) from None
    if not (folder / "evaluate.py").is_file():
        raise UsageError(f"{folder} holds no evaluate.py")
    check_code(folder / "evaluate.py")
    sets = {TRAIN: file.instances.train, **file.instances.held_out}
    for name, chosen in sets.items():
        key = ("instances", TRAIN) if name == TRAIN else ("instances", "held_out", name)
        for entry in chosen.files:
            _inside(folder, entry, complaints, key)
    return Problem(
        folder=folder,
        id=file.id,
        title=file.title,
        direction=file.direction,
        signature=signature,
        returns=file.returns,
        description=file.description.strip(),
        limits=file.limits,
        sets=sets,
        baselines=_baselines(folder, file, signature, complaints),
        imports=tuple(file.imports),
        citation=file.citation,
        seed=_seed(folder, file, signature, complaints),
    )


def bundled_problems() -> list[Problem]:
    """The problems that come with Logician, by id."""
    return [load_problem(path.parent) for path in sorted(BUNDLED.glob(f"*/{NAME}"))]


def own_problems(home: Path) -> tuple[list[Problem], dict[str, str]]:
    """The usable problems in ``home``, and for each other folder with a problem file what is wrong with it."""
    usable: list[Problem] = []
    broken: dict[str, str] = {}
    for path in sorted(home.glob(f"*/{NAME}")):
        try:
            usable.append(load_problem(path.parent))
        except UsageError as error:
            broken[path.parent.name] = str(error)
    return usable, broken


def find_problem(name: str, *, home: Path | None = None) -> Problem:
    """A problem by the path of its folder, or by id: one in ``home`` goes before a bundled one. Raises UsageError."""
    if ID.fullmatch(name) is not None:
        for place in (home, BUNDLED):
            if place is not None and (place / name / NAME).is_file():
                return load_problem(place / name)
    folder = Path(name).expanduser()
    if folder.is_dir():
        return load_problem(folder)
    known = ", ".join(sorted(path.parent.name for path in BUNDLED.glob(f"*/{NAME}")))
    raise NotFound(f"no problem {name!r}: give the path of a problem folder or one of {known}")


def template(name: str, folder: Path) -> Path:
    """Writes a commented problem to begin with to ``folder/name``; gives that path. Raises UsageError, Conflict."""
    if ID.fullmatch(name) is None:
        raise UsageError(f"problem name {name!r} must be lower-case letters, digits and underscores, a letter first")
    target = folder / name
    if target.exists():
        raise Conflict(f"{target} exists already")
    try:
        shutil.copytree(STARTER, target, ignore=shutil.ignore_patterns("__pycache__"))
        written = target / NAME
        text = written.read_text(encoding="utf-8").replace('id = "starter"', f'id = "{name}"')
        written.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{target} cannot be written: {error}") from error
    return target


def load_function(problem: Problem, path: Path) -> Callable[..., Any]:
    """The problem's function out of a trusted candidate file, run in this process. Raises UsageError."""
    _candidate(path, problem.signature)
    return getattr(run_file(path, _module(problem, path)), problem.signature.name)


def evaluate_here(
    problem: Problem, function: Callable[..., Any], set_name: str = TRAIN
) -> tuple[float, tuple[float, ...]]:
    """Objective and values per instance of a trusted function, in this process and without limits.

    Raises what the function raises, and ValueError where a solution is not feasible.
    """
    code = problem.code
    return measure_here(problem, lambda visible: code.solve(function, visible), problem.instances(set_name))


def evaluate_baseline(problem: Problem, name: str, set_name: str = TRAIN) -> tuple[float, tuple[float, ...]]:
    """The same for one of the problem's baselines."""
    return measure_here(problem, problem.baseline_solver(name), problem.instances(set_name))


def measure_here(
    problem: Problem, solver: Callable[[Any], Any], instances: Sequence[Any]
) -> tuple[float, tuple[float, ...]]:
    """Objective and values of ``visible -> solution`` on loaded instances."""
    code = problem.code
    values = [float(code.measure(solver(code.visible(instance)), instance)) for instance in instances]
    return float(code.objective(values, list(instances))), tuple(values)


def _read(path: Path) -> Any:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    if path.suffix != ".json" and not text.lstrip().startswith(("{", "[")):
        return text
    try:
        return json.loads(text, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise UsageError(f"{path}, line {error.lineno}: not JSON: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: not usable JSON: {error}") from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _module(problem: Problem, path: Path) -> str:
    return f"logician_problem_{problem.id}_{path.stem}"


def _inside(folder: Path, entry: str, complaints: Complaints, key: tuple[str, ...]) -> Path:
    path = (folder / entry).resolve()
    if not path.is_relative_to(folder):
        raise complaints.at(key, f"{entry!r} lies outside the problem's folder")
    if not path.is_file():
        raise complaints.at(key, f"there is no file {entry!r}")
    return path


def _candidate(path: Path, signature: Signature) -> None:
    node = defined_functions(path).get(signature.name)
    if node is None:
        raise UsageError(f"{path}: defines no function {signature.text}")
    if not accepts(node, len(signature.arguments)):
        raise UsageError(f"{path}, line {node.lineno}: {signature.text} was expected")


def _baselines(folder: Path, file: ProblemFile, signature: Signature, complaints: Complaints) -> dict[str, Baseline]:
    found: dict[str, Baseline] = {}
    for name, entry in file.baselines.items():
        key = ("baselines", name)
        where, _, algorithm = entry.partition(":")
        path = _inside(folder, where, complaints, key)
        if not algorithm:
            _candidate(path, signature)
        elif (node := defined_functions(path).get(algorithm)) is None or not accepts(node, 1):
            raise complaints.at(key, f"{where} defines no function {algorithm}(visible)")
        found[name] = Baseline(name, path, algorithm or None)
    return found


def _seed(folder: Path, file: ProblemFile, signature: Signature, complaints: Complaints) -> str | None:
    if not file.seed:
        return None
    path = _inside(folder, file.seed, complaints, ("seed",))
    _candidate(path, signature)
    return path.read_text(encoding="utf-8")
