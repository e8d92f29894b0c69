"""Texts from outside made fit to be stored, sent and shown: pure, and the same text where nothing is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast


def valid_unicode(text: str) -> str:
    """``text`` without lone surrogates: two halves of one character are joined, what is left over is replaced."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def storable(text: str) -> str:
    """``text`` as every database takes it: valid Unicode without NUL characters."""
    return valid_unicode(text).replace("\x00", "\N{REPLACEMENT CHARACTER}")


def storable_json(value: Any) -> Any:
    """A JSON value with all its texts made storable."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, Mapping):
        items = cast("Mapping[Any, Any]", value).items()
        return {storable_json(key): storable_json(item) for key, item in items}
    if isinstance(value, (list, tuple)):
        return [storable_json(item) for item in cast("Sequence[Any]", value)]
    return value
