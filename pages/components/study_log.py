"""The log of a study: every sample, failed ones too; filters and page are in the URL."""

from __future__ import annotations

import csv
import io
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from logician_graph.engine import Engine
from pages.components.study_data import Facts
from pages.components.study_table import badge, cell, column, row, study_table
from pages.components.study_tabs import open_sample, sample_cell
from pages.components.study_words import DASH, OPERATORS, OUTCOMES, VERDICTS, outcome_look, span, value
from pages.components.words import count, duration, exact, shortened
from storage import SampleLine

PAGE = 50
_RANGES = ("gen_from", "gen_to", "score_from", "score_to")
_ORDERS = {"newest": "Newest first", "oldest": "Oldest first", "best": "Best first", "slowest": "Slowest first"}
_COLUMNS = (
    column("Sample"),
    column("Outcome"),
    column("Objective", "num"),
    column("Idea or error", "wide"),
    column("Parents", "muted"),
    column("Gen.", "num", "Generation"),
    column("Tokens", "num", "In and out"),
    column("Measured", "num", "Time of the measurement"),
    column("When", "muted"),
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the log is narrowed to; empty: everything."""

    operators: tuple[str, ...] = ()
    outcomes: tuple[str, ...] = ()
    first_generation: int | None = None
    last_generation: int | None = None
    least: float | None = None
    most: float | None = None
    text: str = ""


def chosen(lines: Sequence[SampleLine], wanted: Wanted) -> list[SampleLine]:
    """The lines that fit."""
    text = wanted.text.strip().lower()
    return [
        line
        for line in lines
        if (not wanted.operators or line.operator in wanted.operators)
        and (not wanted.outcomes or (line.outcome or line.phase) in wanted.outcomes)
        and (wanted.first_generation is None or line.generation >= wanted.first_generation)
        and (wanted.last_generation is None or line.generation <= wanted.last_generation)
        and (wanted.least is None or (line.objective is not None and line.objective >= wanted.least))
        and (wanted.most is None or (line.objective is not None and line.objective <= wanted.most))
        and (not text or text == str(line.n) or text in line.thought.lower() or text in (line.error or "").lower())
    ]


def ordered(lines: Sequence[SampleLine], order: str, facts: Facts) -> list[SampleLine]:
    """In one of the orders."""
    if order == "best":
        return sorted(lines, key=lambda line: (facts.cost(line), line.n))
    if order == "slowest":
        return sorted(lines, key=lambda line: (-line.seconds, line.n))
    unrecorded = facts.records + 1
    return sorted(lines, key=lambda line: (line.record or unrecorded, line.n), reverse=order != "oldest")


def log_tab(engine: Engine, facts: Facts) -> None:
    """Filters, table, paging, CSV."""
    wanted, order = _filters()
    lines = ordered(chosen(facts.lines, wanted), order, facts)
    if not lines:
        with st.container(border=True, horizontal_alignment="center", key="no_samples"):
            words = "No sample matches these filters." if facts.lines else "No sample yet."
            st.markdown(f"**{words}**", text_alignment="center")
            if facts.lines:
                st.button("Clear the filters", icon=":material/filter_alt_off:", on_click=_clear, key="clear_log")
        return
    pages = math.ceil(len(lines) / PAGE)
    number = min(int(st.session_state.get("log_page") or 1), pages)
    now, zone = time.time(), st.context.timezone
    rows = [_row(line, facts, now, zone) for line in lines[(number - 1) * PAGE : number * PAGE]]
    opened = study_table("Samples", _COLUMNS, rows, key="log", sortable=False)
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.caption(count(len(lines), "sample"))
        if pages > 1:
            st.pagination(pages, key="log_page", bind="query-params")
        st.download_button(
            "CSV",
            lambda: to_csv(lines),
            file_name=f"study-{facts.id}.csv",
            mime="text/csv",
            icon=":material/download:",
            type="tertiary",
            key="log_csv",
            on_click="ignore",
        )
    if opened:
        open_sample(facts, opened)


def _filters() -> tuple[Wanted, str]:
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="log_filters"):
        text = st.text_input(
            "Filter", type="search", live=True, key="find", bind="query-params", placeholder="Number, idea or error",
            width=180,
        )  # fmt: skip
        operators = st.multiselect(
            "Operator", list(OPERATORS), key="operator", bind="query-params", placeholder="Every one", width=150
        )
        words = st.multiselect(
            "Outcome", list(OUTCOMES),
            format_func=lambda name: OUTCOMES[name].word, key="outcome", bind="query-params", placeholder="Every one",
            width=170,
        )  # fmt: skip
        order = st.selectbox(
            "Order", list(_ORDERS), format_func=_ORDERS.__getitem__, key="log_order", bind="query-params", width=135
        )
        ranged = [name for name in _RANGES if st.session_state.get(name) is not None]
        label = f"Ranges · {len(ranged)}" if ranged else "Ranges"
        with (
            st.popover(label, icon=":material/tune:", key="log_ranges"),
            st.grid(2, min_column_width=150, gap="small"),
        ):
            first = st.number_input("Generation from", 0, None, None, key="gen_from", bind="query-params")
            last = st.number_input("Generation to", 0, None, None, key="gen_to", bind="query-params")
            least = st.number_input(
                "Objective from", None, None, None, key="score_from", bind="query-params", format="%g"
            )
            most = st.number_input("Objective to", None, None, None, key="score_to", bind="query-params", format="%g")
    wanted = Wanted(
        tuple(operators),
        tuple(words),
        None if first is None else int(first),
        None if last is None else int(last),
        least,
        most,
        text or "",
    )
    return wanted, str(order or "newest")


def _clear() -> None:
    st.session_state.find = ""
    st.session_state.operator, st.session_state.outcome = [], []
    for name in _RANGES:
        st.session_state[name] = None


def _row(line: SampleLine, facts: Facts, now: float, zone: str | None) -> dict[str, object]:
    tokens = None
    if line.input_tokens is not None and line.output_tokens is not None:
        tokens = line.input_tokens + line.output_tokens
    failed = bool(line.error) and line.objective is None
    words = line.error if failed else line.thought
    at = line.recorded_at or line.proposed_at
    look = "strong" if line.best else ""
    return row(
        [
            sample_cell(line),
            badge(outcome_look(line.outcome, line.phase), VERDICTS.get(line.verdict or "", "")),
            cell(value(line.objective), look=look, title="a new best" if line.best else ""),
            cell(shortened(words or DASH, 240), look="bad" if failed else "", title=words or ""),
            cell(", ".join(map(str, line.parents)) or DASH),
            cell(str(line.generation)),
            cell(
                DASH if tokens is None else f"{tokens:,}", title=f"{line.tries} model calls" if line.tries > 1 else ""
            ),
            cell(duration(line.seconds) if line.seconds > 0 else DASH),
            cell(f"{span(now - at)} ago", title=exact(at, zone)),
        ],
        opens=str(line.n),
        href=f"evolution?study={facts.id}&sample={line.n}",
        lit=line.best,
    )


def to_csv(lines: Sequence[SampleLine]) -> str:
    """Samples as CSV: numbers without units, an empty field where a number is unknown."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(SampleLine._fields)
    for line in lines:
        values = line._asdict() | {"parents": " ".join(map(str, line.parents))}
        writer.writerow([_safe(one) if isinstance(one, str) else one for one in values.values()])
    return out.getvalue()


def _safe(text: str) -> str:
    """A text that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text
