"""From configuration to a provider."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import SecretStr

from logician_graph.errors import SettingsError
from logician_graph.inference.endpoint_options import EndpointOptions
from logician_graph.inference.openai_compatible import OpenAICompatible
from logician_graph.inference.pricing import LOCAL, Prices
from logician_graph.inference.retry import RetryPolicy
from logician_graph.inference.types import Provider, ToolCalling

ProviderKind = Literal["embedded", "openai"]


@dataclass(frozen=True, slots=True)
class ProviderConfig:
    """Everything that decides which provider is built; equal configurations may share one."""

    kind: ProviderKind
    model: str
    """The endpoint's model name, or the id of a model in the catalogue."""
    base_url: str | None = None
    """Only for ``openai``, such as ``https://api.openai.com/v1``."""
    api_key: SecretStr | None = None
    headers: Mapping[str, SecretStr] = field(default_factory=dict[str, SecretStr])
    tool_calling: ToolCalling | None = None
    """None: ``native`` for an endpoint, ``constrained`` for the embedded model."""
    context_window: int | None = None
    """Tokens; None: what the provider reports."""
    temperature: float | None = None
    thought_chars: int = 0
    """With ``constrained``: characters of thought that the model may write before each call; 0 for none."""
    prices: Prices | None = None
    """None: unknown for an endpoint, nothing for the embedded model."""
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    first_token_timeout_s: float = 300.0

    @property
    def effective_prices(self) -> Prices | None:
        """Prices to count with: local weights cost no money."""
        return LOCAL if self.kind == "embedded" else self.prices


def build_provider(config: ProviderConfig, home: Path) -> Provider:
    """The provider for ``config``. Opens nothing yet: connections and child processes come with the first call."""
    if config.kind == "embedded":
        from logician_graph.inference.embedded import EmbeddedLlama

        return EmbeddedLlama(
            home,
            config.model,
            tool_calling=config.tool_calling or "constrained",
            thought_chars=config.thought_chars,
            context_window=config.context_window,
            temperature=config.temperature,
            retry=config.retry,
        )
    if not config.base_url:
        raise SettingsError(
            "The provider needs a base URL, such as 'https://api.openai.com/v1': set LOGICIAN_BASE_URL."
        )
    options = EndpointOptions(
        config.base_url,
        config.api_key,
        headers=config.headers,
        first_token_timeout_s=config.first_token_timeout_s,
        retry=config.retry,
    )
    return OpenAICompatible(
        options,
        tool_calling=config.tool_calling or "native",
        thought_chars=config.thought_chars,
        context_window=config.context_window,
        temperature=config.temperature,
    )
