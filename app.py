"""The server: Streamlit's pages, the HTTP routes beside them, the guard before both, and the engine behind.

``python app.py`` takes host and port from Logician's settings. ``streamlit run app.py`` works too; Streamlit's own
options then say where it listens. The engine starts with the server, before the first visitor, and drains when the
server is told to stop.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import streamlit as st
from starlette.middleware import Middleware
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles
from streamlit import config as streamlit_config

from logician_graph.errors import LogicianError, SettingsError
from logician_graph.gateway import (
    AuthMiddleware,
    EngineDoor,
    Gateway,
    Guard,
    Rules,
    banner,
    build_routes,
    is_loopback,
    obtain_token,
    oidc_configured,
    oidc_user,
    unavailable,
)
from logician_graph.redaction import configure_logging, redact
from logician_graph.settings import Settings, ensure_home

ROOT = Path(__file__).resolve().parent


class Server:
    """What one process serves: the settings it was started with, and the engine once there is one."""

    def __init__(self, settings: Settings) -> None:
        ensure_home(settings)
        configure_logging(settings.log_level)
        chosen = settings.access_token.get_secret_value() if settings.access_token else None
        self.settings = settings
        self.token = obtain_token(settings.home, chosen)
        self.engine: EngineDoor | None = None
        self.gateway = Gateway(door=lambda: self.engine, active_sessions=_active_sessions)
        self.failed = False
        """True once the engine could not be started."""
        self._oidc = False

    def guard(self) -> Guard:
        """The rules as of now: where Streamlit listens is certain only once it does."""
        oidc = self._oidc
        rules = Rules(
            loopback=is_loopback(_address()),
            always=self.settings.auth == "always",
            proxied=self.settings.trusted_user_header is not None,
            oidc=oidc,
            allowed_hosts=self.settings.allowed_hosts,
        )
        return Guard(
            token=self.token,
            rules=rules,
            user_header=self.settings.trusted_user_header,
            proxies=self.settings.trusted_proxies,
            oidc_user=oidc_user if oidc else None,
        )

    @contextlib.asynccontextmanager
    async def lifespan(self, _app: st.App) -> AsyncIterator[dict[str, Any]]:
        """Run the engine for as long as the server runs."""
        from logician_graph.engine import Engine
        from storage import StorageError

        configure_logging(self.settings.log_level)  # again: the web server has set up its own handlers meanwhile
        self._oidc = oidc_configured()
        try:
            engine = Engine(self.settings)
            await engine.start()
        except (LogicianError, StorageError) as error:
            print(f"Logician cannot start. {redact(str(error))}", file=sys.stderr, flush=True)
            logging.getLogger("uvicorn.error").disabled = True  # it would add a traceback to what was just said
            self.failed = True
            raise SystemExit(1) from error
        self.engine = engine
        try:
            with _draining_on_signals(self.gateway.draining):
                rules = self.guard().rules
                signs_in_here = not rules.oidc and not rules.proxied and (rules.always or not rules.loopback)
                port = int(streamlit_config.get_option("server.port"))
                shown = banner(_address(), port, self.settings.home, self.token if signs_in_here else None)
                print(shown, flush=True)
                yield {"engine": engine}
        finally:
            self.engine = None
            await engine.stop()


def main() -> int:
    """Serve until told to stop. Returns the exit code."""
    host, port = server.settings.host, server.settings.port
    problem = unavailable(host, port)
    if problem is not None:
        print(problem, file=sys.stderr)
        return 1
    # The guard must see who really connects; it judges forwarding headers itself.
    os.environ.setdefault("FORWARDED_ALLOW_IPS", "")
    sys.argv = [__file__]
    try:
        app.run(
            config={
                "server.address": host,
                "server.port": port,
                "secrets.files": [
                    str(folder / "secrets.toml") for folder in (ROOT / ".streamlit", server.settings.home)
                ],
            }
        )
    except KeyboardInterrupt:  # Ctrl-C, after everything has ended in good order
        return 130
    except SystemExit:
        if not server.failed:
            raise
        return 1
    return 0


def _address() -> str:
    return streamlit_config.get_option("server.address") or "0.0.0.0"  # noqa: S104 - Streamlit's default


def _active_sessions() -> int:
    from streamlit.runtime import Runtime, exists

    return Runtime.instance()._session_mgr.num_active_sessions() if exists() else 0  # pyright: ignore[reportPrivateUsage]


@contextlib.contextmanager
def _draining_on_signals(draining: asyncio.Event) -> Iterator[None]:
    """End open event streams when the server is told to stop: it waits for them before the engine may drain."""
    loop = asyncio.get_running_loop()
    former: dict[int, Any] = {}

    def drain(number: int, frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(draining.set)
        previous = former[number]
        if callable(previous):
            previous(number, frame)

    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(ValueError):  # not the main thread: somebody else looks after signals
            former[number] = signal.getsignal(number)
            signal.signal(number, drain)
    try:
        yield
    finally:
        for number, previous in former.items():
            with contextlib.suppress(ValueError):
                signal.signal(number, previous)


try:
    server = Server(Settings.load())
except SettingsError as error:
    sys.exit(f"Logician cannot start. {error}")

if streamlit_config._main_script_path is None:  # pyright: ignore[reportPrivateUsage]
    # Streamlit looks for its settings here and beside the main script; started elsewhere it would find neither.
    streamlit_config._main_script_path = str(ROOT / "app.py")  # pyright: ignore[reportPrivateUsage]

app = st.App(
    ROOT / "pages" / "shell.py",
    lifespan=server.lifespan,
    routes=[
        *build_routes(server.gateway),
        # Streamlit would look for static files beside the main script, inside pages/.
        Mount("/app/static", StaticFiles(directory=ROOT / "static")),
    ],
    middleware=[Middleware(AuthMiddleware, guard=server.guard)],
)

if __name__ == "__main__":
    sys.exit(main())
