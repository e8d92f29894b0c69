"""One candidate: its idea and code, what it is worth instance by instance, where it came from, and what was asked."""

from __future__ import annotations

import json
from typing import Any

import streamlit as st

from logician_graph.engine import Engine
from logician_graph.eoh import TRAIN, unified_diff
from logician_graph.errors import LogicianError
from pages.components import places
from pages.components.copy_button import copy_link_button
from pages.components.study_charts import per_instance
from pages.components.study_data import Facts, facts_of
from pages.components.study_table import cell, column, row, study_table
from pages.components.study_tabs import open_sample, paint, sample_cell
from pages.components.study_words import DASH, OPERATORS, VERDICTS, better_by, outcome_look, percent, value
from pages.components.words import code, count, duration, exact, money, plain, shortened
from storage import Exchange, Sample, SampleLine, StorageError, StudyLines

_MOST_CHILDREN = 200


def candidate(engine: Engine, study_id: str, number: int) -> None:
    """Draw it, or say that there is none."""
    try:
        facts = facts_of(engine, study_id)
        sample, exchanges = engine.studies.sample(study_id, number)
    except (LogicianError, StorageError) as error:
        st.button("The study", icon=":material/arrow_back:", type="tertiary", key="to_study", on_click=_back,
                  args=(study_id,))  # fmt: skip
        st.title("Evolution", anchor=False)
        st.warning(plain(str(error)), icon=":material/search_off:")
        return
    _way(facts, sample)
    look = outcome_look(sample.outcome, sample.phase)
    st.title(f"Sample {sample.n}", anchor=False)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="candidate_state"):
        st.markdown(look.badge)
        if sample.best:
            st.markdown(":blue-badge[:material/military_tech: A new best when it came]")
        st.caption(
            f"{sample.operator} · generation {sample.generation} · {_standing(sample)}",
            help=f"{sample.operator}: {OPERATORS.get(sample.operator, '')}",
            width="content",
        )
        st.space("stretch")
        copy_link_button(f"/evolution?study={study_id}&sample={number}", key="link_candidate", label="Copy link")
        _export(engine, facts, sample)
    if sample.error:
        st.error(f"**{look.word}.** {plain(sample.error)}", icon=f":material/{look.icon}:")
    if sample.same_as is not None:
        st.info(
            f"Its code equals that of sample {sample.same_as} but for names and layout, so the measurement was taken "
            "over.",
            icon=":material/content_copy:",
        )
    _figures(facts, sample)
    left, right = st.columns([3, 2], gap="medium")
    with left:
        _code(sample)
        _diffs(engine, facts, sample)
        _exchanges(exchanges)
    with right:
        _values(facts, sample)
        _scores(facts, sample)
        _family(facts, sample)


def _back(study_id: str) -> None:
    kept: dict[str, Any] = st.session_state.get("study_query") or {}
    places.go_to_evolution(**(kept if kept.get("study") == [study_id] else {"study": study_id}))


def _way(facts: Facts, sample: Sample) -> None:
    numbers = [line.n for line in facts.lines]
    at = numbers.index(sample.n) if sample.n in numbers else 0
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="candidate_way"):
        st.button(
            plain(shortened(facts.view.row.title, 40)), icon=":material/arrow_back:", type="tertiary", key="to_study",
            on_click=_back, args=(facts.id,),
        )  # fmt: skip
        st.space("stretch")
        for name, step, icon, key in (("Previous", -1, "chevron_left", "k"), ("Next", 1, "chevron_right", "j")):
            there = 0 <= at + step < len(numbers)
            st.button(
                name,
                icon=f":material/{icon}:",
                type="tertiary",
                key=f"{name.lower()}_sample",
                shortcut=key,
                disabled=not there,
                on_click=open_sample,
                args=(facts, numbers[at + step] if there else sample.n),
            )


def _standing(sample: Sample) -> str:
    if sample.verdict == "entered":
        if sample.left_record is None:
            return "in the population"
        return f"left the population at record {sample.left_record:,}"
    return VERDICTS.get(sample.verdict or "", "never in the population")


