# ruff: noqa: E501
"""Candidates that mean harm: what becomes of each, and that the next one notices nothing."""

from __future__ import annotations

import pytest

from tests.eoh_evaluator.conftest import MakeEvaluator
from tests.eoh_evaluator.problems import SQUARE

NP = "import numpy as np\n"

ATTACKS = {
    # name: (code, status, part of the error)
    "infinite loop": ("def f(x):\n    while True: pass", "timeout", "time limit"),
    "infinite loop at import": ("while True: pass", "timeout", "time limit"),
    "infinite loop in C": ("import itertools\ndef f(x): return sum(itertools.count())", "timeout", "time limit"),
    "loop that catches everything": (
        "def f(x):\n    while True:\n        try:\n            while True: pass\n        except: pass",
        "timeout",
        "time limit",
    ),
    "10 GB array": (NP + "def f(x): return np.ones(10 * 2**30, dtype=np.uint8)", "memory", "MemoryError"),
    "memory in small pieces": ("def f(x):\n    a = []\n    while True: a.append([0] * 1000)", "memory", "MemoryError"),
    "huge integer": ("def f(x): return 10 ** (10 ** 9)", "timeout", "time limit"),
    "huge text": ("def f(x): return 'x' * 10**11", "memory", "MemoryError"),
    "sys.exit": ("import sys\ndef f(x): sys.exit(0)", "rejected", "import of 'sys' is not allowed"),
    "exit": ("def f(x): exit()", "failed", "NameError: name 'exit' is not defined (line 1"),
    "raise SystemExit": ("def f(x): raise SystemExit(0)", "failed", "NameError"),
    "import os": ("import os\ndef f(x): os.system('true')", "rejected", "line 1: import of 'os' is not allowed"),
    "import inside": ("def f(x):\n    from os import path\n    return 1", "rejected", "line 2: import of 'os'"),
    "threads": ("import threading\ndef f(x): return 1", "rejected", "threading"),
    "open": ("def f(x): return open('/etc/passwd').read()", "failed", "NameError: name 'open' is not defined"),
    "eval": ("def f(x): return eval('1')", "failed", "NameError"),
    "__import__": ("def f(x): return __import__('os')", "rejected", "'__import__' cannot be used"),
    "monkeypatched numpy": (NP + "np.argmax = lambda a: 0\ndef f(x): return x * x", "failed", "cannot change numpy"),
    "recursion": ("def f(x): return f(x)", "failed", "RecursionError"),
    "recursion at depth": (
        "def f(x):\n    a = []\n    for _ in range(10**4): a = [a]\n    return a", "failed", "RecursionError"),
    "cycle": ("def f(x):\n    a = []\n    a.append(a)\n    return a", "failed", "RecursionError"),
    "huge message": ("def f(x): raise ValueError('ab' * 10**7)", "failed", "ValueError: abab"),
    "unprintable message": ("def f(x): raise ValueError(chr(27) + '[2J' + chr(0xdc80))", "failed", "ValueError: \ufffd[2J"),
    "NaN only": (NP + "def f(x): return np.nan", "failed", "its measure is nan"),
    "infinity": ("def f(x): return float('inf')", "failed", "its measure is inf"),
    "text": ("def f(x): return 'nine'", "infeasible", "could not convert"),
    "none": ("def f(x): return None", "failed", "cannot be measured: TypeError"),
    "wrong shape": (NP + "def f(x): return np.zeros((3, 3))", "failed", "cannot be measured"),
    "object with comparisons": (
        "class A:\n    def __lt__(self, other): return True\ndef f(x): return A()", "rejected", "classes cannot be used"),
    "function as result": ("def f(x): return f", "failed", "not function"),
    "generator as result": ("def f(x): yield 1", "failed", "not generator"),
    "array of objects": (NP + "def f(x): return np.array([f, print], dtype='O')", "failed", "numeric, not of type object"),
    "absurd solution": (NP + "def f(x): return np.ones(50 * 2**20, dtype=np.uint8)", "failed", "too large"),
    "absurd list": ("def f(x): return [1.5] * 10**7", "failed", "too large"),
    "absurd number": ("def f(x): return 1 << 100000", "failed", "Exceeds the limit"),
    "answers": ("def f(x): return visible['answers']", "failed", "NameError"),
    "frames": ("def f(x):\n    g = (1 for _ in [1])\n    return g.gi_frame", "rejected", "'gi_frame'"),
    "no function": ("def g(x): return 1", "rejected", "defines no function 'f'"),
    "function is a number": ("f = 3", "rejected", "defines no function 'f'"),
    "wrong arity": ("def f(x, y, z): return 1", "failed", "missing 2 required positional arguments"),
    "syntax error": ("def f(x):\n    retrun x", "rejected", "line 2: not Python"),
    "null byte": ("def f(x): return 1\0", "rejected", "not Python"),
    "lone surrogate": ("def f(x): return '\udc80'", "rejected", "not text"),
    "too much text": ("#" * 300_000, "rejected", "300000 characters"),
    "deep nesting": ("f = " + "(" * 5000 + ")" * 5000, "rejected", "not Python"),
    "deep operators": ("f = " + "-" * 60000 + "1", "*", ""),
    "empty": ("", "rejected", "defines no function"),
}  # fmt: skip


