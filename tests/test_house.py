"""The laws of the house that a linter does not know: doors between rooms, sizes, names, dependencies, documents."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from logician_graph import __version__
from logician_graph.settings import Settings, variable

ROOT = Path(__file__).resolve().parents[1]
CODE = ("logician_graph", "storage", "pages")
PACKED = (*CODE, "static", ".streamlit")
ROOMS = ("commands", "gateway", "inference", "orchestrator", "sandbox", "tools")
LONGEST = 400
LONGER: dict[str, str] = {
    "logician_graph/engine.py": "the one file that knows every service",
    "storage/run_ledger.py": "every write of a run in one transaction each",
}
"""Files past the limit, each with its reason. Never past 600."""
INSIDE: dict[tuple[str, str], str] = {
    ("logician_graph/cli.py", "logician_graph.commands"): "parses for the commands and loads one of them",
    ("logician_graph/engine.py", "logician_graph.orchestrator"): "loads the graph behind the server's start",
    ("logician_graph/eoh/evaluator/worker/confine.py", "logician_graph.sandbox"): "candidates hold no more than it",
    ("logician_graph/eoh/evaluator/worker/nursery.py", "logician_graph.sandbox"): "candidates hold no more than it",
    ("logician_graph/eoh/evaluator/worker/syscalls.py", "logician_graph.sandbox"): "candidates hold no more than it",
}
"""Who may reach past a room's front door, and why."""


def _files(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _imports(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.lineno, node.module
        elif isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)


def test_every_room_is_entered_by_its_front_door() -> None:
    wrong: list[str] = []
    for path in [*_files(*CODE), ROOT / "app.py"]:
        for line, module in _imports(path):
            parts = module.split(".")
            inside_room = len(parts) > 2 and parts[0] == "logician_graph" and parts[1] in ROOMS
            inside_storage = len(parts) > 1 and parts[0] == "storage"
            if not (inside_room or inside_storage):
                continue
            room = ".".join(parts[:2]) if inside_room else "storage"
            at_home = _name(path).startswith(room.replace(".", "/") + "/")
            if not at_home and (_name(path), room) not in INSIDE:
                wrong.append(f"{_name(path)}:{line} imports {module}")
    assert wrong == []


@pytest.mark.parametrize("room", [*(f"logician_graph.{room}" for room in ROOMS), "storage"])
def test_what_a_room_offers_exists_and_is_sorted(room: str) -> None:
    module = importlib.import_module(room)
    offered: list[str] = module.__all__
    assert offered == sorted(offered, key=_as_ruff_sorts)
    assert len(offered) == len(set(offered))
    for name in offered:
        assert hasattr(module, name), name


def _as_ruff_sorts(name: str) -> tuple[int, str]:
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)


def test_files_are_short() -> None:
    lengths = {_name(path): len(path.read_text(encoding="utf-8").splitlines()) for path in _files(*CODE)}
    too_long = {name: length for name, length in lengths.items() if length > LONGEST and name not in LONGER}
    assert too_long == {}
    for name in LONGER:
        assert LONGEST < lengths[name] <= 600, f"{name} has {lengths[name]} lines"


def test_nothing_is_put_off_or_named_without_meaning() -> None:
    unfinished = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
    vague = {"manager", "managers", "helper", "helpers", "util", "utils", "misc", "common"}
    wrong = [_name(path) for path in _files(*CODE, "tests", "benchmarks") if vague & set(path.stem.split("_"))]
    wrong.extend(_name(path) for path in _files(*CODE) if unfinished.search(path.read_text(encoding="utf-8")))
    assert wrong == []


def test_public_functions_and_classes_say_what_they_are_for() -> None:
    silent: list[str] = []
    for path in _files("logician_graph", "storage"):
        if "versions" in path.parts:
            continue
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                continue
            if not node.name.startswith("_") and ast.get_docstring(node) is None:
                silent.append(f"{_name(path)}:{node.lineno} {node.name}")
    assert silent == []


# Dependencies


def _requirements(file: str) -> dict[str, Requirement]:
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    every = [Requirement(line) for line in lines if line and not line.startswith(("#", "-"))]
    return {canonicalize_name(requirement.name): requirement for requirement in every}


def test_the_project_and_its_pinned_requirements_name_the_same_packages() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = {canonicalize_name(Requirement(line).name) for line in project["dependencies"]}
    assert named == set(_requirements("requirements.txt"))


