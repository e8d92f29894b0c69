"""The settings reference: one Markdown page made from the model's own docstrings.

``python -m logician_graph.settings_reference > docs/settings.md`` makes the page; a test holds it to the model.
"""

from __future__ import annotations

import sys
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from logician_graph.settings import SECRET, STORABLE, Settings, variable

_HEAD = """\
# Settings

The environment wins over what the settings page stored, and that wins over the default. The settings page shows where
each value comes from. This page is made from the code: `python -m logician_graph.settings_reference`.

"""


def markdown() -> str:
    """The whole page."""
    parts = [_section(name, field) for name, field in Settings.model_fields.items()]
    return _HEAD + "\n".join(parts)


def _section(name: str, field: FieldInfo) -> str:
    where = "on the settings page or in the environment" if name in STORABLE | {"api_key"} else "in the environment"
    described = " ".join((field.description or "").split())
    return (
        f"## `{variable(name)}`\n\n{described}\n\nDefault: {_default(name, field)}. {_choices(field)}Set it {where}.\n"
    )


def _default(name: str, field: FieldInfo) -> str:
    if name in Settings.derived_defaults:
        return f"`{Settings.derived_defaults[name]}`"
    if field.default is None or field.default == ():
        return "unset"
    shown = str(field.default).lower() if isinstance(field.default, bool) else f"{field.default}"
    return "unset" if name in SECRET else f"`{shown}`"


def _choices(field: FieldInfo) -> str:
    values = _literals(field.annotation)
    return f"One of {', '.join(f'`{value}`' for value in values)}. " if values else ""


def _literals(annotation: Any) -> tuple[Any, ...]:
    if get_origin(annotation) is Literal:
        return get_args(annotation)
    if isinstance(annotation, UnionType) or type(annotation).__name__ == "Union":
        return tuple(value for part in get_args(annotation) if part is not NoneType for value in _literals(part))
    return ()


if __name__ == "__main__":
    sys.stdout.write(markdown())
