"""What ``logician doctor`` finds out about the parts that do the work: database, sandbox, model, provider.

Each is tried for real: a write to the database, a program under each isolation level, a request to the endpoint.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import TYPE_CHECKING

from logician_graph.commands.machine_checks import Check
from logician_graph.errors import LogicianError
from logician_graph.settings import Settings

if TYPE_CHECKING:
    from logician_graph.inference import ModelStatus
    from logician_graph.sandbox import LevelProbe

_ENDPOINT_S = 60.0
_LOAD_S = 60.0
_MEND = "Correct LOGICIAN_BASE_URL, LOGICIAN_API_KEY and LOGICIAN_MODEL, or the same on the settings page."
_LIBRARY = "Install the library it names; libgomp.so.1 is `sudo apt install libgomp1` on Debian and Ubuntu."


def check_database(settings: Settings) -> Check:
    """The database opens, has this version's schema and takes a write."""
    from storage import Database, RunLedger, StorageError, upgrade

    database = Database(settings.database_url)
    try:
        upgrade(database)
        RunLedger(database).writable()
    except StorageError as error:
        mend = "Correct DATABASE_URL or start the server it names."
        if database.is_sqlite:
            mend = "Restore the file from a backup, or move it away: the next start makes a new, empty one."
        return Check("database", "fail", str(error), mend)
    finally:
        database.close()
    return Check("database", "ok", f"{database.safe_url} takes writes")


def check_sandbox(settings: Settings) -> Check:
    """The isolation level that commands would run under here."""
    from logician_graph.sandbox import IsolationLevel, probe_levels

    levels = asyncio.run(probe_levels())
    shown = "; ".join(f"{probe.level.value}: {_level(probe)}" for probe in levels)
    if settings.sandbox_level is not None:
        wanted = next(probe for probe in levels if probe.level.value == settings.sandbox_level)
        if not wanted.available:
            return Check("sandbox", "fail", shown, f"Unset LOGICIAN_SANDBOX_LEVEL={settings.sandbox_level}.")
        chosen = wanted
    else:
        chosen = next(probe for probe in levels if probe.available)
    if chosen.level is IsolationLevel.RLIMITS and not settings.isolated:
        mend = (
            "Commands can read and write your files and use the network. Use Linux 5.13 or newer, keep the mode at "
            "'ask', or work in a throw-away container and set LOGICIAN_ISOLATED=true."
        )
        return Check("sandbox", "warn", shown, mend)
    return Check("sandbox", "ok", f"{chosen.level.value} is used ({shown})")


def _level(probe: LevelProbe) -> str:
    return "available" if probe.available else f"no, {probe.detail}"


def local_model(settings: Settings) -> ModelStatus | None:
    """The embedded model in the settings, as it is here; None when an endpoint is configured.

    Raises SettingsError or NotFound when the settings name no model of the catalogue.
    """
    from logician_graph.inference import Catalogue

    if settings.base_url:
        return None
    catalogue = Catalogue.load(settings.home)
    return catalogue.status(settings.model or catalogue.default_id)


def check_model(settings: Settings) -> Check:
    """The embedded model's file is here and verified, or the endpoint answers a real request."""
    if settings.base_url:
        return _check_endpoint(settings)
    try:
        status = local_model(settings)
    except LogicianError as error:
        return Check("model", "fail", str(error), "Choose a model of the catalogue: `logician model list`.")
    if status is None:  # cannot be: no endpoint is configured
        raise AssertionError(settings)
    if (missing := _missing_library()) is not None:
        return Check("model", "fail", f"llama.cpp cannot be loaded: {missing}", _LIBRARY)
    model, place = status.model.id, str(status.path)
    match status.state:
        case "ready":
            return Check("model", "ok", f"{model} is here and verified: {place}")
        case "unverified":
            return Check("model", "ok", f"{model} is here: {place}; it is verified before its first use")
        case "corrupt":
            mend = f"Delete {place} and run `logician model pull {model}`."
            return Check("model", "fail", f"{model} is damaged: {place}", mend)
        case "absent" | "partial":
            gigabytes = (status.model.bytes - status.bytes_present) / 1e9
            mend = f"Run `logician model pull {model}`, download it on the settings page, or set LOGICIAN_BASE_URL."
            return Check("model", "warn", f"{model} is not here yet ({gigabytes:.1f} GB to download)", mend)


def _missing_library() -> str | None:
    """Why llama.cpp's module cannot be loaded, or None. Tried in a process of its own: it may take this one down."""
    trial = [sys.executable, "-c", "import xllamacpp"]
    done = subprocess.run(trial, capture_output=True, text=True, timeout=_LOAD_S, check=False)
    if done.returncode == 0:
        return None
    return done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"it ended with {done.returncode}"


def _check_endpoint(settings: Settings) -> Check:
    from logician_graph.inference import ProviderConfig, build_provider

    if not settings.model:
        return Check("model", "fail", f"{settings.base_url} is configured without a model", "Set LOGICIAN_MODEL.")
    config = ProviderConfig(
        "openai",
        settings.model,
        base_url=settings.base_url,
        api_key=settings.api_key,
        tool_calling=settings.tool_calling,
    )

    async def ask() -> Check:
        provider = build_provider(config, settings.home)
        try:
            async with asyncio.timeout(_ENDPOINT_S):
                found = await provider.check(config.model)
        except TimeoutError:
            return Check("model", "fail", f"{config.base_url} did not answer within {_ENDPOINT_S:.0f} s", _MEND)
        finally:
            await provider.aclose()
        if not found.ok:
            return Check("model", "fail", found.message, _MEND)
        return Check("model", "ok", f"{config.model} at {config.base_url}: {found.message}")

    return asyncio.run(ask())