@pytest.mark.parametrize("file", ["requirements.txt", "requirements-dev.txt"])
def test_requirements_are_pinned_as_the_constraints_say(file: str) -> None:
    constraints = _requirements("constraints.txt")
    for name, requirement in _requirements(file).items():
        assert str(requirement.specifier) == str(constraints[name].specifier), name


def test_what_is_installed_is_what_is_tested() -> None:
    constraints = _requirements("constraints.txt")
    wanted = {**_requirements("requirements.txt"), **_requirements("requirements-dev.txt")}
    for name, requirement in wanted.items():
        if requirement.marker is None or requirement.marker.evaluate():
            assert constraints[name].specifier.contains(version(name)), name


def test_every_import_from_outside_is_a_direct_requirement() -> None:
    """What is imported must not be there by accident, as somebody else's dependency."""
    from importlib.metadata import packages_distributions

    owners = packages_distributions()
    asked = set(_requirements("requirements.txt"))
    own = {*CODE, "app"}
    missing: set[str] = set()
    for path in [*_files(*CODE), ROOT / "app.py"]:
        for _, module in _imports(path):
            top = module.split(".")[0]
            if top in own or top in sys.stdlib_module_names or top == "__future__":
                continue
            if not {canonicalize_name(owner) for owner in owners.get(top, ())} & asked:
                missing.add(f"{_name(path)} imports {top}")
    assert missing == set()


def test_every_data_file_is_in_what_is_installed() -> None:
    """A wheel holds what the globs name and nothing else; here they must name each file that is no Python."""
    tracked = subprocess.run(["git", "ls-files", *PACKED], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    data = {name for name in tracked.splitlines() if not name.endswith(".py")}
    setuptools = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    folders = [pattern.removesuffix("*") for pattern in setuptools["packages"]["find"]["include"]]
    assert set(folders) | {".streamlit"} == set(PACKED)
    named: set[str] = set()
    for package, globs in setuptools["package-data"].items():
        folder = ROOT / package.replace(".", "/")
        for pattern in globs:
            found = {path.resolve().relative_to(ROOT).as_posix() for path in folder.glob(pattern)}
            assert found, f"{package}: {pattern} names nothing"
            named |= found
    assert data - named == set()


# Documents


DOCUMENTS = ["README.md", "CHANGELOG.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_in_documents_lead_somewhere(name: str) -> None:
    path = ROOT / name
    text = path.read_text(encoding="utf-8")
    anchors = {re.sub(r"[^\w\- ]", "", line.lstrip("# ").lower()).replace(" ", "-") for line in text.splitlines()}
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        file, _, anchor = target.partition("#")
        if re.match(r"https?:|mailto:", target):
            continue
        assert not file or (path.parent / file).exists(), f"{name} links to {target}"
        assert file or anchor in anchors, f"{name} links to {target}"


@pytest.mark.parametrize("name", DOCUMENTS)
def test_documents_name_settings_and_targets_that_exist(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    known = {variable(field) for field in Settings.model_fields} | {"LOGICIAN_TEST_MODELS"}
    assert set(re.findall(r"\b(?:LOGICIAN_[A-Z_]+|DATABASE_URL)\b", text)) <= known
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
    for target in re.findall(r"(?:`|^)make ([a-z]+)", text, re.MULTILINE):
        assert target in targets, f"{name} says `make {target}`"


def test_documents_name_options_of_the_command_that_exist() -> None:
    helped: dict[str, str] = {}
    wrong: list[str] = []
    for name in DOCUMENTS:
        for command in re.findall(r"\blogician ((?:run|exec|doctor|model)\b[^\n`]*)", (ROOT / name).read_text("utf-8")):
            words = command.split()
            for option in re.findall(r"(?<!\S)--[a-z-]+", command):
                place = words[0] if words[0] != "model" else " ".join(words[:2])
                if place not in helped:
                    helped[place] = _help(place.split())
                if option not in helped[place]:
                    wrong.append(f"{name}: logician {command}")
    assert wrong == []


def _help(command: list[str]) -> str:
    arguments = [sys.executable, "-m", "logician_graph", *command, "--help"]
    return subprocess.run(arguments, capture_output=True, text=True, check=True, timeout=60, cwd=ROOT).stdout


def test_the_changelog_speaks_of_this_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"^## ({re.escape(__version__)}|Unreleased)", text, re.MULTILINE)
