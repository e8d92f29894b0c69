"""Which models can be had here, the providers that serve them, and the downloads of local ones.

A model reference is ``local:<catalogue id>`` or ``endpoint:<model name>``. Providers are built once per configuration
and live on the engine's loop; changed settings make a new one for the next run, running calls keep theirs.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from pydantic import SecretStr

from logician_graph.errors import DownloadError, LogicianError, SettingsError
from logician_graph.inference import (
    Catalogue,
    ModelSpec,
    Prices,
    Provider,
    ProviderCheck,
    ProviderConfig,
    PullProgress,
    build_provider,
    pull,
)
from logician_graph.settings import Settings

log = logging.getLogger(__name__)

LOCAL_PREFIX = "local:"
ENDPOINT_PREFIX = "endpoint:"
OnLoop = Callable[..., None]
"""Calls a function with its arguments on the engine's loop, soon, from any thread."""
LocalState = Literal["absent", "partial", "unverified", "ready", "corrupt", "downloading"]
_WORDS: dict[LocalState, str] = {
    "absent": "not downloaded",
    "partial": "partly downloaded",
    "unverified": "here, not verified yet",
    "ready": "ready",
    "corrupt": "damaged: download it again",
    "downloading": "downloading",
}


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """One entry of the model picker."""

    ref: str
    title: str
    ready: bool
    note: str
    """Size and state of a local model, or the endpoint's address."""


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model of the catalogue as it is on this machine now."""

    id: str
    title: str
    bytes: int
    licence: str
    context_window: int
    note: str
    state: LocalState
    progress: PullProgress | None
    """Only while it is downloading."""
    error: str | None
    """Why the last download failed, with what to do."""


@dataclass(slots=True)
class _Download:
    """A download that runs or failed."""

    cancelled: asyncio.Event = field(default_factory=asyncio.Event)
    progress: PullProgress | None = None
    error: str | None = None
    running: bool = True


class ModelDesk:
    """Resolves model references and fetches models. Providers belong to the engine's loop, the rest to any thread."""

    def __init__(self, home: Path, settings: Callable[[], Settings], on_loop: OnLoop) -> None:
        self._home = home
        self._settings = settings
        self._on_loop = on_loop
        self._providers: list[tuple[ProviderConfig, Provider]] = []
        self._downloads: dict[str, _Download] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    # What there is

    @property
    def catalogue(self) -> Catalogue:
        """The local models that are known, as of now."""
        return Catalogue.load(self._home)

    def default_ref(self) -> str:
        """The model for a new thread: the endpoint's when one is configured, else the catalogue's."""
        settings = self._settings()
        if settings.base_url:
            if not settings.model:
                raise SettingsError(
                    "The endpoint needs a model name: set LOGICIAN_MODEL or choose one in the settings."
                )
            return ENDPOINT_PREFIX + settings.model
        return LOCAL_PREFIX + (settings.model or self.catalogue.default_id)

    def local_models(self) -> list[LocalModel]:
        """Every model of the catalogue with its state and download."""
        catalogue = self.catalogue
        return [self._local(catalogue, spec) for spec in catalogue.models]

    def _local(self, catalogue: Catalogue, spec: ModelSpec) -> LocalModel:
        download = self._downloads.get(spec.id)
        running = download is not None and download.running
        return LocalModel(
            id=spec.id,
            title=spec.title,
            bytes=spec.bytes,
            licence=spec.licence,
            context_window=spec.context_window,
            note=spec.note,
            state="downloading" if running else catalogue.state(spec.id),
            progress=download.progress if running and download is not None else None,
            error=download.error if download is not None else None,
        )

    def choices(self) -> list[ModelChoice]:
        """Everything that can be picked, the default first."""
        settings = self._settings()
        choices = [
            ModelChoice(
                LOCAL_PREFIX + model.id,
                model.title,
                model.state in ("ready", "unverified"),
                f"{model.bytes / 1e9:.1f} GB · {_WORDS[model.state]}",
            )
            for model in self.local_models()
        ]
        if settings.base_url and settings.model:
            choices.insert(0, ModelChoice(ENDPOINT_PREFIX + settings.model, settings.model, True, settings.base_url))
        try:
            default = self.default_ref()
        except SettingsError:
            return choices
        return sorted(choices, key=lambda choice: choice.ref != default)

    def health(self) -> dict[str, str]:
        """State of the default model in one word, and what to do where it is not ready."""
        try:
            ref = self.default_ref()
        except SettingsError as error:
            return {"state": "misconfigured", "message": str(error)}
        if ref.startswith(ENDPOINT_PREFIX):
            return {"state": "configured", "message": str(self._settings().base_url)}
        model_id = ref.removeprefix(LOCAL_PREFIX)
        known = {model.id: model for model in self.local_models()}
        if model_id not in known:
            return {"state": "misconfigured", "message": f"The catalogue has no model {model_id!r}."}
        model = known[model_id]
        return {"state": model.state, "message": model.error or f"{model.title}: {_WORDS[model.state]}."}

    # Downloads

    def start_download(self, model_id: str) -> None:
        """Fetch a model in the background; goes on where an earlier download stopped. Raises ``NotFound``."""
        self.catalogue.get(model_id)
        self._on_loop(self._begin_download, model_id)

    def cancel_download(self, model_id: str) -> None:
        """Stop a download; what was fetched is kept."""
        download = self._downloads.get(model_id)
        if download is not None:
            self._on_loop(download.cancelled.set)

    def start_missing(self) -> None:
        """Fetch the default model when it is a local one that is not here. Called once when the engine starts."""
        try:
            ref = self.default_ref()
            model_id = ref.removeprefix(LOCAL_PREFIX)
            if ref.startswith(LOCAL_PREFIX) and self.catalogue.state(model_id) in ("absent", "partial"):
                self.start_download(model_id)
        except LogicianError as error:
            log.warning("No model is downloaded: %s", error)

    def _begin_download(self, model_id: str) -> None:
        known = self._downloads.get(model_id)
        if known is not None and known.running:
            return
        download = self._downloads[model_id] = _Download()
        task = asyncio.get_running_loop().create_task(self._download(model_id, download))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _download(self, model_id: str, download: _Download) -> None:
        def told(progress: PullProgress) -> None:
            download.progress = progress

        try:
            settings = self._settings()
            index = None if settings.sources()["index_url"] == "default" else settings.index_url
            await pull(model_id, self._home, told, index=index, cancelled=download.cancelled)
        except (DownloadError, LogicianError, OSError) as error:
            download.error = None if download.cancelled.is_set() else str(error)
            log.warning("The download of %s ended: %s", model_id, error)
        finally:
            download.running = False

    # Providers

    def config(self, ref: str) -> ProviderConfig:
        """The provider configuration of a reference; raises ``SettingsError`` when it cannot be served."""
        settings = self._settings()
        if ref.startswith(LOCAL_PREFIX):
            return ProviderConfig(
                "embedded",
                ref.removeprefix(LOCAL_PREFIX),
                tool_calling=settings.tool_calling if not settings.base_url else None,
                context_window=settings.context_window if not settings.base_url else None,
                temperature=settings.temperature,
            )
        if not ref.startswith(ENDPOINT_PREFIX):
            raise SettingsError(f"The model reference {ref!r} is not one of {LOCAL_PREFIX}… or {ENDPOINT_PREFIX}…")
        if not settings.base_url:
            raise SettingsError(f"The model {ref!r} needs an endpoint: set LOGICIAN_BASE_URL or fill in the settings.")
        return ProviderConfig(
            "openai",
            ref.removeprefix(ENDPOINT_PREFIX),
            base_url=settings.base_url,
            api_key=settings.api_key,
            tool_calling=settings.tool_calling,
            context_window=settings.context_window,
            temperature=settings.temperature,
            prices=_prices(settings),
        )

    def provider(self, ref: str) -> tuple[Provider, str, Prices | None]:
        """The provider of a reference, the model's name there, and what it costs."""
        config = self.config(ref)
        key = replace(config, model="") if config.kind == "openai" else config
        provider = next((known for built_from, known in self._providers if built_from == key), None)
        if provider is None:
            provider = build_provider(config, self._home)
            self._providers.append((key, provider))
        return provider, config.model, config.effective_prices

    async def check(self, base_url: str, api_key: SecretStr | None, model: str) -> ProviderCheck:
        """Try an endpoint with these values, stored or not."""
        settings = self._settings()
        config = ProviderConfig("openai", model, base_url=base_url, api_key=api_key, tool_calling=settings.tool_calling)
        provider = build_provider(config, self._home)
        try:
            return await provider.check(model)
        finally:
            await provider.aclose()

    async def aclose(self) -> None:
        """Close every provider, the child processes behind them, and every download (what was fetched is kept)."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        providers, self._providers = self._providers, []
        for _, provider in providers:
            await provider.aclose()


def _prices(settings: Settings) -> Prices | None:
    if settings.price_input_per_mtok is None or settings.price_output_per_mtok is None:
        return None
    return Prices(settings.price_input_per_mtok, settings.price_output_per_mtok, settings.price_cached_per_mtok)
