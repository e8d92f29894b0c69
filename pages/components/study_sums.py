"""The tabs that add up: what each operator and model brought, and what went wrong how often."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import streamlit as st

from logician_graph.engine import Engine
from pages.components.study_data import Facts, summed
from pages.components.study_table import Cell, badge, cell, column, row, study_table
from pages.components.study_tabs import nothing_yet, open_sample, paint, sample_cell
from pages.components.study_words import DASH, OPERATORS, USABLE, outcome_look, share
from pages.components.words import count, duration, money, short_count, shortened
from storage import SampleLine

_COLUMNS = (
    column("Samples", "num"),
    column("Valid", "num", "Could be measured, duplicates included"),
    column("Dupl.", "num", "Duplicates: same code or behaviour as one that was there"),
    column("Failed", "num"),
    column("Entered", "num", "Entered the population"),
    column("Bests", "num", "Better than everything before"),
    column("Calls", "num", "Model calls for each sample"),
    column("Cost", "num"),
    column("Per best", "num", "Cost of one new best"),
    column("Tokens/best", "num", "Tokens in and out for one new best"),
    column("Model", "num", "Mean time of the model for a sample"),
    column("Run", "num", "Mean time of a measurement"),
)


def operators_tab(engine: Engine, facts: Facts) -> None:
    """A line for each operator, and one for each model where there are several."""
    if nothing_yet(facts):
        return
    made = [line for line in facts.recorded if line.n >= 0]
    colours = paint()
    rows = []
    for name in facts.operators:
        mine = [line for line in made if line.operator == name]
        if mine:
            first: Cell = {"text": name, "dot": colours.operator(name), "title": OPERATORS.get(name, ""), "sort": name}
            rows.append(row([first, *_sums(mine)]))
    rows.append(row([cell("All", look="strong", sort="~"), *_sums(made)]))
    study_table("Operators", [column("Operator"), *_COLUMNS], rows, key="operators")
    with st.expander("What the operators ask for", icon=":material/help:", key="operators_help"):
        st.markdown("\n".join(f"- **{name}**: {words}" for name, words in OPERATORS.items() if name in facts.operators))
    models = sorted({line.model for line in made if line.model})
    if len(models) > 1:
        st.subheader("Models", anchor=False)
        by_model = [
            row([cell(name.partition(":")[2] or name, title=name), *_sums([one for one in made if one.model == name])])
            for name in models
        ]
        study_table("Models", [column("Model"), *_COLUMNS], by_model, key="models")


def _sums(lines: Sequence[SampleLine]) -> list[Cell]:
    usable = sum(line.outcome in USABLE for line in lines)
    improved = sum(line.best for line in lines)
    entered = sum(line.verdict == "entered" for line in lines)
    cost, cost_missing = summed(lines, lambda line: line.cost_usd)
    tokens, tokens_missing = summed(
        lines,
        lambda line: (
            None if line.input_tokens is None or line.output_tokens is None else line.input_tokens + line.output_tokens
        ),
    )
    asked = [line for line in lines if line.tries]
    measured = [line.seconds for line in lines if line.seconds > 0]
    calls = sum(line.tries for line in asked) / len(asked) if asked else None
    over = "over " if cost_missing else ""
    return [
        _number(len(lines)),
        cell(
            share(usable, len(lines)),
            sort=usable / len(lines) if lines else None,
            title=f"{usable:,} of {len(lines):,}",
        ),
        _number(sum(line.outcome == "duplicate" for line in lines)),
        _number(sum(line.outcome not in USABLE for line in lines)),
        _number(entered),
        _number(improved),
        cell(DASH if calls is None else f"{calls:.2f}", sort=calls),
        cell(DASH if cost is None else over + money(cost), sort=cost),
        _each(cost, improved, lambda one: over + money(one)),
        _each(tokens, improved, lambda one: ("over " if tokens_missing else "") + short_count(one)),
        _mean([line.model_seconds for line in asked if line.model_seconds > 0]),
        _mean(measured),
    ]


def _number(amount: int) -> Cell:
    return cell(f"{amount:,}", sort=amount)


def _each(amount: float | None, parts: int, words: Any) -> Cell:
    if amount is None or not parts:
        return cell(DASH)
    return cell(words(amount / parts), sort=amount / parts)


def _mean(seconds: Sequence[float]) -> Cell:
    if not seconds:
        return cell(DASH)
    mean = sum(seconds) / len(seconds)
    return cell(duration(mean), sort=mean)


def reason_of(line: SampleLine) -> str:
    """What went wrong without what differs from case to case: numbers, names in quotes, places."""
    text = (line.error or "").strip().splitlines()[0] if (line.error or "").strip() else ""
    text = re.sub(r"(['\"`‘“]).{1,60}?['\"`’”]", "…", text)
    text = re.sub(r",? ?\(?(?:at |in )?line \d+\)?", "", text)
    return shortened(re.sub(r"-?\d[\d.,e+-]*", "#", text), 120)


def failures_tab(engine: Engine, facts: Facts) -> None:
    """What went wrong, grouped, with an example each."""
    if nothing_yet(facts):
        return
    failed = [line for line in facts.recorded if line.outcome not in USABLE]
    if not failed:
        st.success("Every sample could be measured.", icon=":material/check_circle:")
        return
    groups: dict[tuple[str, str], list[SampleLine]] = {}
    for line in failed:
        groups.setdefault((line.outcome or "", reason_of(line)), []).append(line)
    ordered = sorted(groups.items(), key=lambda one: -len(one[1]))
    st.caption(
        f"{count(len(failed), 'sample')} of {count(len(facts.recorded))} failed, in {count(len(ordered), 'way')}. "
        "Each line opens its latest example; failed samples count against the budget."
    )
    rows = []
    for (outcome, reason), lines in ordered[:100]:
        example = lines[-1]
        found = {line.operator for line in lines}
        by = [name for name in facts.operators if name in found]
        rows.append(
            row(
                [
                    badge(outcome_look(outcome)),
                    cell(f"{len(lines):,}", sort=len(lines)),
                    cell(share(len(lines), len(failed)), sort=len(lines)),
                    cell(
                        shortened(example.error or reason or "no reason was recorded", 300), title=example.error or ""
                    ),
                    cell(", ".join(by), look="muted"),
                    sample_cell(example),
                ],
                opens=str(example.n),
                href=f"evolution?study={facts.id}&sample={example.n}",
            )
        )
    columns = (
        column("Outcome"), column("Samples", "num"), column("Of failed", "num"),
        column("Example of the reason", "wide"), column("Operators"), column("Example"),
    )  # fmt: skip
    opened = study_table("Failures", columns, rows, key="failures")
    if len(ordered) > 100:
        st.caption(f"The {100} most frequent of {len(ordered):,} ways are shown.")
    if opened:
        open_sample(facts, opened)
