"""Studies side by side: best so far by samples, and what each cost and found."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from logician_graph.engine import Engine
from logician_graph.eoh import TRAIN
from logician_graph.errors import LogicianError
from pages.components import places
from pages.components.pulse import pulse
from pages.components.study_charts import compared
from pages.components.study_data import Facts, facts_of, summed
from pages.components.study_table import badge, cell, column, row, study_table
from pages.components.study_tabs import paint
from pages.components.study_words import DASH, USABLE, better_by, percent, share, study_look, value
from pages.components.words import count, duration, money, plain, short_count
from storage import StorageError


def study_compare(engine: Engine, chosen: Sequence[str]) -> None:
    """Draw the studies that there are."""
    st.button(
        "All studies", icon=":material/arrow_back:", type="tertiary", key="all_studies", on_click=places.go_to_evolution
    )
    st.title("Compare studies", anchor=False)
    _live(engine, list(dict.fromkeys(chosen)))


@st.fragment
def _live(engine: Engine, chosen: Sequence[str]) -> None:
    studies: list[Facts] = []
    for study_id in chosen:
        try:
            studies.append(facts_of(engine, study_id))
        except (LogicianError, StorageError) as error:
            st.warning(f"One study cannot be shown. {plain(str(error))}", icon=":material/search_off:")
    if not studies:
        return
    problems = sorted({one.view.row.problem for one in studies})
    if len(problems) > 1:
        st.warning(
            f"These studies are of different problems ({', '.join(map(plain, problems))}): their objectives cannot be "
            "compared. The baselines in the chart are those of the first.",
            icon=":material/warning:",
        )
    st.plotly_chart(
        compared(studies, paint()), key="compare_chart", alt="Best objective so far by samples, one line per study"
    )
    sets = list(dict.fromkeys(name for one in studies for name in one.view.sets if name != TRAIN))
    columns = [
        column("State"), column("Study", "wide"), column("Schedule"), column("Best", "num"),
        column("vs baseline", "num"), *(column(name, "num", "The best one on this held-out set") for name in sets),
        column("Samples", "num"), column("To the best", "num", "Samples until the best was found"),
        column("Valid", "num"), column("Tokens", "num"), column("Cost", "num"), column("Worked", "num"),
    ]  # fmt: skip
    opened = study_table("Compared studies", columns, [_row(one, sets) for one in studies], key="compared")
    if opened:
        places.go_to_evolution(study=opened)
    if any(one.running for one in studies):
        pulse(engine, key="compared", soonest_s=3)


def _row(facts: Facts, sets: Sequence[str]) -> dict[str, object]:
    study, best, baseline = facts.view.row, facts.best, facts.best_baseline()
    made = [line for line in facts.recorded if line.n >= 0]
    usable = sum(line.outcome in USABLE for line in made)
    objective = best.objective if best else None
    gain = better_by(objective, baseline[1], facts.direction) if objective is not None and baseline else None
    scores = facts.view.held_out.get(best.n, {}) if best else {}
    cost, cost_missing = summed(made, lambda line: line.cost_usd)
    tokens, tokens_missing = summed(
        made,
        lambda line: None if line.output_tokens is None else (line.input_tokens or 0) + line.output_tokens,
    )
    seconds = facts.view.hours * 3600
    return row(
        [
            badge(study_look(study.state), study.reason or ""),
            cell(study.title, link=True, title=study.id),
            cell(study.schedule, look="muted"),
            cell(value(objective), sort=objective, look="strong"),
            cell(percent(gain), sort=gain, look="" if not gain else "good" if gain > 0 else "bad"),
            *(_held_out(facts, scores, name) for name in sets),
            cell(count(len(made)), sort=len(made)),
            cell(count(best.record) if best else DASH, sort=best.record if best else None),
            cell(share(usable, len(made)), sort=usable / len(made) if made else None),
            cell(DASH if tokens is None else f"{'over ' if tokens_missing else ''}{short_count(tokens)}", sort=tokens),
            cell(DASH if cost is None else f"{'over ' if cost_missing else ''}{money(cost)}", sort=cost),
            cell(duration(seconds) if seconds else DASH, sort=seconds or None),
        ],
        opens=study.id,
        href=f"evolution?study={study.id}",
    )


def _held_out(facts: Facts, scores: object, name: str) -> dict[str, object]:
    score = scores.get(name) if isinstance(scores, dict) else None
    objective = score.objective if score is not None else None
    baseline = facts.best_baseline(name)
    gain = better_by(objective, baseline[1], facts.direction) if objective is not None and baseline else None
    look = "" if not gain else "good" if gain > 0 else "bad"
    words = f"{percent(gain)} vs {baseline[0]}; a plus is better" if gain is not None and baseline else ""
    return cell(value(objective), sort=objective, look=look, title=words)
