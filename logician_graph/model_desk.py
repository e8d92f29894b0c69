"""Which models can be had here, and the providers that serve them.

A model reference is ``local:<catalogue id>`` or ``endpoint:<model name>``. Providers are built once per configuration
and live on the engine's loop; changed settings make a new one for the next run, running calls keep theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import SecretStr

from logician_graph.errors import SettingsError
from logician_graph.inference import Prices, Provider, ProviderCheck, ProviderConfig, build_provider
from logician_graph.settings import Settings

LOCAL_PREFIX = "local:"
ENDPOINT_PREFIX = "endpoint:"


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """One entry of the model picker."""

    ref: str
    title: str
    ready: bool
    note: str
    """Size and state of a local model, or the endpoint's address."""


class ModelDesk:
    """Resolves model references. Providers and checks belong to the engine's loop, the rest to any thread."""

    def __init__(self, home: Path, settings: Callable[[], Settings]) -> None:
        self._home = home
        self._settings = settings
        self._providers: list[tuple[ProviderConfig, Provider]] = []

    def default_ref(self) -> str:
        """The model for a new thread: the endpoint's when one is configured, else the catalogue's."""
        settings = self._settings()
        if settings.base_url:
            if not settings.model:
                raise SettingsError(
                    "The endpoint needs a model name: set LOGICIAN_MODEL or choose one in the settings."
                )
            return ENDPOINT_PREFIX + settings.model
        return LOCAL_PREFIX + (settings.model or "qwen2.5-coder-1.5b")

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
        """Close every provider and the child processes behind them."""
        providers, self._providers = self._providers, []
        for _, provider in providers:
            await provider.aclose()


def _prices(settings: Settings) -> Prices | None:
    if settings.price_input_per_mtok is None or settings.price_output_per_mtok is None:
        return None
    return Prices(settings.price_input_per_mtok, settings.price_output_per_mtok, settings.price_cached_per_mtok)
