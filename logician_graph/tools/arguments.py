"""A call's arguments: mended where the meaning is plain, else refused in words a small model can act on. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from logician_graph.tools.types import ToolDeclaration, ToolFailed

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator

_EXAMPLE = "Example: "


def described(what: str, example: Mapping[str, Any]) -> str:
    """A declaration's description: what the tool does, and one example call that errors can repeat."""
    return f"{what} {_EXAMPLE}{json.dumps(example, ensure_ascii=False)}"


def without_surrogates(value: Any) -> Any:
    """``value`` with every lone surrogate replaced, in keys too: such text cannot be stored, sent or written."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, Mapping):
        pairs = cast("Mapping[Any, Any]", value).items()
        return {without_surrogates(key): without_surrogates(item) for key, item in pairs}
    if isinstance(value, list | tuple):
        return [without_surrogates(item) for item in cast("Sequence[Any]", value)]
    return value


def mended(declaration: ToolDeclaration, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments with what small models get wrong put right: numbers and booleans as text, null for "not given"."""
    properties: Mapping[str, Any] = declaration.parameters.get("properties", {})
    required = declaration.parameters.get("required", ())
    result: dict[str, Any] = {}
    for name, value in arguments.items():
        if value is None and name not in required:
            continue
        result[name] = _converted(value, properties.get(name, {}).get("type"))
    return result


def problem(declaration: ToolDeclaration, arguments: Mapping[str, Any]) -> str | None:
    """What is wrong with the arguments, naming the field and showing an example; None when they fit the schema."""
    validate = cast("Callable[[object], Iterable[Any]]", _validator(_key(declaration)).iter_errors)  # pyright: ignore[reportUnknownMemberType]
    errors = sorted(validate(dict(arguments)), key=_depth)
    if not errors:
        return None
    error = errors[0]
    return f"{_sentence(declaration, error)} {_shown_example(declaration)}".strip()


def checked(declaration: ToolDeclaration, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Sanitised, mended arguments that fit the schema; raises ToolFailed otherwise."""
    result = mended(declaration, without_surrogates(arguments))
    if text := problem(declaration, result):
        raise ToolFailed(text)
    return result


def _converted(value: Any, kind: Any) -> Any:
    if not isinstance(value, str):
        return int(value) if kind == "integer" and isinstance(value, float) and value.is_integer() else value
    text = value.strip()
    if kind == "integer" and text.lstrip("-").isdecimal():
        return int(text)
    if kind == "boolean" and text.lower() in {"true", "false"}:
        return text.lower() == "true"
    return value


def _sentence(declaration: ToolDeclaration, error: Any) -> str:
    field = ".".join(str(part) for part in error.absolute_path)
    name = declaration.name
    if error.validator == "required":
        missing = next((key for key in error.validator_value if key not in error.instance), "?")
        return f"{name} needs the argument {missing!r}."
    if error.validator == "additionalProperties":
        known = ", ".join(declaration.parameters.get("properties", {}))
        unknown = ", ".join(repr(key) for key in error.instance if key not in error.schema.get("properties", {}))
        return f"{name} has no argument {unknown}. Its arguments: {known}."
    if error.validator == "type":
        return (
            f"The argument {field!r} of {name} must be {_article(error.validator_value)}, not {_shown(error.instance)}."
        )
    return f"The argument {field!r} of {name} is not valid: {error.message[:200]}."


def _shown_example(declaration: ToolDeclaration) -> str:
    example = declaration.description.partition(_EXAMPLE)[2]
    return f"{_EXAMPLE}{declaration.name} {example}" if example else ""


def _article(kind: Any) -> str:
    return f"an {kind}" if str(kind)[:1] in "aeio" else f"a {kind}"


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else f"{text[:60]}…"


def _depth(error: Any) -> tuple[int, int, str]:
    # A missing field explains more than an unknown one, which is often the missing one misspelt.
    return len(error.absolute_path), 0 if error.validator == "required" else 1, str(error.message)


def _key(declaration: ToolDeclaration) -> str:
    return json.dumps(declaration.parameters, sort_keys=True, default=dict)


@lru_cache(maxsize=256)
def _validator(schema: str) -> Draft202012Validator:
    # Imported at the first call: it would cost a tenth of a second at every start.
    from jsonschema import Draft202012Validator

    return Draft202012Validator(json.loads(schema))
