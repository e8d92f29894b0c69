"""Charts of a study as plain Plotly figures. Pure: colours come in, nothing is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from logician_graph.eoh import TRAIN
from pages.components.study_data import Facts, evenly
from pages.components.study_words import OPERATORS, outcome_look, value
from pages.components.words import shortened
from storage import SampleLine

Figure = dict[str, Any]
MARKERS = 800
"""Candidates drawn in a chart of all of them."""
_TICKS = 250
_BINS = 120
_LEAST = 5
"""Samples from which a mean and a spread are drawn, at least."""


@dataclass(frozen=True, slots=True)
class Paint:
    """The theme's colours."""

    categories: tuple[str, ...]
    scale: tuple[str, ...]
    text: str
    muted: str
    line: str
    failed: str
    accent: str

    def operator(self, name: str) -> str:
        """The colour of an operator, the same in every chart."""
        order = list(OPERATORS)
        return self.muted if name not in order else (self.muted, *self.categories)[order.index(name)]


def layout(paint: Paint, **more: Any) -> Figure:
    """What all charts share."""
    axis = {"gridcolor": paint.line, "zeroline": False, "linecolor": paint.line, "tickfont": {"color": paint.muted}}
    made: Figure = {
        "margin": {"l": 8, "r": 12, "t": 34, "b": 8},
        "hovermode": "closest",
        "uirevision": "kept",
        "legend": {
            "orientation": "h",
            "x": 0,
            "y": 1.01,
            "yanchor": "bottom",
            "xanchor": "left",
            "title": {"text": ""},
        },
        "font": {"color": paint.text},
        "hoverlabel": {"align": "left"},
    }
    for name in ("xaxis", "yaxis"):
        made[name] = {**axis, "automargin": True, **more.pop(name, {})}
    return {**made, **more}


def objective_title(facts: Facts) -> str:
    """The axis title."""
    return f"Objective ({'lower' if facts.direction == 'min' else 'higher'} is better)"


def hover(line: SampleLine) -> str:
    """What a point says."""
    idea = shortened(line.thought, 90).replace("<", "‹")
    what = value(line.objective) if line.objective is not None else outcome_look(line.outcome, line.phase).word
    return f"<b>Sample {line.n}</b> · {line.operator} · {what}<br>generation {line.generation}" + (
        f"<br>{idea}" if idea else ""
    )


def _points(lines: Sequence[SampleLine], xs: Sequence[Any], ys: Sequence[Any], name: str, **marker: Any) -> Figure:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": list(xs),
        "y": list(ys),
        "customdata": [[line.n] for line in lines],
        "text": [hover(line) for line in lines],
        "hovertemplate": "%{text}<extra></extra>",
        "marker": marker,
    }


def baseline_shapes(facts: Facts, paint: Paint, set_name: str = TRAIN) -> list[Figure]:
    """A dashed line with its name for each baseline."""
    shapes: list[Figure] = []
    known = [(name, scores[set_name].objective) for name, scores in facts.view.baselines.items() if set_name in scores]
    for number, (name, objective) in enumerate(sorted(known, key=lambda one: one[1] or 0.0)):
        if objective is None:
            continue
        shapes.append(
            {
                "type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": objective, "y1": objective,
                "line": {"color": paint.muted, "width": 1.3, "dash": "dash"},
                "label": {
                    "text": f"{name} {value(objective)}",
                    "textposition": "end" if number % 2 == 0 else "start",
                    "font": {"color": paint.muted, "size": 11},
                    "yanchor": "bottom",
                },
            }
        )  # fmt: skip
    return shapes


def y_range(facts: Facts) -> list[float] | None:
    """From the best to where most are: a few very bad candidates must not flatten the rest."""
    costs = np.array([line.objective for line in facts.valid], dtype=float)
    costs = costs[np.isfinite(costs)]
    if not costs.size:
        return None
    ends = [float(np.quantile(costs, 0.04 if facts.direction == "max" else 0.0))]
    ends.append(float(np.quantile(costs, 1.0 if facts.direction == "max" else 0.96)))
    ends += [s[TRAIN].objective or 0.0 for s in facts.view.baselines.values() if TRAIN in s and s[TRAIN].objective]
    low, high = min(ends), max(ends)
    room = (high - low or abs(high) or 1.0) * 0.08
    return [low - room * 1.6, high + room]


