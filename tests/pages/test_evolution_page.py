"""The pages of evolution without a browser: the list, the form, a study, a candidate, and what they are drawn from."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from logician_graph.engine import Engine
from logician_graph.eoh import StudyView, template
from pages.components.study_charts import Paint, progress
from pages.components.study_data import Facts, facts_of
from pages.components.study_form import collected, meaning
from pages.components.study_genealogy import genealogy, window
from pages.components.study_log import Wanted, chosen, to_csv
from pages.components.study_sums import reason_of
from pages.components.study_words import better_by, percent, span, value
from storage import SampleLine, Study, StudyLines
from tests.browser.study_seed import many_samples
from tests.eoh_study.conftest import writer
from tests.fakes.openai_server import FakeOpenAI
from tests.pages.conftest import text_of, wait_for

Open = Callable[..., AppTest]
PAINT = Paint(("#111111",) * 7, ("#000000", "#ffffff"), "#000000", "#777777", "#cccccc", "#ff0000", "#0000ff")


@pytest.fixture(scope="module")
def fake() -> Iterator[FakeOpenAI]:
    with FakeOpenAI(writer, context_window=32_768) as endpoint:
        yield endpoint


@pytest.fixture
def knapsack(engine: Engine) -> Engine:
    template("knapsack", engine.home / "problems")
    return engine


@pytest.fixture
def study(knapsack: Engine) -> Study:
    """A study of the fake model that is done."""
    values = {
        "problem": "knapsack",
        "models": [knapsack.models.default_ref()],
        "size": 3,
        "generations": 4,
        "repair": False,
    }
    made = knapsack.studies.create(values)
    wait_for(knapsack, str(made.run_id), "done")
    return made


@pytest.fixture
def seeded(knapsack: Engine) -> Facts:
    """A study of 600 samples."""
    return facts_of(knapsack, many_samples(knapsack.studies.store.database, 600))


def tables(app: AppTest) -> dict[str, list[dict[str, Any]]]:
    """What the tables were given, by their label."""
    found: dict[str, list[dict[str, Any]]] = {}
    for element in app.get("bidi_component"):
        data = json.loads(element.proto.json or "null")
        if isinstance(data, dict) and "rows" in data and "label" in data:
            found[data["label"]] = data["rows"]
    return found


def metrics(app: AppTest) -> dict[str, str]:
    return {metric.label: metric.value for metric in app.metric}


def a_line(**values: Any) -> SampleLine:
    base: dict[str, Any] = dict.fromkeys(SampleLine._fields)
    base |= {"n": 1, "operator": "M1", "generation": 1, "parents": [0], "phase": "recorded", "thought": "an idea"}
    return SampleLine(**{**base, **values})


def test_words() -> None:
    assert [value(None), value(0.0067891), value(94.7741), value(123456.7)] == ["–", "0.0067891", "94.774", "123,457"]
    assert better_by(90.0, 100.0, "min") == pytest.approx(0.1)
    assert better_by(90.0, 100.0, "max") == pytest.approx(-0.1)
    assert better_by(1.0, 0.0, "min") is None
    assert percent(-0.0268) == "-2.68%"
    assert [span(0.2), span(45), span(720), span(30_000)] == ["200 ms", "45 s", "12 min", "8.3 h"]


def test_reasons_are_grouped_by_what_they_have_in_common() -> None:
    one = a_line(error="NameError: name 'abc' is not defined, line 2")
    other = a_line(error="NameError: name 'xyz' is not defined, line 17")
    assert reason_of(one) == reason_of(other)
    assert reason_of(a_line(error="It took more than 5 s.")) != reason_of(one)


def test_the_log_is_narrowed_and_exported() -> None:
    lines = [
        a_line(n=1, operator="M1", outcome="valid", objective=3.0, generation=1),
        a_line(n=2, operator="E1", outcome="failed", error="=boom", generation=2),
        a_line(n=3, operator="E1", phase="proposed", generation=3),
    ]
    assert [one.n for one in chosen(lines, Wanted())] == [1, 2, 3]
    assert [one.n for one in chosen(lines, Wanted(operators=("E1",), last_generation=2))] == [2]
    assert [one.n for one in chosen(lines, Wanted(outcomes=("proposed",)))] == [3]
    assert [one.n for one in chosen(lines, Wanted(least=3.0, most=3.0))] == [1]
    assert [one.n for one in chosen(lines, Wanted(text="BOOM"))] == [2]
    rows = list(csv.DictReader(io.StringIO(to_csv(lines))))
    assert rows[1]["error"] == "'=boom"
    assert rows[1]["objective"] == ""


def test_light_rows_are_the_samples(knapsack: Engine, study: Study) -> None:
    store, lines = knapsack.studies.store, StudyLines(knapsack.studies.store.database)
    whole, light = store.samples(study.id), lines.lines(study.id)
    for name in SampleLine._fields:
        assert [getattr(one, name) for one in light] == [getattr(one, name) for one in whole], name
    assert lines.mark(study.id) == (len(whole), len(whole), 0)
    assert lines.codes(study.id, [one.n for one in whole]) == {one.n: one.code for one in whole if one.code is not None}
    assert [one.n for one in lines.some(study.id, [2, 0])] == [0, 2]


def test_what_follows_from_the_rows_is_what_the_view_says(knapsack: Engine, study: Study) -> None:
    facts, view = facts_of(knapsack, study.id), knapsack.studies.view(study.id)
    assert isinstance(view, StudyView)
    assert facts.best is not None
    assert view.best is not None
    assert facts.best.n == view.best.n
    assert [one.n for one in facts.members()] == [one.n for one in view.population]
    for record in range(1, facts.records + 1):
        assert sorted(one.n for one in facts.members(record)) == sorted(one.n for one in view.members_at(record))
    assert facts.best_baseline() == view.gap_to_baseline
    assert facts_of(knapsack, study.id) is facts, "nothing changed, so nothing is read again"


def test_the_genealogy_has_no_ghosts_and_holds_the_path_of_the_best(seeded: Facts) -> None:
    drawn = window(seeded, 500, 600, failed=True)
    numbers = {line.n for line in drawn}
    assert len([line for line in drawn if (line.record or 0) >= 500]) == 101
    assert seeded.lineage <= numbers
    start = min(seeded.lineage)
    assert seeded.by_number[start].operator == "I1", "the path leads to the start"
    figure = genealogy(seeded, PAINT, 500, 600, layers="generation", colour="operator", failed=True)
    nodes = [point[0] for trace in figure["data"] if "customdata" in trace for point in trace["customdata"]]
    assert sorted(nodes) == sorted(numbers)
    whole = genealogy(seeded, PAINT, 1, 600, layers="record", colour="objective", failed=True)
    left = {line.n for line in seeded.lines if line.left_record is not None}
    there = {point[0] for trace in whole["data"] if "customdata" in trace for point in trace["customdata"]}
    assert left <= there, "who left the population is still there"


@pytest.mark.parametrize("by", ["sample", "generation"])
def test_progress_shows_every_new_best_and_the_failed_ones(seeded: Facts, by: str) -> None:
    figure = progress(seeded, PAINT, by)
    shown = {point[0] for trace in figure["data"] if "customdata" in trace for point in trace["customdata"]}
    assert {line.n for line in seeded.recorded if line.best} <= shown
    assert any(line.n in shown for line in seeded.recorded if line.objective is None)
    assert len(figure["layout"]["shapes"]) == 2


def test_the_form_says_what_it_means() -> None:
    state: dict[str, Any] = {"new_problem": "fit_function", "new_models": ["endpoint:m"], "new_schedule": "paper"}
    assert collected(state) == {
        "problem": "fit_function", "models": ["endpoint:m"], "schedule": "paper", "temperatures": {}, "budget": {},
    }  # fmt: skip
    assert meaning(collected(state)) == (
        "**2,020 samples**, each written by a model and measured. That is **2,020 model calls**."
    )
    more = {**state, "new_schedule": "logician", "new_samples": 30, "new_weight_M3": 0.0, "new_repair": "no"}
    values = collected(more)
    assert values["weights"]["M3"] == 0
    assert values["repair"] is False
    assert "**30 samples**" in meaning(values)
    assert "at most 60" in meaning(values)


def test_an_empty_list_teaches(open_page: Open) -> None:
    app = open_page("evolution.py")
    assert "No studies yet" in text_of(app)
    assert app.button(key="first_study")


def test_a_study_that_cannot_be_is_refused_in_the_form(open_page: Open, knapsack: Engine) -> None:
    app = open_page("evolution.py", new="study", problem="knapsack")
    assert "440 samples" in text_of(app)
    app.multiselect(key="new_models").set_value([]).run()
    assert app.button(key="start_study").disabled
    assert "needs at least one model" in text_of(app)
    assert knapsack.studies.all() == []


def test_the_list_says_what_is_known(open_page: Open, knapsack: Engine, study: Study) -> None:
    rows = tables(open_page("evolution.py"))["Studies"]
    cells = rows[0]["cells"]
    assert cells[0]["badge"]["word"] == "Completed"
    assert cells[5]["text"] == "18 / 18"
    assert cells[7]["text"] == "–", "the fake model has no price"


@pytest.mark.parametrize(
    "view", ["Progress", "Genealogy", "Population", "Operators", "Failures", "Held-out", "Behaviour", "Log"]
)
def test_every_tab_is_drawn(open_page: Open, study: Study, view: str) -> None:
    app = open_page("evolution.py", study=study.id, view=view)
    assert not app.exception
    assert metrics(app)["Samples"] == "18"
    assert metrics(app)["Cost"] == "–"
    assert not app.warning, [one.value for one in app.warning]


def test_worse_than_the_baseline_is_said_loudly(open_page: Open, knapsack: Engine, seeded: Facts) -> None:
    app = open_page("evolution.py", study=seeded.id, view="Held-out")
    assert any("does not hold up" in error.value for error in app.error)
    rows = tables(app)["Held-out"]
    assert [row["cells"][0]["text"] for row in rows[-2:]] == ["Value per weight", "Value"]


def test_a_candidate_is_shown_with_all_that_was_asked(open_page: Open, knapsack: Engine, study: Study) -> None:
    view = knapsack.studies.view(study.id)
    child = next(one for one in view.samples if one.parents and one.code and one.outcome == "valid")
    app = open_page("evolution.py", study=study.id, sample=str(child.n))
    shown = [code.value for code in app.code]
    assert child.code is not None
    assert child.code.strip() in shown
    _, exchanges = knapsack.studies.sample(study.id, child.n)
    assert exchanges[0].reply.strip() in shown
    assert exchanges[0].request["user"].strip() in shown
    assert [int(row["id"]) for row in tables(app)["Parents"]] == list(dict.fromkeys(child.parents))


def test_a_failed_candidate_says_why(open_page: Open, knapsack: Engine, study: Study) -> None:
    failed = next(one for one in knapsack.studies.view(study.id).samples if one.error)
    app = open_page("evolution.py", study=study.id, sample=str(failed.n))
    assert app.error
    assert metrics(app)["Objective"] == "–"


def test_what_is_not_there_is_said(open_page: Open, engine: Engine) -> None:
    assert "There is no study" in text_of(open_page("evolution.py", study="01zzzzzzzzzzzzzzzz"))
    assert "cannot be shown" in text_of(open_page("evolution.py", compare="01zzzzzzzzzzzzzzzz"))


def test_a_study_is_deleted_and_brought_back(open_page: Open, knapsack: Engine, study: Study) -> None:
    app = open_page("evolution.py", study=study.id)
    app.button(key="delete_study").click().run()
    assert knapsack.studies.all() == []


def test_the_run_of_a_study_leads_to_the_study(open_page: Open, knapsack: Engine, study: Study) -> None:
    run_id = str(knapsack.studies.view(study.id).row.run_id)
    app = open_page("runs.py", run=run_id)
    assert [title.value for title in app.title] == ["Knapsack, greedy"]
    assert "Tool calls" not in metrics(app)
