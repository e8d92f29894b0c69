"""The genealogy of a study as one Plotly figure: layers of candidates, who came from whom, the best one's path lit.

Nodes are samples, so a parent that left the population is a node like any other. At most ``NODES`` are drawn: those of
a window of records, and the whole path of the best one. Drawn without WebGL: browsers without a graphics card draw its
lines in the wrong place, and this many points need none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from pages.components.study_charts import Figure, Paint, hover, layout, objective_title, y_range
from pages.components.study_data import Facts
from pages.components.study_words import OUTCOMES, outcome_look
from storage import SampleLine

NODES = 1_500
WINDOW = 400
"""Records that are shown first."""

Layers = Literal["generation", "record"]
Colour = Literal["operator", "objective"]


def genealogy(
    facts: Facts, paint: Paint, first: int, last: int, *, layers: Layers, colour: Colour, failed: bool
) -> Figure:
    """The records from ``first`` to ``last``."""
    shown = window(facts, first, last, failed=failed)
    place = _places(facts, shown, layers)
    members = {line.n for line in facts.members(last)}
    lit = facts.lineage
    plain_edges, lit_edges = _edges(shown, place, lit)
    data: list[Figure] = [
        _lines(plain_edges, paint.muted, 0.8, 0.28),
        _lines(lit_edges, paint.accent, 2.4, 0.95, "path of the best"),
    ]
    alive = [line for line in shown if line.objective is not None]
    dead = [line for line in shown if line.objective is None]
    if colour == "operator":
        for name in facts.operators:
            mine = [line for line in alive if line.operator == name]
            if mine:
                data.append(_nodes(mine, place, name, members, lit, color=paint.operator(name)))
    elif alive:
        bar = {"title": {"text": "Objective"}, "thickness": 10, "len": 0.8, "outlinewidth": 0}
        scale = [[at / (len(paint.scale) - 1), color] for at, color in enumerate(paint.scale)]
        low, high = _middle([line.objective for line in alive if line.objective is not None])
        data.append(
            _nodes(
                alive, place, "candidates", members, lit, color=[line.objective for line in alive], colorscale=scale,
                reversescale=facts.direction == "min", cmin=low, cmax=high, colorbar=bar, showscale=True,
            )
        )  # fmt: skip
    if dead:
        data.append(
            _nodes(dead, place, "failed", members, lit, color=paint.failed, symbol="x-thin-open", line={"width": 1.4})
        )
    by_record = layers == "record"
    shown_from, shown_to = float(first), float(last)
    if not by_record:
        layer = [line.generation for line in shown if first <= (line.record or 0)]
        shown_from, shown_to = float(min(layer, default=0)), float(max(layer, default=0))
    room = 0.4 + (shown_to - shown_from) * 0.02
    deepest = max((place[line.n][1] for line in shown), default=1.0)
    return {
        "data": data,
        "layout": layout(
            paint,
            height=560,
            uirevision=f"{layers} {first} {last} {failed}",
            xaxis={
                "title": {"text": "Sample, in the order of the records" if by_record else "Generation"},
                "range": [shown_from - room, shown_to + room],
            },
            yaxis={
                "title": {"text": objective_title(facts) if by_record else "Place in its generation (best on top)"},
                "range": y_range(facts) if by_record else [deepest + 0.8, 0.2],
            },
            clickmode="event+select",
        ),
    }


def window(facts: Facts, first: int, last: int, *, failed: bool) -> list[SampleLine]:
    """Who is drawn: the newest of the window where there are too many, and the path of the best one up to ``last``."""
    inside = [
        line
        for line in facts.recorded
        if first <= (line.record or 0) <= last and (failed or line.objective is not None)
    ][-NODES:]
    there = {line.n for line in inside}
    path = [facts.by_number[n] for n in facts.lineage if n not in there and (facts.by_number[n].record or 0) <= last]
    return sorted([*inside, *path], key=lambda line: line.record or 0)


def _middle(values: list[float]) -> tuple[float, float]:
    """Where nine of ten values lie: a scale that one very bad candidate does not use up."""
    ordered = sorted(values)
    return ordered[len(ordered) // 20], ordered[-1 - len(ordered) // 20]


def _places(facts: Facts, shown: Sequence[SampleLine], layers: Layers) -> dict[int, tuple[float, float]]:
    if layers == "record":
        span = y_range(facts) or [0.0, 1.0]
        floor = span[0] + (span[1] - span[0]) * 0.03
        clip = [min(max(line.objective, floor), span[1]) if line.objective is not None else floor for line in shown]
        return {line.n: (line.record or 0, y) for line, y in zip(shown, clip, strict=True)}
    groups: dict[int, list[SampleLine]] = {}
    for line in shown:
        groups.setdefault(line.generation, []).append(line)
    placed: dict[int, tuple[float, float]] = {}
    for generation, lines in groups.items():
        for rank, line in enumerate(sorted(lines, key=lambda one: (facts.cost(one), one.n)), start=1):
            placed[line.n] = (generation, rank)
    return placed


Edge = tuple[tuple[float, float], tuple[float, float]]


def _edges(
    shown: Sequence[SampleLine], place: dict[int, tuple[float, float]], lit: set[int]
) -> tuple[list[Edge], list[Edge]]:
    plain: list[Edge] = []
    bright: list[Edge] = []
    for line in shown:
        for parent in dict.fromkeys(line.parents):
            if parent in place:
                (bright if line.n in lit and parent in lit else plain).append((place[parent], place[line.n]))
    return plain, bright


def _lines(edges: Sequence[Edge], color: str, width: float, opacity: float, name: str | None = None) -> Figure:
    gaps = np.full((len(edges), 3, 2), np.nan)
    if edges:
        gaps[:, :2] = edges
    return {
        "type": "scatter", "mode": "lines", "x": gaps[:, :, 0].ravel(), "y": gaps[:, :, 1].ravel(),
        "hoverinfo": "skip", "opacity": opacity,
        "line": {"color": color, "width": width}, "name": name or "", "showlegend": name is not None,
    }  # fmt: skip


def _nodes(
    lines: Sequence[SampleLine],
    place: dict[int, tuple[float, float]],
    name: str,
    members: set[int],
    lit: set[int],
    **marker: Any,
) -> Figure:
    sizes = [13 if line.best else 10 if line.n in lit or line.n in members else 7 for line in lines]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": [place[line.n][0] for line in lines],
        "y": [place[line.n][1] for line in lines],
        "customdata": [[line.n] for line in lines],
        "text": [hover(line) + _standing(line, members) for line in lines],
        "hovertemplate": "%{text}<extra></extra>",
        "marker": {
            "size": sizes,
            "opacity": [1.0 if line.n in members or line.n in lit else 0.55 for line in lines],
            "line": {"width": 0},
            **marker,
        },
    }


def _standing(line: SampleLine, members: set[int]) -> str:
    if line.n in members:
        return "<br>in the population"
    if line.left_record is not None:
        return f"<br>left the population at record {line.left_record}"
    return f"<br>{outcome_look(line.outcome).word.lower()}" if line.outcome in OUTCOMES else ""
