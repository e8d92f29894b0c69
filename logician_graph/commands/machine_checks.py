"""What ``logician doctor`` finds out about the machine: Python, packages, home folder, disk, port."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from logician_graph.errors import SettingsError
from logician_graph.settings import Settings, ensure_home

if TYPE_CHECKING:
    from packaging.requirements import Requirement

Status = Literal["ok", "warn", "fail"]

REQUIREMENTS = Path(__file__).resolve().parents[2] / "requirements.txt"
_OLDEST_PYTHON = (3, 11)
_LEAST_FREE = 200 * 1024**2
"""Under this many free bytes a database or a download soon fails."""


@dataclass(frozen=True, slots=True)
class Check:
    """One finding. ``mend`` says what to do about it, "" where nothing needs to be done."""

    name: str
    status: Status
    summary: str
    mend: str = ""


def check_python() -> Check:
    """The interpreter is one that Logician is tested with."""
    shown = f"{sys.version.split()[0]} on {sys.platform} at {sys.executable}"
    if sys.version_info < _OLDEST_PYTHON:
        return Check("python", "fail", shown, "Install Python 3.11 or later and run `make run` with it.")
    return Check("python", "ok", shown)


def check_packages() -> Check:
    """Everything in requirements.txt is installed, in the version that is tested."""
    missing: list[str] = []
    other: list[str] = []
    wanted = _wanted()
    for requirement in wanted:
        try:
            found = version(requirement.name)
        except PackageNotFoundError:
            missing.append(requirement.name)
            continue
        if not requirement.specifier.contains(found, prereleases=True):
            other.append(f"{requirement.name} {found} (tested: {requirement.specifier})")
    if missing:
        return Check("packages", "fail", f"missing: {', '.join(missing)}", "Run `pip install -r requirements.txt`.")
    if other:
        mend = "Run `pip install -r requirements.txt` to have the tested versions."
        return Check("packages", "warn", f"other versions than tested: {', '.join(other)}", mend)
    return Check("packages", "ok", f"all {len(wanted)} are installed")


def _wanted() -> list[Requirement]:
    from packaging.requirements import Requirement

    if REQUIREMENTS.is_file():
        lines = REQUIREMENTS.read_text(encoding="utf-8").splitlines()
    else:
        lines = requires("logician") or []
    every = [Requirement(line) for line in lines if line and not line.startswith(("#", "-"))]
    return [one for one in every if one.marker is None or one.marker.evaluate()]


def check_home(settings: Settings) -> Check:
    """The home folder can be written."""
    try:
        ensure_home(settings)
    except SettingsError as error:
        return Check("home", "fail", f"{settings.home} cannot be used", str(error))
    return Check("home", "ok", f"{settings.home} can be written")


def check_disk(settings: Settings, still_needed: int) -> Check:
    """There is room on the home folder's disk for ``still_needed`` bytes of model."""
    folder = next(place for place in (settings.home, *settings.home.parents) if place.exists())
    free = shutil.disk_usage(folder).free
    shown = f"{free / 1e9:.1f} GB free for {settings.home}"
    if free < _LEAST_FREE:
        return Check("disk", "fail", shown, "Free some space, or set LOGICIAN_HOME to a folder on a larger disk.")
    if free < still_needed + _LEAST_FREE:
        mend = "Free some space, choose a smaller model, or use an endpoint (LOGICIAN_BASE_URL)."
        return Check("disk", "warn", f"{shown}; the model needs {still_needed / 1e9:.1f} GB", mend)
    return Check("disk", "ok", shown)


def check_port(settings: Settings) -> Check:
    """The port is free, or Logician itself answers there."""
    from logician_graph.gateway import probe, unavailable

    place = f"{settings.host}:{settings.port}"
    problem = unavailable(settings.host, settings.port)
    if problem is None:
        return Check("port", "ok", f"{place} is free")
    if probe(settings) is None:
        return Check("port", "ok", f"Logician is answering on {place}")
    return Check("port", "fail", f"{place} cannot be listened on", problem)
