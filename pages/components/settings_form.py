"""Fields of the settings page: each shows where its value comes from, what is wrong with it, and how to undo it.

A field set in the environment cannot be edited. Nothing is stored before Save; a value that cannot be used stays in its
field with the sentence that says why, and the others of its form are not stored either.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from logician_graph.engine import Engine
from logician_graph.errors import LogicianError
from logician_graph.settings import variable
from pages.components.words import code, plain
from storage import StorageError

Shown = Callable[[Any], str]


class SettingsForm:
    """The fields of one section and what Save does with them."""

    def __init__(self, engine: Engine, name: str) -> None:
        self.engine = engine
        self.name = name
        self._settings = engine.settings
        self._sources = engine.settings.sources()
        self._fields: dict[str, tuple[str, Shown]] = {}

    # Fields

    def number(
        self,
        name: str,
        label: str,
        *,
        least: float,
        step: float = 1,
        unset: str = "",
        shown: Shown = lambda value: f"{value:,}",
        number_format: str | None = None,
    ) -> None:
        """A number. An empty field means ``unset``, or the default where there is one."""
        kind = int if isinstance(step, int) else float
        default = self.default_of(name)
        with _field():
            st.number_input(
                label,
                value=None,
                min_value=kind(least),
                step=kind(step),
                format=number_format,
                placeholder=unset or (f"{default:,}" if default is not None else ""),
                **self._common(name, label, shown, lambda value: None if value is None else kind(value)),
            )
            self._notes(name, shown, unset)

    def text(self, name: str, label: str, *, placeholder: str = "") -> None:
        """A line of text."""
        with _field():
            st.text_input(label, placeholder=placeholder, **self._common(name, label, str, lambda v: str(v or "")))
            self._notes(name, str, "")

    def choice(self, name: str, label: str, options: Mapping[str, str]) -> None:
        """One of several values; the key "" stands for "not set"."""
        shown = _worded(options)
        with _field():
            common = self._common(name, label, shown, lambda value: value or "")
            st.selectbox(label, list(options), format_func=shown, **common)
            self._notes(name, shown, options.get("", ""))

    def radio(self, name: str, label: str, options: Mapping[str, str], captions: Sequence[str]) -> None:
        """One of a few values, each with a sentence."""
        shown = _worded(options)
        with _field():
            common = self._common(name, label, shown, lambda value: value or "")
            st.radio(label, list(options), format_func=shown, captions=captions, **common)
            self._notes(name, shown, "")

    def _common(self, name: str, label: str, shown: Shown, to_widget: Callable[[Any], Any]) -> dict[str, Any]:
        self._fields[name] = (label, shown)
        key = field_key(name)
        if key not in st.session_state or self.locked(name):
            st.session_state[key] = to_widget(getattr(self._settings, name))
        return {"key": key, "help": self.meaning(name), "disabled": self.locked(name), "on_change": "ignore"}

    def _notes(self, name: str, shown: Shown, unset: str) -> None:
        problem_note(name)
        st.caption(self.source_note(name, shown, unset))

    # Facts

    def locked(self, name: str) -> bool:
        """True when the environment decides."""
        return self._sources[name] == "environment"

    def meaning(self, name: str) -> str:
        """The setting's documentation."""
        return type(self._settings).model_fields[name].description or ""

    def default_of(self, name: str) -> Any:
        """The value without anything set; None where it follows from something else."""
        field = type(self._settings).model_fields[name]
        return None if field.default_factory is not None or field.is_required() else field.default

    def source_note(self, name: str, shown: Shown = str, unset: str = "") -> str:
        """Where the value comes from, in Markdown."""
        default = self.default_of(name)
        words = f" Default: {plain(shown(default))}." if default is not None else f" Default: {unset}." if unset else ""
        match self._sources[name]:
            case "environment":
                return f":material/lock: Set by {code(variable(name))} in the environment"
            case "stored":
                return f":material/edit: Chosen here.{words}"
            case _:
                return (
                    "Default"
                    if unset or default is not None or getattr(self._settings, name) is not None
                    else "Not set"
                )

    # Saving

    def save(self, label: str = "Save") -> None:
        """The Save button of the section and what the last save did."""
        with st.container(horizontal=True, vertical_alignment="center"):
            st.button(label, type="primary", icon=":material/save:", key=f"save_{self.name}", on_click=self._save)
            reset = [name for name in self._fields if self._sources[name] == "stored"]
            if reset:
                st.button(
                    "Back to defaults", type="tertiary", key=f"reset_{self.name}", on_click=self._reset, args=(reset,)
                )
            told(self.name)

    @property
    def fields(self) -> dict[str, tuple[str, Shown]]:
        """Label and wording of each field that was drawn."""
        return self._fields

    def changed(self) -> dict[str, Any]:
        """What differs from the settings in force; an empty field is None."""
        values: dict[str, Any] = {}
        for name in self._fields:
            value = st.session_state.get(field_key(name))
            value = None if value == "" else value
            if not self.locked(name) and value != _plain_value(getattr(self._settings, name)):
                values[name] = value
        return values

    def _save(self) -> None:
        store(self.engine, self.name, self.changed(), self._fields)

    def _reset(self, names: Sequence[str]) -> None:
        store(self.engine, self.name, dict.fromkeys(names), self._fields)


