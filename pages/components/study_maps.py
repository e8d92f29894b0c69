"""The tabs that show candidates beside each other: who came from whom, and size against worth."""

from __future__ import annotations

from functools import lru_cache
from typing import get_args

import streamlit as st

from logician_graph.engine import Engine
from logician_graph.eoh.code import Feature, measure
from pages.components.study_charts import behaviour
from pages.components.study_data import Facts, evenly
from pages.components.study_genealogy import NODES, WINDOW, genealogy, window
from pages.components.study_tabs import chart, nothing_yet, paint, record_slider
from pages.components.words import count
from storage import StudyLines

_MEASURED = 500
_FEATURES: dict[str, Feature] = {
    "Nodes of the syntax tree": "nodes",
    "Lines of code": "lines",
    "Depth of nesting": "depth",
    "Branches": "branches",
    "Calls": "calls",
    "Constants": "constants",
}


def genealogy_tab(engine: Engine, facts: Facts) -> None:
    """The family of the candidates, in a window of records."""
    if nothing_yet(facts):
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="medium", key="genealogy_view"):
        layers = st.segmented_control(
            "Layers", ("Generations", "Records"), default="Generations", required=True, key="layers",
            bind="query-params", label_visibility="collapsed",
        )  # fmt: skip
        colour = st.segmented_control(
            "Colour", ("Operator", "Objective"), default="Operator", required=True, key="colour", bind="query-params",
            label_visibility="collapsed",
        )  # fmt: skip
        failed = st.toggle("Failed ones", True, key="failed", bind="query-params")
        width = st.selectbox(
            "Records shown",
            (100, WINDOW, NODES),
            index=1,
            format_func=lambda size: f"newest {size:,} records",
            key="width",
            bind="query-params",
            label_visibility="collapsed",
            width=210,
        )
    last = record_slider(facts)
    first = max(1, last - int(width) + 1)
    figure = genealogy(
        facts,
        paint(),
        first,
        last,
        layers="record" if layers == "Records" else "generation",
        colour="objective" if colour == "Objective" else "operator",
        failed=bool(failed),
    )
    drawn = window(facts, first, last, failed=bool(failed))
    out = sum(1 for line in drawn for parent in line.parents if (facts.by_number[parent].record or 0) < first)
    chart(figure, facts, key="genealogy", alt=f"Who came from whom among {len(drawn)} candidates")
    words = f"{count(len(drawn), 'candidate')} of records {first:,} to {last:,}, with the whole path of the best."
    if out and first > 1:
        words += f" {count(out, 'line')} from parents before the window {'is' if out == 1 else 'are'} left out."
    st.caption(f"{words} Large points are in the population; click one to see it.")


@lru_cache(maxsize=8_000)
def _sizes(code: str) -> dict[str, int] | None:
    try:
        found = measure(code)
    except SyntaxError:
        return None
    return {name: found.get(name) for name in get_args(Feature)}


@st.cache_data(max_entries=32, show_spinner="Measuring the code …")
def _all_sizes(_engine: Engine, study_id: str, numbers: tuple[int, ...]) -> dict[int, dict[str, int]]:
    codes = StudyLines(_engine.studies.store.database).codes(study_id, numbers)
    sizes = {number: _sizes(code) for number, code in codes.items()}
    return {number: found for number, found in sizes.items() if found is not None}


def behaviour_tab(engine: Engine, facts: Facts) -> None:
    """Size of the code against the objective."""
    if nothing_yet(facts):
        return
    feature = st.selectbox(
        "Size", list(_FEATURES), key="size", bind="query-params", label_visibility="collapsed", width=260
    )
    shown = evenly(facts.valid, _MEASURED)
    inside = {line.n for line in facts.members()}
    numbers = {line.n for line in shown} | inside
    found = _all_sizes(engine, facts.id, tuple(sorted(numbers)))
    sizes = {number: float(sizes[_FEATURES[feature]]) for number, sizes in found.items()}
    figure = behaviour(facts, paint(), sizes, feature)
    chart(figure, facts, key="behaviour", alt=f"{feature} against the objective")
    words = "Comments, docstrings and annotations do not count. Large points are in the population."
    if len(sizes) < len(facts.valid):
        words += f" {len(sizes):,} of {len(facts.valid):,} valid candidates are drawn."
    st.caption(words)