def _export(engine: Engine, facts: Facts, sample: Sample) -> None:
    if sample.code is None:
        return
    usable = sample.objective is not None
    st.download_button(
        "Export" if usable else "Code",
        (lambda: engine.studies.export(facts.id, sample.n)) if usable else sample.code,
        file_name=f"{facts.view.row.problem.rpartition('/')[2]}_{sample.n}.py",
        mime="text/x-python",
        icon=":material/download:",
        key="export_candidate",
        on_click="ignore",
        help="A Python module with its provenance, its tests and what to cite." if usable else "The code as it is.",
    )


def _figures(facts: Facts, sample: Sample) -> None:
    baseline = facts.best_baseline()
    gain = None
    if sample.objective is not None and baseline is not None:
        gain = better_by(sample.objective, baseline[1], facts.direction)
    tokens = None
    if sample.input_tokens is not None and sample.output_tokens is not None:
        tokens = sample.input_tokens + sample.output_tokens
    with st.grid(6, min_column_width=130, gap="xxsmall"):
        st.metric(
            "Objective",
            value(sample.objective),
            delta=None if gain is None else percent(gain),
            help=f"A plus is better than the best baseline, {baseline[0]} with {value(baseline[1])}."
            if baseline
            else None,
            border=True,
            height="stretch",
        )
        facts_shown: list[tuple[str, str, str | None]] = [
            (
                "Record",
                DASH if sample.record is None else f"{sample.record:,}",
                exact(sample.recorded_at, st.context.timezone) if sample.recorded_at else None,
            ),
            (
                "Measured in",
                duration(sample.seconds) if sample.seconds else DASH,
                f"{duration(sample.cpu_seconds)} of processor time" if sample.cpu_seconds else None,
            ),
            (
                "Model",
                duration(sample.model_seconds) if sample.model_seconds else DASH,
                f"{count(sample.tries, 'call')} of {plain(sample.model)}" if sample.model else None,
            ),
            (
                "Tokens",
                DASH if tokens is None else f"{tokens:,}",
                None if tokens is None else f"{count(sample.input_tokens)} in, {count(sample.output_tokens)} out",
            ),
            ("Cost", DASH if sample.cost_usd is None else money(sample.cost_usd), None),
        ]
        for label, shown, words in facts_shown:
            st.metric(label, shown, border=True, height="stretch", help=words)


def _code(sample: Sample) -> None:
    if sample.thought:
        st.markdown(f"> {plain(sample.thought)}")
    if sample.code is None:
        st.caption("There is no code: no reply held a function.")
    else:
        st.code(sample.code, language="python", line_numbers=True)
    if sample.notes:
        st.markdown("\n".join(f"- :material/build: {plain(note)}" for note in sample.notes))
    if sample.output:
        with st.expander("What it printed", icon=":material/terminal:", key="printed"):
            st.code(sample.output, language=None, wrap_lines=True)


def _diffs(engine: Engine, facts: Facts, sample: Sample) -> None:
    if sample.code is None:
        return
    parents = StudyLines(engine.studies.store.database).codes(facts.id, set(sample.parents))
    for number in dict.fromkeys(sample.parents):
        if number not in parents:
            continue
        changed = unified_diff(parents[number], sample.code, names=(f"sample {number}", f"sample {sample.n}"))
        lines = changed.splitlines()[2:]
        plus, minus = (sum(line.startswith(sign) for line in lines) for sign in "+-")
        title = f"Change from sample {number} · +{plus} −{minus}"
        with st.expander(title, expanded=len(sample.parents) == 1, icon=":material/difference:", key=f"diff_{number}"):
            if changed:
                st.code(changed, language="diff")
            else:
                st.caption("The same text.")


