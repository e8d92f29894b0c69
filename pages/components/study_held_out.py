"""The held-out tab: what the leaders and the baselines are worth on data that nothing was chosen on."""

from __future__ import annotations

from typing import Any

import streamlit as st

from logician_graph.engine import Engine
from logician_graph.eoh import TRAIN
from pages.components.study_charts import held_out
from pages.components.study_data import Facts
from pages.components.study_table import Cell, cell, column, row, study_table
from pages.components.study_tabs import chart, nothing_yet, open_sample, paint, sample_cell
from pages.components.study_words import DASH, better_by, outcome_look, percent, value
from pages.components.words import plain
from storage import Score


def held_out_tab(engine: Engine, facts: Facts) -> None:
    """Verdict, chart, table."""
    if nothing_yet(facts):
        return
    sets = [name for name in facts.view.sets if name != TRAIN]
    if not sets:
        st.info("This problem has no held-out sets, so nothing is known about other data.", icon=":material/info:")
        return
    _verdict(facts, sets)
    leaders = [facts.by_number[n] for n in sorted(facts.view.held_out, reverse=True) if n in facts.by_number]
    names = [TRAIN, *sets]
    rows = []
    for line in sorted(leaders, key=lambda one: -(one.record or 0)):
        scores = facts.view.held_out[line.n]
        best = facts.best is not None and line.n == facts.best.n
        cells: list[Cell] = [
            {**sample_cell(line), "sort": line.record or 0},
            cell("the best" if best else f"best of generation {line.generation}", look="strong" if best else "muted"),
            _score(facts, TRAIN, line.objective, None),
            *(_score(facts, name, *_of(scores.get(name))) for name in sets),
        ]
        rows.append(row(cells, opens=str(line.n), href=f"evolution?study={facts.id}&sample={line.n}", lit=best))
    sign = 1 if facts.direction == "min" else -1
    ranked = sorted(facts.view.baselines.items(), key=lambda one: sign * (_of(one[1].get(TRAIN))[0] or 0.0))
    for name, scores in ranked:
        cells = [cell(name), cell("baseline", look="muted")]
        cells += [_score(facts, chosen, *_of(scores.get(chosen)), compare=False) for chosen in names]
        rows.append(row(cells))
    columns = [column("Heuristic"), column("", "wide")]
    columns += [column("Training" if name == TRAIN else name, "num") for name in names]
    opened = study_table("Held-out", columns, rows, key="held_out", height=430)
    if opened:
        open_sample(facts, opened)
    if not leaders:
        st.caption("The leaders are measured on the held-out sets beside the evolution; none was so far.")
        return
    chosen = sets[0]
    if len(sets) > 1:
        chosen = st.segmented_control(
            "Held-out set", sets, default=sets[0], required=True, key="set", bind="query-params"
        )
    chart(
        held_out(facts, paint(), str(chosen)),
        facts,
        key="held_out",
        alt=f"The leaders on {chosen}, beside the training set and the baselines",
    )


def _of(score: Score | None) -> tuple[float | None, str | None]:
    if score is None:
        return None, None
    return score.objective, None if score.status == "valid" else score.status


def _score(facts: Facts, name: str, objective: float | None, status: str | None, *, compare: bool = True) -> Cell:
    if objective is None:
        word = outcome_look(status).word.lower() if status else DASH
        return cell(word, look="bad" if status else "muted", sort="")
    baseline = facts.best_baseline(name)
    if not compare or baseline is None:
        return cell(value(objective), sort=objective)
    gain = better_by(objective, baseline[1], facts.direction)
    if gain is None:
        return cell(value(objective), sort=objective)
    look = "good" if gain > 0 else "bad" if gain < 0 else ""
    return cell(
        f"{value(objective)}  ({percent(gain)})",
        sort=objective,
        look=look,
        title=f"{percent(gain)} vs {baseline[0]} with {value(baseline[1])}; a plus is better",
    )


def _verdict(facts: Facts, sets: list[str]) -> None:
    scores: dict[str, Any] = facts.view.held_out.get(facts.best.n, {}) if facts.best else {}
    worse, better, broken = [], [], []
    for name in sets:
        score, baseline = scores.get(name), facts.best_baseline(name)
        if score is None or baseline is None:
            continue
        if score.objective is None:
            broken.append(f"on **{plain(name)}** it {outcome_look(score.status).word.lower()}")
            continue
        gain = better_by(score.objective, baseline[1], facts.direction)
        if gain is None:
            continue
        words = f"**{plain(name)}**: {value(score.objective)} beside {value(baseline[1])} of {plain(baseline[0])}"
        (worse if gain < 0 else better).append(f"{words} ({percent(gain)})")
    if worse or broken:
        st.error(
            "**The best rule does not hold up on data it was not chosen on.** It is worse than the best baseline "
            f"there, so do not take it for better. {'; '.join([*worse, *broken])}.",
            icon=":material/trending_down:",
        )
    elif better:
        st.success(
            "The best rule is at least as good as every baseline on all held-out sets that were measured. "
            + "; ".join(better)
            + ".",
            icon=":material/verified:",
        )
