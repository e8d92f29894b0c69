"""The error tree. Each class is a different thing for the caller to do.

    LogicianError
    ├── UsageError              the request itself is wrong: tell the person, change nothing
    │   ├── NotFound            the id does not name anything (any more)
    │   └── Conflict            true, but not now: the thing is in another state
    ├── SettingsError           a setting is missing or unusable: name it, say where it comes from
    ├── ProviderError           the model provider could not serve the request
    │   ├── TransientProviderError   worth another try after ``retry_after`` seconds
    │   ├── ProviderUnavailable      tries are used up: end the run, the person may retry
    │   ├── AuthenticationFailed     key missing, wrong or revoked: the person must mend settings
    │   ├── ModelNotFound            the endpoint does not serve this model: choose another
    │   ├── RequestRejected          the endpoint refuses this request: retrying cannot help
    │   ├── ContextOverflow          too long for the window: drop old turns and send again
    │   └── ModelNotReady            weights missing, damaged, loading or downloading: say which
    ├── DownloadError           weights could not be fetched or verified; what was fetched is kept
    └── SandboxError            the isolation level asked for cannot be had here

Beside the tree stand ``storage.StorageError`` (a write or read failed: stop the run loudly) and its subclasses
``storage.LostOwnership`` (another claim has this run now: stop working on it, write nothing) and ``storage.NotOpen``
(answered already; the engine makes it a Conflict); the storage room imports nothing from here.

Messages say what happened and what to do next; values are quoted with ``!r``. Secrets never enter a message.
"""

from __future__ import annotations

from collections.abc import Mapping


class LogicianError(Exception):
    """Base of every error that Logician raises on purpose."""


class UsageError(LogicianError):
    """The request itself is wrong; nothing was changed."""


class NotFound(UsageError):
    """The id does not name anything, or not any more."""


class Conflict(UsageError):
    """The request is fine but the thing is in another state just now."""


class SettingsError(LogicianError):
    """A setting is missing or unusable. ``problems``: the sentence for each setting, by name, where that is known."""

    def __init__(self, message: str, *, problems: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.problems: dict[str, str] = dict(problems or {})


class ProviderError(LogicianError):
    """The model provider could not serve the request."""


class TransientProviderError(ProviderError):
    """Worth another try: rate limit, 5xx, timeout, reset or a stream that was cut.

    ``retry_after`` is the wait in seconds that the provider asked for, or None.
    """

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ProviderUnavailable(ProviderError):
    """Every try was used up."""


class AuthenticationFailed(ProviderError):
    """The key is missing, wrong or revoked."""


class ModelNotFound(ProviderError):
    """The endpoint does not serve this model."""


class RequestRejected(ProviderError):
    """The endpoint refuses this request; sending it again cannot help."""


class ContextOverflow(ProviderError):
    """The request does not fit the model's context window."""


class ModelNotReady(ProviderError):
    """The embedded model cannot serve yet: weights missing, damaged, loading or downloading."""


class DownloadError(LogicianError):
    """Weights could not be fetched or verified; the parts already fetched are kept."""


class SandboxError(LogicianError):
    """The isolation asked for cannot be had on this machine."""
