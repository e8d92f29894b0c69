"""Known secret values, and their removal from text that leaves the process.

Whoever reads a key (settings, the secret store, the gateway's token, the embedded model server) registers its value
here once; every log line, event, export and error that is shown passes through :func:`redact`. The registry is the
process's own and only grows: a key that was replaced must not surface in an old traceback either.

What it does not do: recognise secrets it was never told of.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import threading
from urllib.parse import quote

MASK = "[secret]"
SHORTEST = 6
"""Values under this length are not masked: they would blacken ordinary words and protect nothing."""

_lock = threading.Lock()
_known: set[str] = set()
_pattern: re.Pattern[str] | None = None


def register_secret(value: str) -> None:
    """Have ``value`` masked from now on, as it is, percent-encoded and inside JSON."""
    global _pattern  # noqa: PLW0603 - one registry for one process
    value = value.strip()
    if len(value) < SHORTEST:
        return
    with _lock:
        if value in _known:
            return
        _known.update({value, quote(value, safe=""), json.dumps(value)[1:-1]})
        _pattern = re.compile("|".join(re.escape(known) for known in sorted(_known, key=len, reverse=True)))


def redact(text: str) -> str:
    """``text`` with every known secret value replaced by ``[secret]``."""
    pattern = _pattern
    return text if pattern is None else pattern.sub(MASK, text)


class RedactingFilter(logging.Filter):
    """Masks secrets in a record's message and traceback. Belongs on handlers: loggers' filters are not inherited."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Rewrite the record in place; every record passes."""
        try:
            message = record.getMessage()
        except (TypeError, ValueError):  # wrong arguments for the format: the handler reports that itself
            return True
        record.msg, record.args = redact(message), None
        if record.exc_info and not record.exc_text:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
        if record.exc_text:
            record.exc_text = redact(record.exc_text)
        if record.stack_info:
            record.stack_info = redact(record.stack_info)
        return True


def configure_logging(level: str) -> None:
    """Send the house's log lines at ``level`` and above to stderr, and mask secrets on every handler in use."""
    root = logging.getLogger()
    if not root.handlers:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)-7s %(name)s: %(message)s"))
        root.addHandler(handler)
    for name in ("", *list(logging.root.manager.loggerDict)):
        for handler in logging.getLogger(name).handlers:
            if not any(isinstance(present, RedactingFilter) for present in handler.filters):
                handler.addFilter(RedactingFilter())
    for name in ("logician_graph", "storage"):
        logging.getLogger(name).setLevel(level.upper())
