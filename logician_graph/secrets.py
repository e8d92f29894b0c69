"""API keys at rest: one small file in the home folder, readable by its owner alone.

Invariants: the file is mode 0600 from its first byte; it is replaced whole or not at all; every value read or written
is registered with :mod:`logician_graph.redaction`. Keys never enter the database, so a copied database or an export
holds none.

What it does not do: encrypt. Whoever may read the owner's files may read the keys, as with any key file.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any, cast

from filelock import FileLock, Timeout
from pydantic import SecretStr

from logician_graph.errors import SettingsError
from logician_graph.redaction import register_secret

_LOCK_SECONDS = 10.0


def write_private(path: Path, text: str) -> None:
    """Replace ``path`` by a file of mode 0600 holding ``text``, durably and in one step."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # mkstemp creates with mode 0600
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


class SecretStore:
    """Named secrets in ``home/secrets.json``. Safe to use from several threads and processes."""

    def __init__(self, home: Path) -> None:
        self.path = home / "secrets.json"
        self._lock = FileLock(home / "secrets.lock", timeout=_LOCK_SECONDS)

    def get(self, name: str) -> SecretStr | None:
        """The secret called ``name``, or None. Raises SettingsError when the file is damaged or unreadable."""
        value = self._read().get(name)
        return None if value is None else SecretStr(value)

    def names(self) -> list[str]:
        """The names of the secrets that are kept, sorted."""
        return sorted(self._read())

    def put(self, name: str, value: str | SecretStr) -> None:
        """Keep ``value`` under ``name``, replacing what was there."""
        plain = value.get_secret_value() if isinstance(value, SecretStr) else value
        plain = plain.strip()
        if not plain:
            raise SettingsError(f"The secret {name!r} is empty; give a value or delete it.")
        register_secret(plain)
        self._change({name: plain})

    def delete(self, name: str) -> None:
        """Forget ``name``; no error when it is not there."""
        self._change({name: None})

    def _change(self, changes: dict[str, str | None]) -> None:
        try:
            with self._lock:
                kept = {**self._read(), **changes}
                text = json.dumps({name: value for name, value in sorted(kept.items()) if value is not None}, indent=1)
                write_private(self.path, text)
        except Timeout as error:
            raise SettingsError(
                f"Another process has held {self._lock.lock_file!r} for {_LOCK_SECONDS:.0f} s; "
                "nothing was changed. Try again."
            ) from error
        except OSError as error:
            raise SettingsError(
                f"The secrets file {str(self.path)!r} could not be written ({error.strerror}); nothing was changed."
            ) from error

    def _read(self) -> dict[str, str]:
        try:
            text = self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return {}
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(f"The secrets file {str(self.path)!r} could not be read: {error}.") from error
        values = _parsed(text, self.path)
        for value in values.values():
            register_secret(value)
        return values


def _parsed(text: str, path: Path) -> dict[str, str]:
    try:
        values: Any = json.loads(text)
    except json.JSONDecodeError:
        values = None
    if isinstance(values, dict):
        kept = cast("dict[str, Any]", values)
        if all(isinstance(value, str) for value in kept.values()):
            return kept
    # The text itself stays out of the message: it holds keys.
    raise SettingsError(
        f"The secrets file {str(path)!r} is damaged: it is not a JSON object of names and strings. "
        "Mend it by hand, or delete it and enter the keys again on the settings page."
    ) from None
