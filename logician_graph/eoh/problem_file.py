"""``problem.toml``: what a problem says about itself, checked, with the file and the line in every complaint."""

from __future__ import annotations

import ast
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from logician_graph.errors import UsageError

NAME = "problem.toml"
ID = re.compile(r"[a-z][a-z0-9_]{0,63}")
_STRICT = ConfigDict(extra="forbid", strict=True, frozen=True)


class Limits(BaseModel):
    """What one candidate may use for one set of instances, all of its calls together."""

    model_config = _STRICT
    seconds: float = Field(default=40.0, gt=0, le=86_400)
    """Wall time."""
    memory_mb: int = Field(default=1024, ge=64, le=1_048_576)
    """Address space beyond what the interpreter and the instances hold."""


class InstanceSet(BaseModel):
    """Files that are evaluated together, and keys laid over what stands in them (such as ``capacity``)."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)
    files: list[str] = Field(min_length=1)

    @property
    def overrides(self) -> dict[str, Any]:
        """Keys that replace those of the same name in each file."""
        return dict(self.model_extra or {})


def _as_table(value: Any) -> Any:
    return {"files": cast("list[Any]", value)} if isinstance(value, list) else value


_Set = Annotated[InstanceSet, BeforeValidator(_as_table)]


class Instances(BaseModel):
    """The set that a study is driven by, and those that only its report shows."""

    model_config = _STRICT
    train: _Set
    held_out: dict[str, _Set] = Field(default_factory=dict)


class ProblemFile(BaseModel):
    """The keys of ``problem.toml``."""

    model_config = _STRICT
    id: str
    title: str = Field(min_length=1)
    direction: Literal["min", "max"]
    function: str
    returns: str = Field(min_length=1)
    description: str = Field(min_length=1)
    limits: Limits = Field(default_factory=Limits)
    instances: Instances
    baselines: dict[str, str] = Field(default_factory=dict)
    imports: list[str] = Field(default_factory=lambda: ["math", "numpy"])
    citation: str = ""
    seed: str = ""


@dataclass(frozen=True, slots=True)
class Signature:
    """The function that a candidate must define."""

    text: str
    """As it stands in the file, without ``def`` and the colon."""
    name: str
    arguments: tuple[str, ...]


class Complaints:
    """Turns a place in ``problem.toml`` into an error that names its line."""

    def __init__(self, path: Path, text: str) -> None:
        self._path = path
        self._lines = _lines(text)

    def at(self, key: tuple[str | int, ...], message: str) -> UsageError:
        """The error for ``key``, at its line or, where it has none, at the line of the table around it."""
        names = tuple(part for part in key if isinstance(part, str))
        while names and names not in self._lines:
            names = names[:-1]
        return UsageError(f"{self._path}, line {self._lines.get(names, 1)}: {message}")


def read_problem_file(folder: Path) -> tuple[ProblemFile, Complaints]:
    """What ``folder/problem.toml`` holds. Raises UsageError with file and line."""
    path = folder / NAME
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UsageError(f"{folder} is no problem folder: it holds no {NAME}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: {_syntax(str(error), text)}") from error
    complaints = Complaints(path, text)
    try:
        file = ProblemFile.model_validate(raw)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise complaints.at(tuple(first["loc"]), _sentence(first["type"], first["loc"], first["msg"])) from None
    if ID.fullmatch(file.id) is None:
        raise complaints.at(("id",), f"id {file.id!r} must be lower-case letters, digits and underscores")
    if file.id != folder.name:
        raise complaints.at(("id",), f"id {file.id!r} must be the folder's name, {folder.name!r}")
    if "train" in file.instances.held_out:
        raise complaints.at(("instances", "held_out", "train"), "a held-out set cannot be named 'train'")
    return file, complaints


def read_signature(text: str) -> Signature:
    """The parts of ``score(item, bins)``; annotations and ``-> …`` may stand in it. Raises ValueError."""
    expected = "write it as name(argument, argument)"
    try:
        body = ast.parse(f"def {text.strip()}: ...").body
    except SyntaxError:
        raise ValueError(f"function {text!r} is no signature; {expected}") from None
    if len(body) != 1 or not isinstance(body[0], ast.FunctionDef):
        raise ValueError(f"function {text!r} is no signature; {expected}")
    arguments = body[0].args
    if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.posonlyargs or arguments.defaults:
        raise ValueError(f"function {text!r} may have plain arguments only; {expected}")
    return Signature(text.strip(), body[0].name, tuple(argument.arg for argument in arguments.args))


def _sentence(kind: str, location: tuple[str | int, ...], message: str) -> str:
    key = ".".join(str(part) for part in location)
    if kind == "extra_forbidden":
        return f"unknown key {key!r}"
    if kind == "missing":
        return f"{key!r} is missing"
    return f"{key!r}: {message[:1].lower()}{message[1:]}"


def _syntax(message: str, text: str) -> str:
    found = re.search(r"\(at line (\d+), column (\d+)\)", message)
    line = int(found[1]) if found else len(text.splitlines())
    return f"line {line}: not TOML: {message.split(' (at ', maxsplit=1)[0]}"


_KEY = r"""(?:"[^"]*"|'[^']*'|[\w-]+)"""
_HEADER = re.compile(rf"\s*\[\s*({_KEY}(?:\s*\.\s*{_KEY})*)\s*\]")
_ASSIGNMENT = re.compile(rf"\s*({_KEY}(?:\s*\.\s*{_KEY})*)\s*=")


def _lines(text: str) -> dict[tuple[str, ...], int]:
    """Where each key and table of a TOML text begins, counted from 1; keys of inline tables are not told apart."""
    found: dict[tuple[str, ...], int] = {}
    table: tuple[str, ...] = ()
    inside = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if inside:
            inside = "" if line.count(inside) % 2 else inside
            continue
        if header := _HEADER.match(line):
            table = _names(header[1])
            found.setdefault(table, number)
        elif assignment := _ASSIGNMENT.match(line):
            found.setdefault((*table, *_names(assignment[1])), number)
        inside = next((quotes for quotes in ('"""', "'''") if line.count(quotes) % 2), "")
    return found


def _names(dotted: str) -> tuple[str, ...]:
    return tuple(part.strip("\"'") for part in re.findall(_KEY, dotted))