def _exchanges(exchanges: list[Exchange]) -> None:
    for each in exchanges:
        request = each.request
        tokens = each.usage.get("output_tokens")
        title = f"Attempt {each.attempt + 1} · {plain(each.model.partition(':')[2] or each.model)} · "
        title += f"{duration(each.seconds)}" + (f" · {count(tokens, 'token')} written" if tokens is not None else "")
        with st.expander(title, icon=":material/forum:", key=f"exchange_{each.attempt}"):
            st.caption("System")
            st.code(str(request.get("system", "")), language=None, wrap_lines=True)
            st.caption("Prompt")
            st.code(str(request.get("user", "")), language=None, wrap_lines=True, height=320)
            st.caption(f"Reply, as received · finished: {plain(each.finish_reason)}")
            st.code(each.reply or "(empty)", language=None, wrap_lines=True)
            rest = {name: one for name, one in request.items() if name not in ("system", "user")}
            st.caption(code(json.dumps({**rest, **each.usage}, ensure_ascii=False)))


def _values(facts: Facts, sample: Sample) -> None:
    found = sample.per_instance or []
    if not any(one is not None for one in found):
        return
    baselines = {name: scores[TRAIN].per_instance for name, scores in facts.view.baselines.items() if TRAIN in scores}
    st.subheader("Instance by instance", anchor=False)
    if len(found) <= 200:
        figure = per_instance(found, baselines, paint())
        st.plotly_chart(figure, key="instances_chart", alt="Value of each training instance beside the baselines")
    with st.expander("As numbers", icon=":material/table:", key="instances"):
        rows = [
            row(
                [
                    cell(str(at + 1), sort=at),
                    cell(value(one), sort=one),
                    *(_at(values, at) for values in baselines.values()),
                ]
            )
            for at, one in enumerate(found)
        ]
        names = [column(name, "num") for name in baselines]
        columns = [column("Instance", "num"), column("This one", "num"), *names]
        study_table("Instances", columns, rows, key="instances_table", height=320)


def _at(values: list[float | None], at: int) -> dict[str, Any]:
    one = values[at] if at < len(values) else None
    return cell(value(one), sort=one)


def _scores(facts: Facts, sample: Sample) -> None:
    scores = facts.view.held_out.get(sample.n)
    if not scores:
        return
    st.subheader("Held out", anchor=False)
    rows = []
    for name, score in scores.items():
        baseline = facts.best_baseline(name)
        gain = None
        if score.objective is not None and baseline is not None:
            gain = better_by(score.objective, baseline[1], facts.direction)
        look = "" if not gain else "good" if gain > 0 else "bad"
        beside = f"{baseline[0]} {value(baseline[1])}" if baseline else DASH
        shown = value(score.objective) if score.objective is not None else outcome_look(score.status).word
        rows.append(
            row(
                [
                    cell(name),
                    cell(shown, sort=score.objective),
                    cell(percent(gain), sort=gain, look=look, title=f"Beside {beside}; a plus is better"),
                ]
            )
        )
    columns = [column("Set", "wide"), column("This one", "num"), column("vs baseline", "num")]
    study_table("Held-out sets", columns, rows, key="candidate_held_out")


def _worth(line: SampleLine) -> dict[str, Any]:
    if line.objective is not None:
        return cell(value(line.objective), sort=line.objective, title=outcome_look(line.outcome, line.phase).word)
    return cell(outcome_look(line.outcome, line.phase).word, sort="", look="bad", title=line.error or "")


def _family(facts: Facts, sample: Sample) -> None:
    groups = {
        "Parents": [facts.by_number[n] for n in dict.fromkeys(sample.parents) if n in facts.by_number],
        "Children": facts.children(sample.n)[:_MOST_CHILDREN],
    }
    for name, lines in groups.items():
        if not lines:
            continue
        st.subheader(f"{name} · {len(lines)}" if name == "Children" else name, anchor=False)
        rows = [
            row(
                [
                    sample_cell(line),
                    _worth(line),
                    cell(shortened(line.thought, 160) or DASH, title=line.thought),
                ],
                opens=str(line.n),
                href=f"evolution?study={facts.id}&sample={line.n}",
            )
            for line in lines
        ]
        columns = [column("Sample"), column("Objective", "num"), column("Idea", "wide")]
        opened = study_table(name, columns, rows, key=f"family_{name.lower()}", height=320)
        if opened:
            open_sample(facts, opened)
