# ruff: noqa: E501
"""Workers that die, a server that dies, problems that misbehave: what is left and what goes on."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from logician_graph.eoh.problem import load_problem
from logician_graph.sandbox.launcher import processes
from tests.eoh_evaluator.conftest import Eventually, MakeEvaluator
from tests.eoh_evaluator.problems import SQUARE, TRUSTING, write_problem

HANG = "def f(x):\n    while True: pass"


@pytest.fixture
def ours() -> Callable[[], list[int]]:
    """Processes below this one that were not there before the test, oldest first."""
    before = set(processes.descendants(os.getpid(), zombies=True))
    return lambda: sorted(set(processes.descendants(os.getpid(), zombies=True)) - before)


@pytest.mark.parametrize("victim", [0, 1, 2], ids=["judge", "nursery", "candidate"])
async def test_a_killed_process_is_replaced(
    victim: int, evaluator: MakeEvaluator, eventually: Eventually, ours: Callable[[], list[int]]
) -> None:
    """As the system does when memory runs out."""
    one = evaluator(seconds=20.0)
    assert (await one.evaluate(SQUARE)).objective == 0.0  # starting a worker takes processes that soon end
    hanging = asyncio.create_task(one.evaluate(HANG))
    await eventually(lambda: len(ours()) == 3)
    os.kill(ours()[victim], signal.SIGKILL)
    async with asyncio.timeout(5):
        seen = await hanging
    assert seen.status == "crashed" and seen.error is not None
    assert (await one.evaluate(SQUARE)).objective == 0.0
    await one.close()
    processes.reap(ours())
    await eventually(lambda: not ours())


async def test_nothing_is_left_after_closing(evaluator: MakeEvaluator, ours: Callable[[], list[int]]) -> None:
    one = evaluator(workers=2, seconds=20.0)
    await asyncio.gather(one.evaluate(SQUARE), one.evaluate(SQUARE))
    assert len(ours()) == 4
    await one.close()
    assert ours() == []


SERVER = """
import asyncio, sys
from pathlib import Path
from logician_graph.eoh.evaluator import local_evaluator
from logician_graph.eoh.problem import load_problem

async def main():
    one = local_evaluator(load_problem(Path(sys.argv[1])), workers=2)
    await asyncio.gather(*(one.evaluate(sys.argv[2]) for _ in range(2)))

asyncio.run(main())
"""


@pytest.mark.parametrize("where", ["candidate", "measure"])
async def test_a_killed_server_takes_everything_with_it(where: str, tmp_path: Path, eventually: Eventually) -> None:
    problem = write_problem(
        tmp_path / "p",
        seconds=60.0,
        evaluate="def solve(h, v): return h(v)\ndef measure(s, i):\n    while True: pass\n",
    )
    code = HANG if where == "candidate" else "def f(x): return 1"
    root = Path(__file__).parents[2]
    # Its own parent of processes, so that orphans come to us and can be counted.
    processes.become_subreaper()
    server = subprocess.Popen([sys.executable, "-c", SERVER, str(problem.folder), code], cwd=root)
    await eventually(lambda: len(processes.descendants(server.pid)) >= (6 if where == "candidate" else 4))
    await asyncio.sleep(0.3)
    family = processes.descendants(server.pid)
    server.kill()
    server.wait()
    await eventually(lambda: not set(family) & set(processes.descendants(os.getpid())))
    processes.reap(family)


async def test_measuring_without_end_costs_one_candidate(
    evaluator: MakeEvaluator, monkeypatch: pytest.MonkeyPatch
) -> None:
    from logician_graph.eoh.evaluator import pool

    monkeypatch.setattr(pool, "_GRACE_S", 0.5)
    one = evaluator(
        seconds=0.5,
        evaluate="def solve(h, v): return h(1)\ndef measure(s, i):\n    while s: pass\n    return 0.0\n",
    )
    seen = await one.evaluate("def f(x): return 1")
    assert (seen.status, seen.error) == ("crashed", "its solution could not be measured in time")
    assert (await one.evaluate("def f(x): return 0")).status == "valid"


async def test_measuring_is_not_the_candidates_time(evaluator: MakeEvaluator) -> None:
    slow = "import time\ndef solve(h, v): return h(1)\ndef measure(s, i):\n    time.sleep(0.4)\n    return 0.0\n"
    assert (await evaluator(seconds=0.5, evaluate=slow).evaluate("def f(x): return 1")).status == "valid"


async def test_what_the_problem_prints_disturbs_nothing(evaluator: MakeEvaluator) -> None:
    loud = "print('loading')\ndef solve(h, v): return h(1)\ndef measure(s, i):\n    print('measuring' * 100)\n    return 0.0\n"
    one = evaluator(evaluate=loud)
    seen = await one.evaluate("def f(x): return 1")
    assert (seen.status, seen.output) == ("valid", "")


async def test_the_problems_own_mistakes_are_told_as_such(evaluator: MakeEvaluator) -> None:
    wrong = "def solve(h, v): return h(1)\ndef measure(s, i): return {}['x']\n"
    seen = await evaluator(evaluate=wrong).evaluate("def f(x): return 1")
    assert seen.status == "failed" and "cannot be measured: KeyError: 'x'" in str(seen.error)
    seen = await evaluator(evaluate="def solve(h, v): return [][1]\ndef measure(s, i): return 1.0\n").evaluate(SQUARE)
    assert (seen.status, seen.error) == ("failed", "IndexError: list index out of range")
    never = TRUSTING + "def objective(values, instances): return float('nan')\n"
    seen = await evaluator(evaluate=never, function="f(v, load)").evaluate("def f(v, load): return 1")
    assert (seen.status, seen.objective) == ("failed", None) and seen.per_instance == (1.0, 1.0, 1.0)


async def test_a_worker_needs_nothing_of_the_servers_environment(
    tmp_path: Path, evaluator: MakeEvaluator, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "numpy.py").write_text("raise SystemExit('the wrong numpy')", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert (await evaluator().evaluate(SQUARE)).status == "valid"
    assert load_problem(tmp_path / "p0").id == "p0"
