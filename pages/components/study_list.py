"""The list of studies, with what can be made of several of them, and an empty state that teaches."""

from __future__ import annotations

import time
from typing import Any
from urllib.parse import quote

import streamlit as st

from logician_graph.engine import Engine
from logician_graph.eoh import StudyRow
from pages.components import places
from pages.components.notices import attempt
from pages.components.pulse import pulse
from pages.components.study_table import badge, cell, column, row, study_table
from pages.components.study_words import DASH, better_by, percent, share, study_look, value
from pages.components.words import ago, count, exact, money, plain, shortened

_UNDO_S = 30.0
_DELETED = "deleted_study"
_COLUMNS = (
    column("State"),
    column("Study", "wide"),
    column("Problem"),
    column("Best", "num", "The best objective on the training set"),
    column("vs baseline", "num", "How much better than the best baseline on the training set"),
    column("Samples", "num", "Recorded of planned"),
    column("Valid", "num", "Samples that could be measured"),
    column("Cost", "num"),
    column("Begun", "muted"),
)


def deleted(row: StudyRow) -> None:
    """Offer on the list to bring this study back."""
    st.session_state[_DELETED] = (row.id, row.title, time.time())


def study_list(engine: Engine) -> None:
    """Heading, table, comparing."""
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.title("Evolution", anchor=False)
        st.button(
            "New study",
            type="primary",
            icon=":material/add:",
            key="new_study",
            on_click=places.go_to_evolution,
            kwargs={"new": "study"},
        )
    _rows(engine)


@st.fragment
def _rows(engine: Engine) -> None:
    studies = engine.studies.all()
    undoable = _undo(engine)
    if not studies:
        _nothing()
        pulse(engine, key="studies")
        return
    opened = study_table(
        "Studies", _COLUMNS, [_row(engine, one, time.time(), st.context.timezone) for one in studies], key="studies"
    )
    if opened:
        places.go_to_evolution(study=opened)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.caption(count(len(studies), "study", "studies"))
    if len(studies) > 1:
        _comparing(studies)
    pulse(engine, key="studies", latest_s=_UNDO_S if undoable else 60)


def _row(engine: Engine, study: StudyRow, now: float, timezone: str | None) -> dict[str, Any]:
    gain = None
    if study.best is not None:
        gain = _gain(engine, study)
    problem = study.problem.rstrip("/").rpartition("/")[2]
    made = f"{study.samples:,} / {study.planned:,}"
    ended = plain(study.reason or "")
    return row(
        [
            badge(study_look(study.state), study.reason or ""),
            cell(study.title, link=True, title=f"{study.title}\n{ended}".strip()),
            cell(problem, look="muted", title=study.problem),
            cell(value(study.best), sort=study.best),
            cell(
                percent(gain), sort=gain, look="" if gain is None else "good" if gain > 0 else "bad" if gain < 0 else ""
            ),
            cell(made, sort=study.samples),
            cell(share(study.valid, study.samples), sort=study.valid / study.samples if study.samples else None),
            cell(money(study.cost_usd) if study.cost_usd else DASH, sort=study.cost_usd or None),
            cell(ago(study.created_at, now), sort=study.created_at, title=exact(study.created_at, timezone)),
        ],
        opens=study.id,
        href=f"evolution?study={quote(study.id)}",
    )


def _gain(engine: Engine, study: StudyRow) -> float | None:
    sign = 1 if study.direction == "min" else -1
    known = [
        score.objective
        for score in engine.studies.store.scores(study.id)
        if score.subject.startswith("baseline:") and score.set_name == "train" and score.objective is not None
    ]
    if not known or study.best is None:
        return None
    return better_by(study.best, min(known, key=lambda one: sign * one), study.direction)


def _comparing(studies: list[StudyRow]) -> None:
    titles = {one.id: f"{shortened(one.title, 40)} · {one.problem} · {one.id[-4:]}" for one in studies}
    with st.container(horizontal=True, vertical_alignment="bottom", key="comparing"):
        chosen = st.multiselect(
            "Compare studies",
            list(titles),
            format_func=titles.__getitem__,
            key="to_compare",
            placeholder="Choose two or more",
            width=520,
        )
        st.button(
            "Compare",
            icon=":material/compare_arrows:",
            key="compare",
            disabled=len(chosen) < 2,
            on_click=places.go_to_evolution,
            kwargs={"compare": ",".join(chosen)},
        )


def _undo(engine: Engine) -> bool:
    found = st.session_state.get(_DELETED)
    if not found or time.time() - found[2] > _UNDO_S:
        return False
    study_id, title, _ = found

    def restore() -> None:
        st.session_state.pop(_DELETED, None)
        if attempt(lambda: engine.studies.restore(study_id)):
            places.go_to_evolution(study=study_id)

    with st.container(border=True, horizontal=True, vertical_alignment="center", gap="small", key="undo_study"):
        st.caption(f"Deleted “{plain(shortened(title, 60))}”", width="stretch")
        st.button("Undo", icon=":material/undo:", type="tertiary", key="undo_delete_study", on_click=restore)
    return True


def _nothing() -> None:
    with st.container(border=True, horizontal_alignment="center", key="no_studies"):
        st.space("small")
        st.markdown(":material/genetics: **No studies yet**", text_alignment="center")
        st.caption(
            "In a study a model writes small functions that decide something: which bin an item goes to, which city "
            "comes next. Every one of them is run and measured, the best become parents of the next, and what "
            "survives is compared with known methods on data that it was not chosen on.",
            text_alignment="center",
            width=640,
        )
        st.button(
            "Start your first study",
            icon=":material/play_arrow:",
            key="first_study",
            on_click=places.go_to_evolution,
            kwargs={"new": "study", "problem": "fit_function"},
        )
        st.space("small")