def _groups(facts: Facts, by: str) -> list[tuple[float, list[SampleLine]]]:
    if by == "generation":
        found: dict[float, list[SampleLine]] = {}
        for line in facts.recorded:
            found.setdefault(line.generation, []).append(line)
        return sorted(found.items())
    width = max(_LEAST, -(-facts.records // _BINS))
    parts: dict[float, list[SampleLine]] = {}
    for line in facts.recorded:
        parts.setdefault((((line.record or 1) - 1) // width + 1) * width, []).append(line)
    return sorted(parts.items())


def _x(line: SampleLine, by: str) -> float:
    return line.generation if by == "generation" else (line.record or 0)


def progress(facts: Facts, paint: Paint, by: str = "sample") -> Figure:
    """Best so far, mean and the middle of what was written; failed ones as ticks at the bottom."""
    shown = evenly(facts.valid, MARKERS)
    data: list[Figure] = []
    xs, low, mean, high = [], [], [], []
    for x, group in _groups(facts, by):
        found = np.array([line.objective for line in group if line.objective is not None], dtype=float)
        if found.size:
            xs.append(x)
            low.append(float(np.quantile(found, 0.1)))
            high.append(float(np.quantile(found, 0.9)))
            mean.append(float(found.mean()))
    if len(xs) > 1:
        data += [
            {"type": "scatter", "mode": "lines", "x": xs, "y": high, "line": {"width": 0}, "hoverinfo": "skip",
             "showlegend": False, "legendgroup": "band"},
            {"type": "scatter", "mode": "lines", "x": xs, "y": low, "line": {"width": 0}, "hoverinfo": "skip",
             "fill": "tonexty", "fillcolor": _alpha(paint.muted, 0.18), "name": "10–90 % of the valid",
             "legendgroup": "band"},
            {"type": "scatter", "mode": "lines", "x": xs, "y": mean, "name": "mean", "hoverinfo": "skip",
             "line": {"color": paint.muted, "width": 1.6}},
        ]  # fmt: skip
    for name in facts.operators:
        mine = [line for line in shown if line.operator == name]
        if mine:
            data.append(
                _points(
                    mine, [_x(line, by) for line in mine], [line.objective for line in mine], name,
                    color=paint.operator(name), size=[9 if line.best else 5 for line in mine],
                    opacity=[1.0 if line.best else 0.6 for line in mine],
                )
            )  # fmt: skip
    steps = [line for line in facts.valid if line.best]
    if steps:
        ends = [*steps, steps[-1]]
        xs_best = [_x(line, by) for line in steps] + [_x(facts.recorded[-1], by)]
        data.append(
            {"type": "scatter", "mode": "lines", "name": "best so far", "x": xs_best,
             "y": [line.objective for line in ends], "hoverinfo": "skip",
             "line": {"color": paint.accent, "width": 2.4, "shape": "hv"}}
        )  # fmt: skip
    failed = evenly([line for line in facts.recorded if line.objective is None], _TICKS)
    if failed:
        ticks = _points(
            failed, [_x(line, by) for line in failed], [0.012] * len(failed), "failed",
            symbol="line-ns-open", size=9, color=paint.failed, line={"width": 1.4, "color": paint.failed},
        )  # fmt: skip
        data.append({**ticks, "yaxis": "y2"})
    return {
        "data": data,
        "layout": layout(
            paint,
            height=400,
            xaxis={"title": {"text": "Generation" if by == "generation" else "Samples recorded"}},
            yaxis={"title": {"text": objective_title(facts)}, "range": y_range(facts)},
            yaxis2={"overlaying": "y", "range": [0, 1], "visible": False, "fixedrange": True},
            shapes=baseline_shapes(facts, paint),
        ),
    }


def behaviour(facts: Facts, paint: Paint, sizes: Mapping[int, float], feature: str) -> Figure:
    """How big a candidate's code is against what it is worth."""
    data: list[Figure] = []
    inside = {line.n for line in facts.members()}
    for name in facts.operators:
        mine = [line for line in facts.valid if line.operator == name and line.n in sizes]
        if mine:
            data.append(
                _points(
                    mine, [sizes[line.n] for line in mine], [line.objective for line in mine], name,
                    color=paint.operator(name), size=[10 if line.n in inside else 5 for line in mine],
                    opacity=[1.0 if line.n in inside else 0.55 for line in mine],
                )
            )  # fmt: skip
    return {
        "data": data,
        "layout": layout(
            paint,
            height=400,
            xaxis={"title": {"text": feature}},
            yaxis={"title": {"text": objective_title(facts)}, "range": y_range(facts)},
            shapes=baseline_shapes(facts, paint),
        ),
    }


def held_out(facts: Facts, paint: Paint, set_name: str) -> Figure:
    """The leaders on one set, in the order in which they led, with the baselines there."""
    leaders = [facts.by_number[n] for n in sorted(facts.view.held_out) if n in facts.by_number]
    pairs = [(line, facts.view.held_out[line.n].get(set_name)) for line in leaders]
    found = [(line, score.objective) for line, score in pairs if score is not None and score.objective is not None]
    lines = [line for line, _ in found]
    on_train = _points(
        lines, [line.record for line in lines], [line.objective for line in lines], "on the training set",
        color=paint.muted, size=6,
    )  # fmt: skip
    there = _points(
        lines, [line.record for line in lines], [objective for _, objective in found], "held out",
        color=paint.accent, size=8,
    )  # fmt: skip
    for one, color in ((on_train, paint.muted), (there, paint.accent)):
        one.update(mode="lines+markers", line={"color": color, "width": 1.5, "shape": "hv"})
    there["text"] = [f"{hover(line)}<br>held out: {value(objective)}" for line, objective in found]
    return {
        "data": [on_train, there],
        "layout": layout(
            paint,
            height=330,
            xaxis={"title": {"text": "Samples recorded"}},
            yaxis={"title": {"text": objective_title(facts)}},
            shapes=baseline_shapes(facts, paint, set_name),
        ),
    }


def compared(studies: Sequence[Facts], paint: Paint) -> Figure:
    """Best so far by samples, one line per study."""
    data: list[Figure] = []
    dashes = ("solid", "dot", "dash")
    for number, facts in enumerate(studies):
        steps = [line for line in facts.valid if line.best]
        if not steps:
            continue
        color = paint.categories[number % len(paint.categories)]
        data.append(
            {
                "type": "scatter", "mode": "lines+markers", "name": shortened(facts.view.row.title, 40),
                "x": [line.record for line in steps] + [facts.records],
                "y": [line.objective for line in [*steps, steps[-1]]],
                "line": {"color": color, "width": 2.2, "shape": "hv", "dash": dashes[number // 7 % 3]},
                "marker": {"size": [6] * len(steps) + [0]},
                "text": [f"{hover(line)}" for line in [*steps, steps[-1]]],
                "hovertemplate": "%{text}<extra>%{fullData.name}</extra>",
            }
        )  # fmt: skip
    first = studies[0]
    return {
        "data": data,
        "layout": layout(
            paint,
            height=400,
            xaxis={"title": {"text": "Samples recorded"}},
            yaxis={"title": {"text": objective_title(first)}},
            shapes=baseline_shapes(first, paint),
        ),
    }


def per_instance(
    values: Sequence[float | None], baselines: Mapping[str, Sequence[float | None]], paint: Paint
) -> Figure:
    """A candidate beside the baselines, instance by instance."""
    xs = list(range(1, len(values) + 1))
    data: list[Figure] = [
        {"type": "bar", "name": "this candidate", "x": xs, "y": list(values), "marker": {"color": paint.accent}}
    ]
    for number, (name, known) in enumerate(baselines.items()):
        color = paint.categories[(number + 1) % len(paint.categories)]
        data.append(
            {"type": "scatter", "mode": "markers", "name": name, "x": xs, "y": list(known)[: len(xs)],
             "marker": {"symbol": "line-ew-open", "size": 14, "color": color, "line": {"width": 2.5, "color": color}}}
        )  # fmt: skip
    return {
        "data": data,
        "layout": layout(
            paint, height=280, xaxis={"title": {"text": "Instance"}}, yaxis={"title": {"text": "Value"}}, bargap=0.35
        ),
    }


def _alpha(color: str, opacity: float) -> str:
    red, green, blue = (int(color[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity})"
