"""The form of a new study: what to improve, who writes, how, and how much. It says what that means before it starts."""

from __future__ import annotations

import re
from typing import Any

import streamlit as st
from pydantic import ValidationError

from logician_graph.engine import Engine
from logician_graph.eoh import SCHEDULES, TRAIN, Problem, StudyOptions, default_settings, planned_samples
from logician_graph.eoh.plan import RULES
from logician_graph.errors import LogicianError
from pages.components import places
from pages.components.study_words import OPERATORS
from pages.components.study_words import SCHEDULES as SAYINGS
from pages.components.words import code, count, duration, plain
from storage import StorageError

_KINDS = {
    "single": "One population",
    "islands": "Islands that exchange their best now and then",
    "map_elites": "A grid by size and depth of the code, the best of each cell",
}
_ERROR = "study_form_error"
_WRITING = ("I1", "E1", "E2", "M1", "M2", "M3")


def study_form(engine: Engine) -> None:
    """Draw the form."""
    st.button(
        "All studies", icon=":material/arrow_back:", type="tertiary", key="all_studies", on_click=places.go_to_evolution
    )
    st.title("New study", anchor=False)
    problems, broken = engine.studies.problems()
    names = [problem.id for problem in problems]
    by_name = dict(zip(names, problems, strict=True))
    wanted = st.query_params.get("problem")
    left, right = st.columns([3, 2], gap="large")
    with left:
        name = st.selectbox(
            "Problem",
            list(by_name),
            index=names.index(wanted) if wanted in names else 0,
            format_func=lambda one: by_name[one].title,
            key="new_problem",
            help="A problem is a folder; `logician eoh init` writes one of your own to begin with.",
        )
        problem = by_name[name]
        _models(engine)
        schedule = st.radio(
            "Schedule",
            SCHEDULES[::-1],
            captions=[SAYINGS[one] for one in SCHEDULES[::-1]],
            format_func=lambda one: one.capitalize().replace("-", " "),
            key="new_schedule",
        )
        default = default_settings(schedule)
        with st.grid(3, min_column_width=120, gap="small"):
            st.number_input(
                "Population", 1, 1000, None, key="new_size", placeholder=str(default.size),
                help="How many heuristics survive.",
            )  # fmt: skip
            st.number_input(
                "Generations", 0, 100_000, None, key="new_generations", placeholder=str(default.generations)
            )
            st.number_input("Most samples", 1, None, None, key="new_samples", placeholder="no limit", step=10)
        with st.expander("Advanced", icon=":material/tune:", key="new_advanced"):
            _advanced(schedule)
        values = collected(st.session_state.to_dict())
        _meaning(values)
        if error := st.session_state.pop(_ERROR, None):
            st.error(plain(error), icon=":material/error:")
        st.text_input("Title", key="new_title", max_chars=200, placeholder=problem.title)
        st.button(
            "Start the study",
            type="primary",
            icon=":material/play_arrow:",
            key="start_study",
            disabled=not values["models"],
            on_click=_start,
            args=(engine,),
        )
    with right:
        _problem(problem)
        for folder, reason in broken.items():
            st.warning(f"The problem {code(folder)} cannot be used. {plain(reason)}", icon=":material/warning:")


def _models(engine: Engine) -> None:
    choices = {one.ref: one for one in engine.models.choices()}
    ready = [ref for ref, one in choices.items() if one.ready]
    chosen = st.multiselect(
        "Models",
        list(choices),
        default=ready[:1],
        format_func=lambda ref: choices[ref].title if choices[ref].ready else f"{choices[ref].title} (not ready)",
        key="new_models",
        placeholder="Choose who writes",
        help="Of several, the one that improves most for its cost is asked more often.",
    )
    if not chosen:
        st.caption(":orange[:material/warning: A study needs at least one model.]")
    for ref in chosen:
        if not choices[ref].ready:
            note = f"{plain(choices[ref].title)} is not ready: {plain(choices[ref].note)}."
            st.caption(f":orange[:material/warning: {note} The study would wait for it.]")


def _problem(problem: Problem) -> None:
    with st.container(border=True, key="problem_card"):
        st.markdown(f"**{plain(problem.title)}** · {'lower' if problem.direction == 'min' else 'higher'} is better")
        st.code(f"def {problem.signature.text}", language="python", wrap_lines=True)
        unfolded = re.sub(r"(?<![.:])\n", " ", problem.description.strip())  # the file's own width is not the page's
        st.markdown(plain(unfolded).replace("\n", "  \n"))
        st.caption(f"Returns {plain(problem.returns)}.")
        limit = f"at most {duration(problem.limits.seconds)} and {problem.limits.memory_mb:,} MB per candidate"
        st.table(
            {
                "Trained on": ", ".join(code(file) for file in problem.sets[TRAIN].files),
                "Held out": ", ".join(plain(name) for name in problem.held_out) or "nothing",
                "Baselines": ", ".join(plain(name) for name in problem.baselines) or "none",
                "Limits": limit,
            },
            border="horizontal",
        )
        if problem.citation:
            st.caption(plain(problem.citation))


