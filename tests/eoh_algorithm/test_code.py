"""Two heuristics are the same when only names, layout and comments differ, and never when their behaviour differs."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logician_graph.eoh.code import behaviour_key, code_key, measure, parse_code, unified_diff

BASE = '''import numpy as np

def score(item, bins):
    """Best fit."""
    gaps = bins - item  # what would be left
    best = min(gap for gap in gaps if gap >= 0)
    def near(gap):
        return np.exp(-(gap - best))
    return np.array([near(gap) for gap in gaps])
'''
SAME = [
    BASE.replace("gaps", "left_over").replace("best", "smallest"),
    BASE.replace("near", "inner"),
    BASE.replace("(item, bins)", "(w, b)").replace("bins - item", "b - w"),
    BASE.replace("(item, bins)", "(item: float, bins: np.ndarray) -> np.ndarray"),
    BASE.replace('    """Best fit."""\n', "    pass\n"),
    BASE.replace("    gaps = ", "    gaps: np.ndarray = "),
    BASE.replace("import numpy as np\n", "import numpy\nimport os\n").replace("np.", "numpy."),
    BASE.replace("import numpy as np\n", "").replace('    """Best', '    import numpy as np\n    """Best'),
    BASE.replace("import numpy as np", "from numpy import exp, array").replace("np.", ""),
]
OTHER = [
    BASE.replace("bins - item", "item - bins"),
    BASE.replace(">= 0", "> 0"),
    BASE.replace("def score", "def rate"),
    BASE.replace("(item, bins)", "(bins, item)"),
    BASE.replace("import numpy as np", "import jax.numpy as np"),
    BASE.replace("np.exp", "np.exp2"),
]


@pytest.mark.parametrize("other", SAME[:-1])
def test_layout_names_and_annotations_do_not_make_another_heuristic(other: str) -> None:
    assert other != BASE
    assert code_key(other) == code_key(BASE)


def test_an_imported_name_is_the_path_it_stands_for() -> None:
    one = "from math import sqrt as root\ndef f(x):\n    return root(x)"
    two = "def f(value):\n    from math import sqrt\n    return sqrt(value)"
    assert code_key(one) == code_key(two)
    assert code_key(one) != code_key(one.replace("math", "cmath"))


@pytest.mark.parametrize("other", OTHER)
def test_what_changes_the_behaviour_changes_the_key(other: str) -> None:
    assert code_key(other) != code_key(BASE)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        # A helper called by keyword: its parameters are part of what it does.
        (
            "def h(x, y): return x - y\ndef f(a): return h(x=a, y=1)",
            "def h(y, x): return y - x\ndef f(a): return h(x=a, y=1)",
        ),
        # A global that a function sets is no local.
        ("n = 0\ndef f(a):\n global n\n n = a\n return m", "n = 0\ndef f(a):\n global m\n m = a\n return m"),
        # Names bound twice in one scope are one variable.
        ("def f(a):\n import math as m\n return m.pi", "def f(a):\n import math as m\n m = a\n return m.pi"),
        ("def f(a, b):\n return [a for a in b][0] + a", "def f(a, b):\n return [a for a in b][0] + b"),
        ("def f(a):\n x = 1\n def g(): return x\n return g", "def f(a):\n x = 1\n def g(): return a\n return g"),
        ("def f(a):\n class C:\n  x = 1\n return C.x", "def f(a):\n class C:\n  y = 1\n return C.x"),
    ],
)
def test_names_that_matter_are_told_apart(one: str, two: str) -> None:
    assert code_key(one) != code_key(two)


NAMES = st.sampled_from(["item", "bins", "x", "gap", "best", "_q", "weight"])


@st.composite
def expressions(draw: st.DrawFn, names: tuple[str, ...], depth: int = 3) -> str:
    if depth == 0 or draw(st.booleans()):
        return draw(st.sampled_from(names) | st.integers(0, 9).map(str))
    parts = [draw(expressions(names, depth - 1)) for _ in range(3)]
    form = draw(
        st.sampled_from(["({} + {} * {})", "({} if {} else {})", "max({}, {}, {})", "[v + {} for v in [{}, {}]][0]"])
    )
    return form.format(*parts)


@st.composite
def functions(draw: st.DrawFn) -> tuple[str, dict[str, str]]:
    """A function with placeholders for the names of its variables, and the names that it used."""
    lines, known = [], ["A", "B"]
    for number in range(draw(st.integers(0, 4))):
        lines.append(f"    L{number} = {draw(expressions(tuple(known)))}")
        known.append(f"L{number}")
    lines.append(f"    return {draw(expressions(tuple(known)))}")
    return "def score(A, B):\n" + "\n".join(lines) + "\n", {name: name for name in known}


@given(functions(), st.permutations(["item", "bins", "x", "gap", "best", "weight"]))
def test_renaming_every_variable_keeps_the_key(made: tuple[str, dict[str, str]], new: list[str]) -> None:
    code, names = made
    tree = ast.parse(code)
    to = dict(zip(names, new, strict=False))
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            node.id = to.get(node.id, node.id)
        elif isinstance(node, ast.arg):
            node.arg = to[node.arg]
    assert code_key(ast.unparse(tree)) == code_key(code)


@given(functions(), st.lists(st.tuples(st.integers(-5, 5), st.integers(-5, 5)), min_size=1, max_size=5))
def test_equal_keys_mean_equal_results(made: tuple[str, dict[str, str]], calls: list[tuple[int, int]]) -> None:
    """Two different texts with one key compute the same: here a text and its mirror image in the arguments."""
    code, _ = made
    mirrored = code.replace("A", "T").replace("B", "A").replace("T", "B")
    if code_key(code) == code_key(mirrored):
        spaces: list[dict[str, object]] = [{}, {}]
        exec(code, spaces[0])
        exec(mirrored, spaces[1])
        assert all(spaces[0]["score"](*call) == spaces[1]["score"](*call) for call in calls)  # type: ignore[operator]


@given(st.text(max_size=200) | st.text(alphabet="()[]{}:\n\t =.'\"\\def lambda x1,", max_size=200))
def test_text_that_is_no_python_is_a_syntax_error_and_nothing_else(text: str) -> None:
    try:
        parse_code(text)
    except SyntaxError:
        return
    code_key(text)
    measure(text)


@pytest.mark.parametrize(
    "text", ["-" * 50_000 + "1", "(" * 5000, "x" + ".a" * 20_000, "1" + "+1" * 20_000, "a\0b", "x" * 70_000]
)
def test_hostile_text_is_a_syntax_error(text: str) -> None:
    with pytest.raises(SyntaxError):
        code_key(text)


def test_behaviour_is_equal_to_nine_digits_in_every_instance() -> None:
    assert behaviour_key(0.5, (1.0, 0.0)) == behaviour_key(0.5 + 1e-13, (1.0, -0.0))
    assert behaviour_key(0.5, (1.0, 0.0)) != behaviour_key(0.5, (0.0, 1.0))
    assert behaviour_key(0.5, (1.0, None)) != behaviour_key(0.5, (1.0, 0.0))
    assert behaviour_key(0.00624, ()) != behaviour_key(0.00634, ())


def test_measures_count_what_runs() -> None:
    plain = measure("def f(a):\n    return a")
    assert (plain.lines, plain.depth, plain.branches, plain.calls, plain.constants) == (2, 1, 0, 0, 0)
    noisy = measure("# c\ndef f(a: int) -> int:\n\n    '''Doc.'''\n    return a  # c")
    assert noisy == plain
    rich = measure("def f(a):\n    for x in a:\n        if x > 2:\n            return max(x, 3.5)\n    return True")
    assert (rich.lines, rich.depth, rich.branches, rich.calls, rich.constants) == (5, 3, 2, 1, 2)
    assert rich.get("nodes") == rich.nodes > plain.nodes


def test_the_diff_shows_what_a_child_changed() -> None:
    diff = unified_diff("a\nb\nc", "a\nB\nc", names=("3", "7"))
    assert diff.splitlines() == ["--- 3", "+++ 7", "@@ -1,3 +1,3 @@", " a", "-b", "+B", " c"]
    assert unified_diff("a", "a") == ""
