"""What can be done with a study: stop, resume, replay, export, rename, delete."""

from __future__ import annotations

from typing import Any

import streamlit as st

from logician_graph.engine import Engine
from logician_graph.eoh import StudyRow
from pages.components import places
from pages.components.copy_button import copy_link_button
from pages.components.notices import attempt, doing
from pages.components.study_data import Facts
from pages.components.study_list import deleted
from pages.components.words import plain

_RENAMING = "renaming_study"


def title_menu(engine: Engine, study: StudyRow) -> None:
    """The title with rename, link and delete."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", wrap=False):
        if st.session_state.get(_RENAMING) == study.id:
            _rename(engine, study)
            return
        st.title(plain(study.title), anchor=False, width="content")
        with (
            st.popover(":material/more_horiz:", type="tertiary", key="study_menu", help="Rename, link, delete"),
            st.container(gap=None),
        ):
            st.button(
                "Rename",
                icon=":material/edit:",
                type="tertiary",
                key="rename_study",
                on_click=lambda: st.session_state.update({_RENAMING: study.id}),
            )
            copy_link_button(f"/evolution?study={study.id}", key="link_study", label="Copy link")
            st.button(
                "Delete",
                icon=":material/delete:",
                type="tertiary",
                key="delete_study",
                disabled=study.state in ("queued", "running", "waiting"),
                help="Stop it first." if study.state in ("queued", "running", "waiting") else None,
                on_click=_delete,
                args=(engine, study),
            )


def _rename(engine: Engine, study: StudyRow) -> None:
    def save() -> None:
        title = str(st.session_state.get("study_title") or "").strip()
        st.session_state.pop(_RENAMING, None)
        if title and title != study.title:
            attempt(lambda: engine.studies.rename(study.id, title))

    st.text_input(
        "Title", study.title, key="study_title", max_chars=200, label_visibility="collapsed", on_change=save, width=480
    )
    st.button("Done", type="tertiary", key="study_title_done", on_click=save)


def _delete(engine: Engine, study: StudyRow) -> None:
    if attempt(lambda: engine.studies.delete(study.id)):
        deleted(study)
        places.go_to_evolution()


def actions(engine: Engine, facts: Facts) -> None:
    """Buttons by what the study's state allows."""
    study = facts.view.row
    if facts.running:
        run = engine.run(study.run_id) if study.run_id else None
        stopping = run is not None and run.cancel_requested
        st.button(
            "Stopping …" if stopping else "Stop",
            icon=":material/stop_circle:",
            key="stop_study",
            disabled=stopping,
            help="Everything recorded is kept, and it can be resumed.",
            on_click=doing(lambda: engine.studies.stop(study.id)),
        )
    elif study.state != "recorded" and _unfinished(facts):
        _resume(engine, facts)
    if not facts.running and facts.recorded:
        st.button(
            "Replay",
            icon=":material/replay:",
            key="replay_study",
            help="Repeats the study from its recorded replies, without a model, as a study of its own.",
            on_click=_replay,
            args=(engine, study.id),
        )
    if facts.best is not None:
        st.download_button(
            "Export",
            lambda: engine.studies.export(study.id),
            file_name=f"{study.problem.rpartition('/')[2]}_{study.id[-6:]}.py",
            mime="text/x-python",
            icon=":material/download:",
            key="export_study",
            on_click="ignore",
            help="The best heuristic as a Python module with its provenance, its tests and what to cite.",
        )


def _unfinished(facts: Facts) -> bool:
    study = facts.view.row
    by_budget = study.state == "completed" and "budget" in (study.reason or "")
    return study.state != "completed" or by_budget


def _replay(engine: Engine, study_id: str) -> None:
    made: list[str] = []
    if attempt(lambda: made.append(engine.studies.replay(study_id).id)):
        places.go_to_evolution(study=made[0])


def _resume(engine: Engine, facts: Facts) -> None:
    options = facts.view.options
    choices = {one.ref: one for one in engine.models.choices()}
    known = [*choices, *(ref for ref in options.models if ref not in choices)]
    with st.popover("Resume", icon=":material/play_arrow:", key="resume_menu"):
        st.caption("It goes on where it stood. Models and limits may change; the rest stays as it was.")
        if facts.view.row.replays is None:
            st.multiselect(
                "Models",
                known,
                default=list(options.models),
                format_func=lambda ref: choices[ref].title if ref in choices else ref,
                key="resume_models",
            )
        budget = options.budget
        limits: tuple[tuple[str, str, Any, Any, Any], ...] = (
            ("samples", "Most samples", 1, budget.samples, 10),
            ("tokens", "Most tokens", 1, budget.tokens, 1000),
            ("cost_usd", "Most US dollars", 0.0, budget.cost_usd, 0.5),
            ("hours", "Most hours of work", 0.01, budget.hours, 1.0),
        )
        with st.grid(2, min_column_width=140, gap="small"):
            for name, label, least, now, step in limits:
                st.number_input(label, least, None, now, step=step, key=f"resume_{name}", placeholder="no limit")
        st.button(
            "Resume",
            type="primary",
            icon=":material/play_arrow:",
            key="resume_study",
            on_click=_go_on,
            args=(engine, facts.id, [name for name, *_ in limits]),
        )


def _go_on(engine: Engine, study_id: str, limits: list[str]) -> None:
    changes: dict[str, Any] = {
        "budget": {name: st.session_state.get(f"resume_{name}") for name in limits},
    }
    if models := st.session_state.get("resume_models"):
        changes["models"] = models
    attempt(lambda: engine.studies.resume(study_id, changes))