def _advanced(schedule: Any) -> None:
    default = default_settings(schedule)
    with st.grid(3, min_column_width=150, gap="small"):
        st.number_input(
            "Parents",
            1,
            20,
            None,
            key="new_parents",
            placeholder=str(default.parents),
            help="That E1 and E2 are shown.",
        )
        st.number_input("Seed", 0, None, 0, key="new_seed", help="The same seed draws the same operators and parents.")
        st.number_input("Candidates measured at once", 1, 256, 1, key="new_workers")
        st.number_input("Model calls at once", 1, 256, 1, key="new_calls")
        st.number_input("Most tokens", 1, None, None, key="new_tokens", placeholder="no limit", step=1000)
        st.number_input("Most US dollars", 0.0, None, None, key="new_usd", placeholder="no limit", step=0.5)
        st.number_input("Most hours of work", 0.01, None, None, key="new_hours", placeholder="no limit", step=1.0)
    st.selectbox("Population", list(_KINDS), format_func=_KINDS.__getitem__, key="new_population")
    if st.session_state.get("new_population") == "islands":
        with st.grid(2, min_column_width=150, gap="small"):
            st.number_input("Islands", 1, 64, 4, key="new_islands")
            st.number_input("Newcomers between two migrations", 1, None, 20, key="new_migration")
    with st.container(horizontal=True, gap="large"):
        st.segmented_control(
            "Show the model its error once",
            ("yes", "no"),
            key="new_repair",
            help=f"Unless chosen: {'yes' if schedule == 'logician' else 'no'}, as the schedule has it.",
        )
        st.segmented_control(
            "Stop hopeless measurements early",
            ("yes", "no"),
            key="new_cut",
            help="Stops a candidate that provably cannot enter the population. "
            f"Unless chosen: {'yes' if schedule == 'logician' else 'no'}, as the schedule has it.",
        )
        st.toggle("Begin with the problem's own heuristic", True, key="new_start")
    st.caption("How often each operator is drawn, or 0 to leave it out")
    with st.grid(5, min_column_width=90, gap="small"):
        for name in _WRITING[1:]:
            usual = default.weights.get(name, 0.0)  # pyright: ignore[reportArgumentType, reportCallIssue]
            st.number_input(
                name, 0.0, None, None, key=f"new_weight_{name}", placeholder=f"{usual:g}", help=OPERATORS[name]
            )
    st.caption("Temperature")
    st.number_input("For all", 0.0, 2.0, 1.0, step=0.1, key="new_temperature", width=160)
    with st.grid(6, min_column_width=90, gap="small"):
        for name in _WRITING:
            st.number_input(
                f"{name} ", 0.0, 2.0, None, step=0.1, key=f"new_temperature_{name}", placeholder="as for all"
            )


def collected(state: dict[str, Any]) -> dict[str, Any]:
    """The options that the form holds; what is left empty is the schedule's."""

    def of(name: str) -> Any:
        return state.get(f"new_{name}")

    values: dict[str, Any] = {
        "problem": of("problem"),
        "models": list(of("models") or ()),
        "schedule": of("schedule") or "logician",
    }
    for name in (
        "size", "generations", "parents", "seed", "workers", "calls", "population", "islands", "migration",
        "temperature", "start",
    ):  # fmt: skip
        if of(name) is not None:
            values[name] = of(name)
    for name in ("repair", "cut"):
        if of(name) is not None:
            values[name] = of(name) == "yes"
    usual = default_settings(values["schedule"]).weights
    given = {name: of(f"weight_{name}") for name in _WRITING[1:]}
    if any(weight is not None for weight in given.values()):
        filled = {name: usual.get(name, 0.0) if weight is None else weight for name, weight in given.items()}  # pyright: ignore[reportArgumentType, reportCallIssue]
        values["weights"] = {name: weight for name, weight in filled.items() if weight > 0 or name in usual}
    heats = {name: of(f"temperature_{name}") for name in _WRITING}
    values["temperatures"] = {name: heat for name, heat in heats.items() if heat is not None}
    budget = {"samples": of("samples"), "tokens": of("tokens"), "cost_usd": of("usd"), "hours": of("hours")}
    values["budget"] = {name: limit for name, limit in budget.items() if limit is not None}
    return values


def meaning(values: dict[str, Any]) -> str:
    """How much work these options are. Raises ValidationError, LogicianError."""
    options = StudyOptions.model_validate(values)
    samples = planned_samples(options)
    rules = RULES[options.schedule]
    most = rules.reply_tries + rules.duplicate_tries + (1 if options.repairs else 0)
    words = f"**{count(samples, 'sample')}**"
    if options.schedule == "official-0.1":
        words = f"About {words}, by the chance of each operator"
    calls = f"**{count(samples, 'model call')}**"
    if most > 1:
        calls += (
            f", and at most {count(samples * most)}: a reply without a usable function"
            f"{' and a candidate that fails' if options.repairs else ''} may be asked for again"
        )
    return f"{words}, each written by a model and measured. That is {calls}."


def _meaning(values: dict[str, Any]) -> None:
    try:
        st.info(meaning(values), icon=":material/calculate:")
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "These options"
        st.warning(f"{plain(where)}: {plain(first['msg'])}", icon=":material/warning:")
    except LogicianError as error:
        st.warning(plain(str(error)), icon=":material/warning:")


def _start(engine: Engine) -> None:
    values = collected(st.session_state.to_dict())
    try:
        study = engine.studies.create(values, title=str(st.session_state.get("new_title") or ""))
    except (LogicianError, StorageError) as error:
        st.session_state[_ERROR] = str(error)
        return
    places.go_to_evolution(study=study.id)
