"""``logician doctor``: every check, whatever the others found, and how to mend what is wrong."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import TextIO

from logician_graph import __version__
from logician_graph.commands.configuration import load_settings
from logician_graph.commands.exit_codes import ExitCode
from logician_graph.commands.machine_checks import (
    Check,
    Status,
    check_disk,
    check_home,
    check_packages,
    check_port,
    check_python,
)
from logician_graph.errors import LogicianError
from logician_graph.redaction import redact
from logician_graph.settings import Settings

_WORST_FIRST: tuple[Status, ...] = ("fail", "warn", "ok")


def doctor(*, as_json: bool) -> ExitCode:
    """Run every check and report on stdout. FAILED when one of them failed."""
    checks: list[Check] = []
    for check in _checks():
        checks.append(check)
        if not as_json:
            _tell(check, sys.stdout)
    worst = next(status for status in _WORST_FIRST if any(check.status == status for check in checks))
    if as_json:
        report = {"status": worst, "version": __version__, "checks": [asdict(check) for check in checks]}
        print(redact(json.dumps(report, ensure_ascii=False, indent=1)))
    return ExitCode.FAILED if worst == "fail" else ExitCode.COMPLETED


def _checks() -> Iterator[Check]:
    yield check_python()
    packages = check_packages()
    yield packages
    if packages.status == "fail":
        return  # what follows needs them
    try:
        settings = Settings.load()
    except LogicianError as error:
        yield Check("settings", "fail", str(error), "Correct the environment and run this again.")
        return
    home = check_home(settings)
    yield home
    if home.status == "fail":
        return
    from logician_graph.commands.service_checks import check_database, check_model, check_sandbox

    database = check_database(settings)
    yield database
    if database.status != "fail":
        try:
            settings = load_settings()
        except LogicianError as error:
            yield Check("settings", "fail", str(error), "Correct them on the settings page or in the environment.")
            return
    yield check_disk(settings, _still_needed(settings))
    yield _guarded("sandbox", check_sandbox, settings)
    yield _guarded("model", check_model, settings)
    yield check_port(settings)


def _guarded(name: str, check: Callable[[Settings], Check], settings: Settings) -> Check:
    """A check that cannot even be made is a finding, not the end of the report."""
    try:
        return check(settings)
    except (LogicianError, OSError) as error:
        return Check(name, "fail", str(error), "See the log of the server for more.")


def _still_needed(settings: Settings) -> int:
    from logician_graph.commands.service_checks import local_model

    try:
        status = local_model(settings)
    except LogicianError:
        return 0
    if status is None or status.state in {"ready", "unverified"}:
        return 0
    return status.model.bytes - status.bytes_present


def _tell(check: Check, out: TextIO) -> None:
    print(redact(f"{check.status:<5} {check.name}: {check.summary}"), file=out, flush=True)
    if check.mend:
        print(redact(f"      {check.mend}"), file=out, flush=True)
