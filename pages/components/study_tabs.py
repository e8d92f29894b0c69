"""The tabs that follow a study in time: progress, and the population as it stands or stood."""

from __future__ import annotations

import streamlit as st

from logician_graph.engine import Engine
from pages.components import places
from pages.components.study_charts import MARKERS, Figure, Paint, progress
from pages.components.study_data import Facts
from pages.components.study_table import bars, cell, column, row, study_table
from pages.components.study_words import DASH, better_by, percent, value
from pages.components.words import count, shortened
from storage import SampleLine, StudyLines

_CONFIG = {"displaylogo": False, "modeBarButtonsToRemove": ["lasso2d", "select2d"], "scrollZoom": False}


def paint() -> Paint:
    """The colours of the theme that is shown."""
    theme = "dark" if st.context.theme.type == "dark" else "light"

    def of(name: str) -> str:
        return str(st.get_option(f"theme.{theme}.{name}"))

    return Paint(
        categories=tuple(st.get_option(f"theme.{theme}.chartCategoricalColors")),
        scale=tuple(st.get_option(f"theme.{theme}.chartSequentialColors")),
        text=of("textColor"),
        muted=of("grayColor"),
        line=of("borderColor"),
        failed=of("redColor"),
        accent=of("blueColor"),
    )


def open_sample(facts: Facts, number: int | str) -> None:
    """Show a candidate; the browser's Back leads here."""
    places.go_to_evolution(study=facts.id, sample=str(number))


def chart(figure: Figure, facts: Facts, *, key: str, alt: str) -> None:
    """A chart whose points open candidates."""
    name = f"chart_{key}"

    def picked() -> None:
        state = st.session_state.get(name)
        points = state.selection.points if state else []
        for point in points:
            if found := point.get("customdata"):
                open_sample(facts, int(found[0] if isinstance(found, list | tuple) else found["0"]))

    st.plotly_chart(figure, key=name, on_select=picked, selection_mode="points", config=_CONFIG, alt=alt)


def nothing_yet(facts: Facts) -> bool:
    """Say that there is nothing to draw; returns whether that is so."""
    if facts.recorded:
        return False
    with st.container(border=True, horizontal_alignment="center", key="nothing_yet"):
        words = "The first sample is under way." if facts.running else "No sample was recorded."
        st.markdown(f":material/hourglass_top: **{words}**", text_alignment="center")
        st.caption("It appears here as soon as it is measured.", text_alignment="center")
    return True


def progress_tab(engine: Engine, facts: Facts) -> None:
    """Objective over samples or generations."""
    if nothing_yet(facts):
        return
    by = st.segmented_control(
        "By", ("Sample", "Generation"), default="Sample", required=True, key="by", bind="query-params",
        label_visibility="collapsed",
    )  # fmt: skip
    figure = progress(facts, paint(), "generation" if by == "Generation" else "sample")
    best = value(facts.best.objective) if facts.best else "none"
    chart(figure, facts, key="progress", alt=f"Objective of the candidates over time; best so far {best}")
    shown = min(len(facts.valid), MARKERS)
    words = "Click a point to see the candidate. Failed ones are the ticks at the bottom."
    if shown < len(facts.valid):
        words += f" About {shown:,} of {len(facts.valid):,} valid candidates are drawn, every new best among them."
    st.caption(f"{words} The axis leaves out a few far-off candidates; double-click shows all.")


def record_slider(facts: Facts) -> int:
    """The record up to which a tab looks: the last one, or one that was chosen."""
    with st.container(horizontal=True, vertical_alignment="center", key="replaying"):
        follow = st.toggle("Follow the latest", True, key="follow", bind="query-params")
        if follow or facts.records < 2:
            return facts.records
        return int(
            st.slider(
                "Record",
                1,
                facts.records,
                facts.records,
                key="at",
                bind="query-params",
                label_visibility="collapsed",
                format="record %d",
            )
        )


def population_tab(engine: Engine, facts: Facts) -> None:
    """Who is in, best first, with a bar for each instance."""
    if nothing_yet(facts):
        return
    at = record_slider(facts)
    members = facts.members(at)
    where = "now" if at == facts.records else f"after record {at:,}"
    st.caption(f"{count(len(members), 'candidate')} in the population {where}, best first.")
    if not members:
        return
    whole = {one.n: one for one in StudyLines(engine.studies.store.database).some(facts.id, [m.n for m in members])}
    values = {n: list(one.per_instance or []) for n, one in whole.items()}
    found = [v for row_values in values.values() for v in row_values if v is not None]
    low, high = (min(found), max(found)) if found else (0.0, 0.0)
    baseline = facts.best_baseline()
    rows = [
        row(
            [
                cell(str(rank), sort=rank, look="muted"),
                sample_cell(line),
                cell(value(line.objective), sort=line.objective, look="strong"),
                _gain(line, facts, baseline),
                cell(shortened(line.thought, 200) or DASH, link=False, title=line.thought),
                bars(values.get(line.n, []), low, high, _bars_words(values.get(line.n, []))),
                cell(f"{line.generation}", sort=line.generation),
                cell(f"{line.record or 0:,}", sort=line.record),
            ],
            opens=str(line.n),
            href=f"evolution?study={facts.id}&sample={line.n}",
            lit=facts.best is not None and line.n == facts.best.n,
        )
        for rank, line in enumerate(members, start=1)
    ]
    columns = (
        column("", "num"),
        column("Sample"),
        column("Objective", "num"),
        column("vs baseline", "num", f"Better by, beside {baseline[0]} with {value(baseline[1])}" if baseline else ""),
        column("Idea", "wide"),
        column("Per instance", "", "A bar for each training instance, on one scale for the whole table"),
        column("Gen.", "num", "Generation"),
        column("Record", "num"),
    )
    opened = study_table("Population", columns, rows, key="population", height=640)
    if opened:
        open_sample(facts, opened)


def _bars_words(values: list[float | None]) -> str:
    return ", ".join(value(one) for one in values[:12]) + (" …" if len(values) > 12 else "")


def _gain(line: SampleLine, facts: Facts, baseline: tuple[str, float] | None) -> dict[str, object]:
    gain = None
    if line.objective is not None and baseline is not None:
        gain = better_by(line.objective, baseline[1], facts.direction)
    look = "" if not gain else "good" if gain > 0 else "bad"
    return cell(percent(gain), sort=gain, look=look)


def sample_cell(line: SampleLine) -> dict[str, object]:
    """A sample's number and operator, in its colour, as a link."""
    return {
        "text": f"{line.n} · {line.operator}",
        "sort": line.n,
        "link": True,
        "dot": paint().operator(line.operator),
        "title": f"Sample {line.n}",
    }