def store(
    engine: Engine,
    section: str,
    values: Mapping[str, Any],
    fields: Mapping[str, tuple[str, Shown]],
    *,
    act: Callable[[], None] | None = None,
) -> bool:
    """Store ``values`` (by ``act``, or as settings) and note what to tell; False when they cannot be used."""
    for name in fields:
        st.session_state.pop(_problem_key(name), None)
    before = engine.settings
    if not values and act is None:
        note(section, "Nothing has changed.", icon="info")
        return True
    try:
        if act is not None:
            act()
        else:
            engine.save_settings(values)
    except (LogicianError, StorageError) as error:
        problems = getattr(error, "problems", {})
        for name, sentence in problems.items():
            st.session_state[_problem_key(name)] = sentence
        if not problems.keys() & fields.keys():
            note(section, str(error), icon="error")
        else:
            note(section, "Nothing was saved: see the field.", icon="error")
        return False
    for name in values:
        st.session_state.pop(field_key(name), None)
    changes = [
        f"{fields[name][0].lower()} is now {_told_value(getattr(engine.settings, name), fields[name][1])}"
        for name in values
        if name in fields and getattr(engine.settings, name) != getattr(before, name)
    ]
    words = "; ".join(changes) or "the settings are back to where they were"
    note(section, f"Saved: {words}. It applies to the next run.", icon="check_circle")
    return True


def note(section: str, words: str, *, icon: str) -> None:
    """What to tell in ``section`` on the next drawing."""
    st.session_state[f"told_{section}"] = (words, icon)


def told(section: str) -> None:
    """Tell it, once."""
    kept = st.session_state.pop(f"told_{section}", None)
    if kept is not None:
        words, icon = kept
        color = {"error": "red", "check_circle": "green"}.get(icon, "gray")
        st.markdown(f":{color}[:material/{icon}:] {plain(words)}")


def field_key(name: str) -> str:
    """The widget key of a setting."""
    return f"setting_{name}"


def problem_note(name: str) -> None:
    """What is wrong with the value of ``name``, if something is."""
    problem = st.session_state.get(_problem_key(name))
    if problem:
        st.caption(f":red[:material/error: {plain(problem)}]")


def _field() -> DeltaGenerator:
    return st.container(gap="xxsmall")


def _worded(options: Mapping[str, str]) -> Shown:
    return lambda value: options.get(value or "", str(value))


def _problem_key(name: str) -> str:
    return f"problem_{name}"


def _plain_value(value: Any) -> Any:
    return value if value is None or isinstance(value, (int, float, str)) else str(value)


def _told_value(value: Any, shown: Shown) -> str:
    return "not set" if value is None else shown(value)
