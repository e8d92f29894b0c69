"""A table with links, badges and small bars, for studies and their samples."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from streamlit.components.v2 import component

from pages.components.states import Look

Cell = dict[str, Any]
_HERE = Path(__file__).parent
_TABLE = component(
    "logician_study_table",
    html='<div class="frame">\n<table></table>\n</div>',
    css=(_HERE / "study_table.css").read_text(encoding="utf-8"),
    js=(_HERE / "study_table.js").read_text(encoding="utf-8"),
)


def column(name: str, kind: str = "", meaning: str = "") -> dict[str, str]:
    """``kind``: ``num`` for numbers, ``wide`` for the one that takes the room that is left."""
    return {"name": name, "kind": kind, "help": meaning}


def cell(text: str, *, sort: float | str | None = None, look: str = "", title: str = "", link: bool = False) -> Cell:
    """Text; ``sort``: what it is sorted by where that is not the text. Empty sorts last."""
    made: Cell = {"text": text, "look": look, "title": title, "link": link}
    if sort is not None or text == "–":
        made["sort"] = sort if sort is not None else ""
    return made


def badge(look: Look, title: str = "") -> Cell:
    """A state or an outcome."""
    return {"badge": {"word": look.word, "icon": look.icon, "color": look.color}, "sort": look.word, "title": title}


def bars(values: Sequence[float | None], low: float, high: float, title: str) -> Cell:
    """A small bar for each value, on a scale from ``low`` to ``high``."""
    return {"bars": list(values), "low": low, "high": high, "title": title, "sort": ""}


def row(cells: Sequence[Cell], *, opens: str | None = None, href: str = "", lit: bool = False) -> dict[str, Any]:
    """One line; with ``opens``, what is told when it is clicked, it can be opened."""
    return {"cells": list(cells), "id": opens, "href": href, "lit": lit}


def study_table(
    label: str,
    columns: Sequence[dict[str, str]],
    rows: Sequence[dict[str, Any]],
    *,
    key: str,
    sortable: bool = True,
    height: int | None = None,
) -> str | None:
    """Draw it. Returns the id of the row that was just opened, if any."""
    data = {
        "label": label,
        "columns": list(columns),
        "rows": list(rows),
        "sortable": sortable,
        "height": height,
    }
    result = _TABLE(key=key, data=data, on_opened_change=lambda: None)
    return result.opened
