"""Problem folders: a good one works, and whatever is wrong with one is said with file, line, key or instance."""

from __future__ import annotations

from pathlib import Path

import pytest

from logician_graph.eoh.problem import (
    evaluate_baseline,
    evaluate_here,
    find_problem,
    load_function,
    load_problem,
    own_problems,
    template,
)
from logician_graph.errors import Conflict, NotFound, UsageError

TOML = """\
id = "mine"
title = "Mine"
direction = "min"
function = "score(a, b)"
returns = "a number"
description = '''
Two lines
title = "not a key"
'''

[limits]
seconds = 2.5

[instances]
train = ["train.json"]

[instances.held_out]
"other" = { files = ["train.json"], shift = 10 }

[baselines]
"Sum" = "sum.py"
"""
EVALUATE = """\
def load(raw):
    return [number + raw.get("shift", 0) for number in raw["instances"]]

def solve(heuristic, visible):
    return heuristic(visible, 1)

def measure(solution, instance):
    if solution < 0:
        raise ValueError("negative")
    return solution
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    target = tmp_path / "mine"
    target.mkdir()
    (target / "problem.toml").write_text(TOML, "utf-8")
    (target / "evaluate.py").write_text(EVALUATE, "utf-8")
    (target / "train.json").write_text('{"instances": [1, 2, 3]}', "utf-8")
    (target / "sum.py").write_text("def score(a, b):\n    return a + b\n", "utf-8")
    return target


def _replace(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_a_folder_becomes_a_problem(folder: Path) -> None:
    problem = load_problem(folder)
    assert problem.signature.name == "score"
    assert problem.signature.arguments == ("a", "b")
    assert problem.limits.seconds == 2.5
    assert problem.limits.memory_mb == 1024
    assert problem.imports == ("math", "numpy")
    assert list(problem.sets) == ["train", "other"]
    assert problem.held_out == ("other",)
    assert problem.code.strict
    assert evaluate_baseline(problem, "Sum") == (3.0, (2.0, 3.0, 4.0))
    assert evaluate_baseline(problem, "Sum", "other") == (13.0, (12.0, 13.0, 14.0))
    assert evaluate_here(problem, lambda a, b: a * b) == (2.0, (1.0, 2.0, 3.0))
    with pytest.raises(ValueError, match="negative"):
        evaluate_here(problem, lambda a, b: -a)
    assert not list(folder.glob("__pycache__"))


def test_the_same_instances_may_be_changed_without_touching_the_next_load(folder: Path) -> None:
    problem = load_problem(folder)
    problem.instances().clear()
    assert problem.instances() == [1, 2, 3]


def test_evaluate_alone_is_enough_and_less_strict(folder: Path) -> None:
    (folder / "evaluate.py").write_text(
        "def evaluate(heuristic, instance):\n    return heuristic(instance, 0)\n", "utf-8"
    )
    problem = load_problem(folder)
    assert not problem.code.strict
    assert evaluate_here(problem, lambda a, b: a)[0] == 2.0
    for wrong in (True, None, "x", float("nan"), float("inf"), [1, 2]):
        with pytest.raises(ValueError, match="number was expected"):
            evaluate_here(problem, lambda a, b, wrong=wrong: wrong)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('id = "mine"', 'id = "other"', "problem.toml, line 1: id 'other' must be the folder's name, 'mine'"),
        ('id = "mine"', 'id = "My"', "line 1: id 'My' must be lower-case"),
        ('title = "Mine"', "titel = 1", "problem.toml, line 1: 'title' is missing"),
        ('title = "Mine"', 'title = "Mine"\ntitel = 1', "problem.toml, line 3: unknown key 'titel'"),
        ('title = "Mine"', "title = 3", "problem.toml, line 2: 'title': input should be a valid string"),
        ('"min"', '"less"', "line 3: 'direction': input should be 'min' or 'max'"),
        ("seconds = 2.5", "seconds = 0", "line 12: 'limits.seconds'"),
        ("seconds = 2.5", "second = 1", "line 12: unknown key 'limits.second'"),
        ("seconds = 2.5", "seconds = 1 2", "line 12: not TOML"),
        ("score(a, b)", "score(a, b", "line 4: function 'score(a, b' is no signature"),
        ("score(a, b)", "score(a, *b)", "line 4: function 'score(a, *b)' may have plain arguments only"),
        ("score(a, b)", "score(a): pass\\nimport os\\ndef f()", "line 4: function"),
        ('train = ["train.json"]', 'train = ["gone.json"]', "line 15: there is no file 'gone.json'"),
        ('train = ["train.json"]', 'train = ["../mine/../x"]', "line 15: '../mine/../x' lies outside"),
        ('train = ["train.json"]', "train = []", "line 15: 'instances.train.files'"),
        ('train = ["train.json"]', 'train = "train.json"', "line 15: 'instances.train'"),
        ('{ files = ["train.json"], shift', '{ files = ["no.json"], shift', "line 18: there is no file 'no.json'"),
        ('"other" =', '"train" =', "line 18: a held-out set cannot be named 'train'"),
        ('"sum.py"', '"none.py"', "line 21: there is no file 'none.py'"),
        ('"sum.py"', '"sum.py:best"', "line 21: sum.py defines no function best(visible)"),
    ],
)
def test_what_is_wrong_in_the_problem_file_is_said_with_its_line(
    folder: Path, old: str, new: str, message: str
) -> None:
    _replace(folder / "problem.toml", old, new)
    with pytest.raises(UsageError) as caught:
        load_problem(folder)
    assert message in str(caught.value)
    assert str(folder / "problem.toml") in str(caught.value)


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("evaluate.py", "def solve(", "def solve((", "evaluate.py, line 4: not Python"),
        ("evaluate.py", "def solve(heuristic, visible)", "def solve(heuristic)", "line 4: solve(heuristic, visible)"),
        ("evaluate.py", "def measure", "def weigh", "define solve(heuristic, visible) and measure"),
        ("evaluate.py", "def load", "def evaluate(a, b): ...\n\ndef load", "line 9: measure beside evaluate"),
        ("sum.py", "def score", "def scores", "sum.py: defines no function score(a, b)"),
        ("sum.py", "(a, b)", "(a)", "sum.py, line 1: score(a, b) was expected"),
        ("sum.py", "return a + b", "return a +", "sum.py, line 2: not Python"),
    ],
)
def test_what_is_wrong_in_the_code_is_said_before_it_runs(
    folder: Path, file: str, old: str, new: str, message: str
) -> None:
    _replace(folder / file, old, new)
    with pytest.raises(UsageError) as caught:
        load_problem(folder)
    assert message in str(caught.value)


def test_code_that_fails_as_it_is_loaded_names_its_line(folder: Path) -> None:
    _replace(folder / "evaluate.py", "def solve", "LIMIT = 1 / 0\n\ndef solve")
    problem = load_problem(folder)
    with pytest.raises(UsageError, match=r"evaluate\.py, line 4: ZeroDivisionError"):
        problem.instances()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"instances": [1,\n 2', "train.json, line 2: not JSON"),
        ('{"instances": [NaN]}', "NaN is no JSON number"),
        ('{"instances": []}', "holds no instances"),
        ('{"instance": [1]}', "evaluate.py, line 2: KeyError: 'instances'"),
        ("[" * 100_000, "not usable JSON"),
    ],
)
def test_instances_that_cannot_be_loaded_are_said(folder: Path, text: str, message: str) -> None:
    (folder / "train.json").write_text(text, "utf-8")
    with pytest.raises(UsageError) as caught:
        load_problem(folder).instances()
    assert message in str(caught.value)
    assert str(folder / "train.json") in str(caught.value)


def test_binary_and_missing_files_are_said(folder: Path) -> None:
    (folder / "train.json").write_bytes(b"\xff\xfe\x00")
    problem = load_problem(folder)
    for path in (folder / "train.json", folder / "gone.json", folder):
        with pytest.raises(UsageError, match="cannot be read"):
            problem.load_instances(path)


SHAPES = [
    ("online_bin_packing", "[[1, 2]]", "no key 'capacity'"),
    ("online_bin_packing", '{"instances": [[1]]}', "no key 'capacity'"),
    ("online_bin_packing", '{"capacity": 10}', "no key 'instances'"),
    ("online_bin_packing", '{"capacity": "10", "instances": [[1]]}', "'capacity' is '10', a positive integer"),
    ("online_bin_packing", '{"capacity": 0, "instances": [[1]]}', "'capacity' is 0"),
    ("online_bin_packing", '{"capacity": true, "instances": [[1]]}', "'capacity' is True"),
    ("online_bin_packing", '{"capacity": 10, "instances": []}', "'instances' is an empty list"),
    ("online_bin_packing", '{"capacity": 10, "instances": {"a": [1]}}', "'instances' is of type dict"),
    ("online_bin_packing", '{"capacity": 10, "instances": [[1], 2]}', "instance 1 is of type int"),
    ("online_bin_packing", '{"capacity": 10, "instances": [[1], []]}', "instance 1 is an empty list"),
    ("online_bin_packing", '{"capacity": 10, "instances": [[1, 11]]}', "instance 0, item 1 is 11, larger than"),
    ("online_bin_packing", '{"capacity": 10, "instances": [[1, 1.5]]}', "instance 0, item 1 is 1.5, a whole number"),
    ("online_bin_packing", '{"capacity": 10, "instances": [[1, -1]]}', "instance 0, item 1 is -1"),
    ("online_bin_packing", '{"capacity": 10, "instances": [[1, "2"]]}', "instance 0, item 1 is '2'"),
    ("online_bin_packing", '{"capacity": 10, "instances": [[0, 0]]}', "instance 0 has items of size 0 only"),
    ("tsp_construct", '{"instances": [[[0, 0], [1, 1]]]}', "instance 0: a list of at least three cities"),
    ("tsp_construct", '{"instances": [[[0, 0], [1, 1], [1]]]}', "instance 0: a list of at least three cities"),
    ("tsp_construct", '{"instances": [[[0, 0], [1, 1], [1, 1e999]]]}', "instance 0, city 2: not finite"),
    ("tsp_construct", '{"cities": []}', 'expected {"instances"'),
    ("tsp_construct", '{"capacity": 10, "instances": [[1, 2, 3]]}', "instance 0: a list of at least three cities"),
    ("tsp_gls", '{"instances": [[[0, 0], [1, 1], [0, 1]]]}', "instance 0: a list of at least four cities"),
    ("flow_shop", '{"instances": [[1]]}', "expected a text file in Taillard's format"),
    ("flow_shop", "jobs\n", "expected a text file in Taillard's format"),
    ("flow_shop", "jobs\n 2 2 1\n", "instance 0: jobs, machines, seed, upper and lower bound"),
    ("flow_shop", "jobs\n 2 2 1 9 8\ntimes\n 1 2\n 3\n", "instance 0: 2 lines of 2 processing times"),
    ("flow_shop", "jobs\n 2 2 1 9 8\ntimes\n 1 2\n 3 x4\n", "instance 0: 2 lines of 2 processing times"),
    ("flow_shop", "jobs\n 2 2 1 9 8\ntimes\n 1 2\n 3 4.5\n", "line 5: '4.5' is no whole number"),
    ("flow_shop", "jobs\n 2 2 1 9 8\ntimes\n 1 2\n 3 -4\n", "instance 0: a processing time is negative"),
    ("flow_shop", "jobs\n 0 2 1 9 8\n", "instance 0: 0 jobs, 2 machines"),
    ("cap_set", '{"instances": [{"n": 9}]}', 'instance 0: {"n": a whole number from 1 to 8}'),
    ("cap_set", '{"instances": [8]}', 'instance 0: {"n": a whole number from 1 to 8}'),
    ("fit_function", '{"instances": [{"x": [1]}]}', "instance 0: a list of finite numbers was expected under 'y'"),
    ("fit_function", '{"instances": [{"x": [1], "y": [1, 2]}]}', "instance 0: 1 numbers under 'x', 2 under 'y'"),
]


@pytest.mark.parametrize(("name", "text", "message"), SHAPES)
def test_files_of_a_wrong_shape_say_what_was_expected_and_where(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    path = tmp_path / ("x.txt" if name == "flow_shop" else "x.json")
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        find_problem(name).load_instances(path)
    assert message in str(caught.value)
    assert str(caught.value).startswith(str(path))


def test_names_that_do_not_exist_list_those_that_do(folder: Path) -> None:
    problem = load_problem(folder)
    with pytest.raises(NotFound, match="'train', 'other'"):
        problem.instances("held")
    with pytest.raises(NotFound, match="'Sum'"):
        problem.baseline_solver("Max")
    with pytest.raises(NotFound, match="online_bin_packing"):
        find_problem("nothing")


def test_own_problems_go_before_bundled_ones_and_broken_ones_are_told(folder: Path) -> None:
    home = folder.parent
    (home / "broken").mkdir()
    (home / "broken" / "problem.toml").write_text("id = 3", "utf-8")
    usable, broken = own_problems(home)
    assert [problem.id for problem in usable] == ["mine"]
    assert list(broken) == ["broken"]
    assert "problem.toml, line 1" in broken["broken"]
    assert find_problem("mine", home=home).folder == folder
    assert find_problem(str(folder)).id == "mine"
    assert find_problem("tsp_gls", home=home).id == "tsp_gls"
    assert own_problems(home / "none") == ([], {})


def test_candidate_files_are_checked_before_they_run(folder: Path) -> None:
    problem = load_problem(folder)
    candidate = folder / "candidate.py"
    candidate.write_text("def score(a, b, c=1):\n    return a - b\n", "utf-8")
    assert load_function(problem, candidate)(3, 1) == 2
    for text in ("def score(a, b, c): ...", "def score(a): ...", "score = max", "def score(a, b"):
        candidate.write_text(f"raise SystemExit\n{text}", "utf-8")
        with pytest.raises(UsageError):
            load_function(problem, candidate)


def test_a_template_is_a_working_problem_under_its_new_name(tmp_path: Path) -> None:
    folder = template("my_problem", tmp_path)
    assert folder == tmp_path / "my_problem"
    problem = load_problem(folder)
    assert problem.id == "my_problem"
    assert problem.seed is not None
    for chosen in problem.sets:
        density, _ = evaluate_baseline(problem, "Value per weight", chosen)
        assert density > evaluate_baseline(problem, "Value", chosen)[0]
    instance = problem.instances()[0]
    for solution in ([0, 0], [-1, len(instance["objects"]) - 1], list(range(15)), [99]):
        with pytest.raises(ValueError, match="packed|capacity"):
            problem.code.measure(solution, instance)
    with pytest.raises(Conflict, match="exists already"):
        template("my_problem", tmp_path)
    for name in ("../x", "", "A", "a b", "9a"):
        with pytest.raises(UsageError, match="lower-case"):
            template(name, tmp_path)
