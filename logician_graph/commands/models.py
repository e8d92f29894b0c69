"""``logician model``: the catalogue on this machine, downloads with a progress bar, and verification."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import time
from typing import TYPE_CHECKING, TextIO

from logician_graph.commands.configuration import load_settings
from logician_graph.commands.exit_codes import ExitCode
from logician_graph.inference import Catalogue

if TYPE_CHECKING:
    from logician_graph.inference import PullProgress
    from logician_graph.settings import Settings

_BAR = 28
_LINE_EVERY_S = 10.0
"""How often a progress line is written where there is no terminal to draw a bar on."""


def list_models(*, as_json: bool) -> ExitCode:
    """What the catalogue offers and what of it is here."""
    settings = load_settings()
    catalogue = Catalogue.load(settings.home)
    statuses = [catalogue.status(model.id) for model in catalogue.models]
    if as_json:
        rows = [
            {
                "id": status.model.id,
                "title": status.model.title,
                "state": status.state,
                "bytes": status.model.bytes,
                "bytes_present": status.bytes_present,
                "sha256": status.model.sha256,
                "licence": status.model.licence,
                "path": str(status.path),
                "default": status.model.id == catalogue.default_id,
            }
            for status in statuses
        ]
        print(json.dumps(rows, ensure_ascii=False, indent=1))
        return ExitCode.COMPLETED
    wide = max(len(status.model.id) for status in statuses)
    for status in statuses:
        mark = "*" if status.model.id == catalogue.default_id else " "
        size = f"{status.model.bytes / 1e6:,.0f} MB"
        print(f"{mark} {status.model.id:<{wide}}  {status.state:<10}  {size:>9}  {status.model.note}")
    print("* is used unless LOGICIAN_MODEL or the settings say otherwise. `logician model pull ID` downloads one.")
    return ExitCode.COMPLETED


def pull_model(model_id: str | None, *, if_needed: bool) -> ExitCode:
    """Download and verify a model. ``if_needed``: not where an endpoint is configured."""
    settings = load_settings()
    if if_needed and settings.base_url:
        print(f"The model comes from {settings.base_url}; none is downloaded.")
        return ExitCode.COMPLETED
    catalogue = Catalogue.load(settings.home)
    chosen = model_id or (settings.model if settings.model and not settings.base_url else catalogue.default_id)
    if catalogue.state(chosen) != "ready":
        return asyncio.run(_pull(chosen, settings))
    print(f"{chosen} is here: {catalogue.path(chosen)}")
    return ExitCode.COMPLETED


async def _pull(model_id: str, settings: Settings) -> ExitCode:
    from logician_graph.errors import DownloadError
    from logician_graph.inference import pull

    cancelled = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, cancelled.set)
    bar = _Bar(model_id, sys.stderr)
    index = None if settings.sources()["index_url"] == "default" else settings.index_url
    try:
        path = await pull(model_id, settings.home, bar.show, index=index, cancelled=cancelled)
    except DownloadError as error:
        if not cancelled.is_set():
            raise
        print(f"logician: {error}", file=sys.stderr)
        return ExitCode.CANCELLED
    finally:
        bar.end()
    print(f"{model_id} is here: {path}")
    return ExitCode.COMPLETED


def verify_models(model_id: str | None) -> ExitCode:
    """Read every byte of the files that are here. FAILED when one is damaged or the one named is not here."""
    settings = load_settings()
    catalogue = Catalogue.load(settings.home)
    chosen = [model_id] if model_id else [m.id for m in catalogue.models if catalogue.path(m.id).exists()]
    failed = False
    for one in chosen:
        state = catalogue.verify(one) if catalogue.path(one).exists() else catalogue.state(one)
        failed = failed or state != "ready"
        match state:
            case "ready":
                print(f"{one}: the bytes are right")
            case "corrupt" | "unverified":
                print(f"{one}: DAMAGED. Delete {catalogue.path(one)} and run `logician model pull {one}`.")
            case "absent" | "partial":
                print(f"{one}: not here. Run `logician model pull {one}`.")
    if not chosen:
        print("No model is here. `logician model pull` downloads the default one.")
    return ExitCode.FAILED if failed else ExitCode.COMPLETED


class _Bar:
    """Progress on a terminal as a bar on one line; elsewhere as a line now and then."""

    def __init__(self, name: str, out: TextIO) -> None:
        self._name = name
        self._out = out
        self._drawing = out.isatty()
        self._told_at = float("-inf")
        self._width = 0

    def show(self, progress: PullProgress) -> None:
        """Draw the newest state."""
        if self._drawing:
            line = progress_line(self._name, progress)
            print(f"\r{line:<{self._width}}", end="", file=self._out, flush=True)
            self._width = len(line)
        elif time.monotonic() - self._told_at >= _LINE_EVERY_S:
            self._told_at = time.monotonic()
            print(progress_line(self._name, progress), file=self._out, flush=True)

    def end(self) -> None:
        """Leave the line."""
        if self._width:
            print(file=self._out, flush=True)


def progress_line(name: str, progress: PullProgress) -> str:
    """One line that says how far a download is."""
    share = progress.bytes_done / progress.bytes_total
    filled = round(share * _BAR)
    parts = [
        f"{name} [{'#' * filled}{'.' * (_BAR - filled)}] {share:4.0%}",
        f"{progress.bytes_done / 1e6:,.0f} of {progress.bytes_total / 1e6:,.0f} MB",
    ]
    if progress.stage != "download":
        parts.append(progress.stage)
    if progress.bytes_per_s:
        parts.append(f"{progress.bytes_per_s / 1e6:.1f} MB/s")
    if progress.eta_s is not None:
        minutes, seconds = divmod(round(progress.eta_s), 60)
        parts.append(f"{minutes}:{seconds:02} left")
    return "  ".join(parts)
