"""One study: what it found and how it stands on top, everything behind it in tabs. Live while it works."""

from __future__ import annotations

import time
from collections.abc import Callable

import streamlit as st

from logician_graph.engine import Engine
from logician_graph.eoh import TRAIN
from logician_graph.errors import LogicianError
from pages.components import places
from pages.components.pulse import pulse
from pages.components.study_actions import actions, title_menu
from pages.components.study_data import Facts, facts_of, summed
from pages.components.study_held_out import held_out_tab
from pages.components.study_log import log_tab
from pages.components.study_maps import behaviour_tab, genealogy_tab
from pages.components.study_sums import failures_tab, operators_tab
from pages.components.study_tabs import population_tab, progress_tab
from pages.components.study_words import DASH, USABLE, better_by, percent, share, span, study_look, value
from pages.components.words import ago, code, count, exact, money, plain
from storage import StorageError

TABS: dict[str, Callable[[Engine, Facts], None]] = {
    "Progress": progress_tab,
    "Genealogy": genealogy_tab,
    "Population": population_tab,
    "Operators": operators_tab,
    "Failures": failures_tab,
    "Held-out": held_out_tab,
    "Behaviour": behaviour_tab,
    "Log": log_tab,
}
_MANY = 2_000


def study_page(engine: Engine, study_id: str) -> None:
    """Draw the study, or say that there is none."""
    st.button(
        "All studies", icon=":material/arrow_back:", type="tertiary", key="all_studies", on_click=places.go_to_evolution
    )
    try:
        facts = facts_of(engine, study_id)
    except (LogicianError, StorageError) as error:
        st.title("Evolution", anchor=False)
        st.warning(f"This study cannot be shown. {plain(str(error))}", icon=":material/search_off:")
        return
    st.session_state["study_query"] = {
        name: st.query_params.get_all(name) for name in st.query_params if name != "sample"
    }
    title_menu(engine, facts.view.row)
    _live(engine, study_id)


@st.fragment
def _live(engine: Engine, study_id: str) -> None:
    facts = facts_of(engine, study_id)
    _state(engine, facts)
    _figures(facts)
    tabs = st.tabs(list(TABS), key="view", bind="query-params", on_change="rerun")
    for tab, draw in zip(tabs, TABS.values(), strict=True):
        if tab.open:
            with tab:
                draw(engine, facts)
    if facts.running:
        pulse(engine, key="study", soonest_s=2 if len(facts.lines) < _MANY else 6, latest_s=15)


def _state(engine: Engine, facts: Facts) -> None:
    study, look = facts.view.row, study_look(facts.view.row.state)
    now, zone = time.time(), st.context.timezone
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="study_state"):
        st.markdown(look.badge)
        st.caption(
            f"{plain(study.problem.rpartition('/')[2])} · {plain(study.schedule)} · {_models(study.models)} · "
            f"begun {ago(study.created_at, now)}",
            help=exact(study.created_at, zone),
            width="content",
        )
        if study.replays:
            st.page_link(
                places.EVOLUTION, label="Replay of this study", icon=":material/replay:",
                query_params={"study": study.replays},
            )  # fmt: skip
        st.space("stretch")
        actions(engine, facts)
    if facts.view.waiting:
        st.warning(
            f"**It waits for the model** and goes on by itself. {plain(facts.view.waiting)}",
            icon=":material/hourglass_top:",
        )
    elif study.state == "failed":
        st.error(
            f"**It failed.** {plain(study.reason or '')}  \nEverything recorded is kept. Resume it when the cause is "
            "mended.",
            icon=":material/error:",
        )
    elif study.state in ("cancelled", "blocked"):
        st.info(plain(study.reason or "Stopped."), icon=":material/stop_circle:")
    made = [line for line in facts.recorded if line.n >= 0]
    if len(made) >= 10 and not any(line.outcome in USABLE for line in made):
        st.warning(
            "**No sample could be measured so far.** See *Failures* for what went wrong, by reason.",
            icon=":material/report:",
        )


def _models(models: tuple[str, ...]) -> str:
    return ", ".join(code(model.partition(":")[2] or model) for model in models)


def _figures(facts: Facts) -> None:
    study = facts.view.row
    made = [line for line in facts.recorded if line.n >= 0]
    with st.grid(6, min_column_width=130, gap="xxsmall"):
        _best(facts)
        _held_out(facts)
        st.metric(
            "Samples",
            f"{len(made):,}",
            delta=f"of {study.planned:,}",
            delta_color="off",
            delta_arrow="off",
            border=True,
            height="stretch",
            help=_samples_help(facts),
        )
        usable = sum(line.outcome in USABLE for line in made)
        st.metric(
            "Valid",
            share(usable, len(made)),
            border=True,
            height="stretch",
            help=f"{count(usable)} of {count(len(made), 'sample')} could be measured; duplicates count.",
        )
        cost, missing = summed(facts.recorded, lambda line: line.cost_usd)
        st.metric(
            "Cost",
            DASH if cost is None else f"{'over ' if missing else ''}{money(cost)}",
            border=True,
            height="stretch",
            help="Not every sample has a known price." if missing else None,
        )
        left = facts.seconds_left() if study.state == "running" else None
        st.metric(
            "Time left" if left is not None else "Worked",
            f"≈ {span(left)}" if left is not None else _worked(facts),
            border=True,
            height="stretch",
            help=f"From the pace of the last samples; worked for {_worked(facts)}."
            if left is not None
            else "Of the run that is or was last at it.",
        )


def _samples_help(facts: Facts) -> str:
    under_way = len(facts.lines) - len(facts.recorded)
    words = ["Recorded, of those that are planned."]
    if under_way:
        words.append(f"{count(under_way, 'sample')} under way.")
    if facts.view.row.state == "completed" and facts.view.row.reason:
        words.append(plain(facts.view.row.reason))
    return " ".join(words)


def _worked(facts: Facts) -> str:
    return span(facts.view.hours * 3600) if facts.view.hours else DASH


def _best(facts: Facts) -> None:
    best, baseline = facts.best, facts.best_baseline()
    gain = None
    if best is not None and best.objective is not None and baseline is not None:
        gain = better_by(best.objective, baseline[1], facts.direction)
    st.metric(
        "Best, training",
        value(best.objective if best else None),
        delta=percent(gain) if gain is not None else None,
        border=True,
        height="stretch",
        help=f"Sample {best.n}. A plus means better than the best baseline, {baseline[0]} with {value(baseline[1])}."
        if best and baseline
        else "The best objective on the training set.",
    )


def _held_out(facts: Facts) -> None:
    """The set on which the best one does worst beside the best baseline: where overfitting shows."""
    scores = facts.view.held_out.get(facts.best.n, {}) if facts.best else {}
    found: list[tuple[float, str, float, str]] = []
    for name in facts.view.sets:
        score, baseline = scores.get(name), facts.best_baseline(name)
        if name != TRAIN and score is not None and score.objective is not None and baseline is not None:
            gain = better_by(score.objective, baseline[1], facts.direction)
            if gain is not None:
                found.append((gain, name, score.objective, baseline[0]))
    if not found:
        st.metric("Best, held out", DASH, border=True, height="stretch", help="Not measured yet.")
        return
    gain, name, objective, baseline = min(found)
    lines = [f"{plain(one[1])}: {value(one[2])}, {percent(one[0])} vs {plain(one[3])}" for one in found]
    st.metric(
        "Best, held out",
        value(objective),
        delta=percent(gain),
        border=True,
        height="stretch",
        help=f"On “{plain(name)}”, the set on which it does worst beside the best baseline.\n\n" + "\n\n".join(lines),
    )