@pytest.mark.parametrize("name", ATTACKS)
async def test_an_attack_ends_with_a_status_and_leaves_the_next_candidate_alone(
    name: str, evaluator: MakeEvaluator
) -> None:
    code, status, error = ATTACKS[name]
    limit = 0.4 if status == "timeout" else 2.0
    one = evaluator(seconds=limit, memory_mb=1024 if "absurd" in name else 256, imports=("numpy", "math", "itertools"))
    seen = await one.evaluate(code)
    assert status in {seen.status, "*"}, seen
    assert seen.status != "valid" and seen.objective is None
    assert seen.error is not None and error in seen.error, seen.error
    assert len(seen.error) <= 1001
    assert seen.seconds < 2.5
    after = await one.evaluate(SQUARE)
    assert (after.status, after.objective, after.per_instance) == ("valid", 0.0, (0.0, 0.0, 0.0)), after


async def test_a_flood_of_output_is_cut_and_costs_nothing(evaluator: MakeEvaluator) -> None:
    one = evaluator(seconds=20.0)
    seen = await one.evaluate("def f(x):\n    for i in range(10**5): print('flood', i)\n    return x * x")
    assert (seen.status, seen.objective) == ("valid", 0.0)
    assert seen.output.startswith("flood 0\nflood 1\n") and len(seen.output) <= 4096
    assert (await one.evaluate(SQUARE)).output == ""


async def test_what_was_printed_before_the_end_is_told(evaluator: MakeEvaluator) -> None:
    seen = await evaluator(seconds=0.4).evaluate("def f(x):\n    print('so far', x)\n    while True: pass")
    assert (seen.status, seen.output) == ("timeout", "so far 0\n")


async def test_nothing_is_left_for_the_next_candidate(evaluator: MakeEvaluator) -> None:
    """Globals, default arguments, attributes of functions, numpy's error state, random streams."""
    one = evaluator(imports=("numpy", "math", "random", "functools"))
    spoil = (
        "import numpy as np, random, functools, math\n"
        "seen = []\n"
        "def f(x, memory=[]):\n"
        "    memory.append(x); seen.append(x); f.calls = len(seen)\n"
        "    np.seterr(all='raise'); np.random.seed(x); random.seed(x); np.set_printoptions(precision=1)\n"
        "    np.mean.spoilt = 1\n"
        "    return x * x\n"
    )
    look = (
        "import numpy as np, random\n"
        "def f(x):\n"
        "    print(np.random.rand() , random.random(), np.geterr()['divide'], np.array([1.23456]))\n"
        "    return x * x\n"
    )
    first = await one.evaluate(look)
    assert (await one.evaluate(spoil)).status == "valid"
    assert (await one.evaluate(look)).output == first.output
    assert (await one.evaluate("import numpy as np\ndef f(x): return np.mean.spoilt")).status == "failed"


async def test_changed_inputs_stay_the_candidates_own(evaluator: MakeEvaluator) -> None:
    one = evaluator(
        evaluate="def solve(h, v): return h(v['xs'])\n"
        "def measure(s, i):\n    assert i['xs'] == sorted(i['xs']) and len(i['xs']) == 3\n    return float(s)\n"
    )
    clean = "def f(xs): return sum(xs)"
    before = await one.evaluate(clean)
    assert (await one.evaluate("def f(xs):\n    xs.clear()\n    return 1")).per_instance == (1.0, 1.0, 1.0)
    assert (await one.evaluate(clean)).per_instance == before.per_instance == (3.0, 6.0, 9.0)


async def test_a_problem_that_believes_its_candidates_still_gives_each_call_fresh_arguments(
    evaluator: MakeEvaluator,
) -> None:
    one = evaluator(evaluate="def evaluate(h, i):\n    h(i['xs'])\n    return float(sum(i['xs']))\n")
    assert (await one.evaluate("def f(xs): xs.clear()")).per_instance == (3.0, 6.0, 9.0)
    told = await evaluator(evaluate="def evaluate(h, i): return h(i)\n").evaluate("def f(x): return True")
    assert told.status == "infeasible"


@pytest.mark.parametrize("value", [SQUARE, "def f(x):\n    import numpy as np\n    return np.int64(x) * np.float32(x)"])
async def test_numbers_of_numpy_are_numbers(value: str, evaluator: MakeEvaluator) -> None:
    assert (await evaluator().evaluate(value)).objective == 0.0


COUNTED = """
def solve(heuristic, visible): return [heuristic(k) for k in range(1000)]
def measure(solution, instance): return 0.0
def calls(visible): return 1000
"""


async def test_one_that_hangs_is_found_out_early_where_the_calls_are_known(evaluator: MakeEvaluator) -> None:
    one = evaluator(evaluate=COUNTED, seconds=4.0)
    seen = await one.evaluate("def f(x):\n    while x >= 0: pass")
    assert (seen.status, seen.error) == ("timeout", "it made 1 of 3000 calls in 0.5 s, an eighth of its time limit")
    assert 0.5 <= seen.seconds < 1.5


async def test_a_slow_start_is_no_hang(evaluator: MakeEvaluator) -> None:
    """Most of its time goes into its first tenth, and it still gets its whole limit."""
    one = evaluator(evaluate=COUNTED, seconds=8.0)
    slow = "def f(x):\n    for _ in range(100_000 if x < 100 else 0): pass\n"
    assert (await one.evaluate(slow)).status == "valid"


async def test_catching_that_only_uses_up_the_limit(evaluator: MakeEvaluator) -> None:
    one = evaluator(evaluate=COUNTED, seconds=1.0)
    # A loop without a call in it has no place where Python 3.11 would catch.
    stubborn = "def f(x):\n    while True:\n        try: sum(range(1000))\n        except: pass"
    seen = await one.evaluate(stubborn)
    assert (seen.status, seen.error) == ("timeout", "it did not end within its time limit")
    assert (await one.evaluate("def f(x): return 1")).status == "valid"
