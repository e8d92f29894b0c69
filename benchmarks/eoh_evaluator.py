# ruff: noqa: E501, ISC004
"""Evaluating heuristics: our pool against a spawned Python process per candidate, and the overhead of confinement.

    python -m benchmarks.eoh_evaluator [--candidates 200] [--limit 10] [--seed 1] [--json]

*Throughput*: a mixed population on online bin packing's training set (5 times 5,000 items), one candidate at a time on
both sides, so per core. The other side works like the official evaluator (FeiLiu36/EoH, V0.2): for each candidate a
process is spawned, gets the pickled problem, runs the packing loop that filters all bins for each item, and is waited
for up to the limit. Both must come to the same objective or to none. *racing* is our pool told each time what the
worst of the twenty best so far has; it must come to the same twenty. CPU seconds count all processes on either side and
are what to compare on a busy machine.

*Overhead*: a trivial candidate in the pool, over calling the same functions in this process.
"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import json
import multiprocessing
import random
import resource
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from multiprocessing.queues import Queue
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from logician_graph.eoh.evaluator import Evaluator, local_evaluator
from logician_graph.eoh.problem import Problem, find_problem, load_problem
from logician_graph.eoh.problem_file import Limits

KEPT = 20
FAST = (
    "import numpy as np\ndef score(item, bins):\n    return {a} * item - bins\n",
    "import numpy as np\ndef score(item, bins):\n    return -(bins - item) ** {a}\n",
    "import numpy as np\ndef score(item, bins):\n    left = bins - item\n    return np.where(left < {b}, bins, -left)\n",
    "import numpy as np\ndef score(item, bins):\n    return -np.arange(len(bins)) * {a}\n",
)
SLOW = (
    "import numpy as np\ndef score(item, bins):\n    left = bins - item\n"
    "    return (bins / np.sqrt(left + {a})) ** np.log(bins) * np.exp(-left / {b})\n",
    "import numpy as np\ndef score(item, bins):\n    left = (bins - item) / bins\n"
    "    return np.exp(-{a} * left) + np.tanh({b} * left) / (1 + np.sqrt(left)) + np.sin(left) ** 2\n",
)
FAILING = (
    "import numpy as np\ndef score(item, bins)\n    return bins\n",
    "import numpy as np\ndef score(item, bins):\n    return bins / undefined_{b}\n",
    "import numpy as np\ndef priority(item, bins):\n    return bins * {a}\n",
    "import numpy as np\ndef score(item, bins):\n    return np.dot(bins, np.ones({b}))\n",
    "import numpy as np\ndef score(item, bins):\n    return bins[{b}0000]\n",
)
HANGING = ("import numpy as np\ndef score(item, bins):\n    while item < 1000 + {b}:\n        item = min(item, 50)\n",)
MIX = (("fast", FAST, 0.60), ("slow", SLOW, 0.14), ("failing", FAILING, 0.22), ("hanging", HANGING, 0.04))


class Candidate(NamedTuple):
    """One of the population."""

    kind: str
    code: str


class Took(NamedTuple):
    """What a population cost."""

    wall: float
    cpu: float
    by_kind: dict[str, float]
    objectives: list[float | None]


def population(count: int, seed: int) -> list[Candidate]:
    """Candidates of every kind in a fixed random order."""
    dice = random.Random(seed)
    made: list[Candidate] = []
    for kind, templates, share in MIX:
        for number in range(max(1, round(count * share))):
            values = {"a": round(dice.uniform(0.5, 3), 3), "b": dice.randint(2, 40)}
            made.append(Candidate(kind, templates[number % len(templates)].format(**values)))
    dice.shuffle(made)
    return made


class SpawnedProblem:
    """The other side's problem: pickled anew for each candidate."""

    def __init__(self, capacity: int, instances: list[list[int]]) -> None:
        self.capacity = capacity
        self.instances = instances

    def evaluate(self, code: str) -> float:
        """The objective; raises what the candidate raises."""
        names: dict[str, Any] = {}
        exec(code, names)
        used = [self._pack(names["score"], np.array(items)) for items in self.instances]
        bound = statistics.mean(-(-sum(items) // self.capacity) for items in self.instances)
        return (statistics.mean(used) - bound) / bound

    def _pack(self, score: Any, items: Any) -> int:
        bins = np.full(len(items), self.capacity)
        for item in items:
            valid = np.nonzero((bins - item) >= 0)[0]
            best = valid[np.argmax(score(item, bins[valid]))]
            bins[best] -= item
        return int((bins != self.capacity).sum())


def _spawned(problem: SpawnedProblem, code: str, answers: Queue[float | None]) -> None:
    np.seterr(all="ignore")
    try:
        answers.put(problem.evaluate(code))
    except Exception:  # noqa: BLE001 -- the candidate may raise anything
        answers.put(None)


def by_spawning(problem: SpawnedProblem, candidates: list[Candidate], limit: float) -> Took:
    """One spawned process per candidate."""
    context = multiprocessing.get_context("spawn")

    def run(code: str) -> float | None:
        answers: Queue[float | None] = context.Queue()
        process = context.Process(target=_spawned, args=(problem, code, answers))
        process.start()
        process.join(limit)
        if process.is_alive():
            process.terminate()
            process.join()
            return None
        return answers.get(timeout=5)

    started, cpu, by_kind = time.perf_counter(), _cpu(), defaultdict[str, float](float)
    objectives: list[float | None] = []
    for kind, code in candidates:
        before = time.perf_counter()
        objectives.append(run(code))
        by_kind[kind] += time.perf_counter() - before
    return Took(time.perf_counter() - started, _cpu() - cpu, by_kind, objectives)


async def by_pool(problem: Problem, candidates: list[Candidate], *, racing: bool) -> Took:
    """Our evaluator with one worker, its start included."""
    started, cpu, by_kind = time.perf_counter(), _cpu(), defaultdict[str, float](float)
    evaluator: Evaluator = local_evaluator(problem, workers=1)
    objectives: list[float | None] = []
    for kind, code in candidates:
        before = time.perf_counter()
        best = kept(objectives)
        limit = best[-1] if racing and len(best) == KEPT else None
        objectives.append((await evaluator.evaluate(code, cut_above=limit)).objective)
        by_kind[kind] += time.perf_counter() - before
    await evaluator.close()
    return Took(time.perf_counter() - started, _cpu() - cpu, by_kind, objectives)


def kept(objectives: list[float | None]) -> list[float]:
    """The best so far, as a population would keep them: one of each objective."""
    return sorted({value for value in objectives if value is not None})[:KEPT]


def _cpu() -> float:
    return sum(
        usage.ru_utime + usage.ru_stime
        for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def _same(one: list[float | None], other: list[float | None]) -> bool:
    return all(
        (a is None) == (b is None) and (a is None or b is None or abs(a - b) < 1e-9)
        for a, b in zip(one, other, strict=True)
    )


TRIVIAL = "def f(x):\n    return x\n"


async def overhead(repeats: int = 200) -> dict[str, float]:
    """Milliseconds for a trivial candidate: in the pool, and as bare calls in this process."""
    with tempfile.TemporaryDirectory() as place:
        problem = load_problem(_trivial_problem(Path(place) / "trivial"))
        evaluator = local_evaluator(problem, workers=1)
        await evaluator.evaluate(TRIVIAL)
        pooled: list[float] = []
        for _ in range(repeats):
            before = time.perf_counter()
            assert (await evaluator.evaluate(TRIVIAL)).objective == 2.0
            pooled.append((time.perf_counter() - before) * 1000)
        await evaluator.close()
        code, instances, bare = problem.code, problem.instances(), list[float]()
        for _ in range(repeats):
            before = time.perf_counter()
            names: dict[str, Any] = {}
            exec(TRIVIAL, names)
            values = [code.measure(code.solve(names["f"], code.visible(one)), one) for one in instances]
            code.objective(values, instances)
            bare.append((time.perf_counter() - before) * 1000)
    cuts = statistics.quantiles(pooled, n=20)
    return {"pool_median": statistics.median(pooled), "pool_p95": cuts[-1], "bare_median": statistics.median(bare)}


def _trivial_problem(folder: Path) -> Path:
    folder.mkdir()
    (folder / "evaluate.py").write_text(
        "def solve(heuristic, visible):\n    return heuristic(visible)\n\n"
        "def measure(solution, instance):\n    return float(solution)\n",
        encoding="utf-8",
    )
    (folder / "i.json").write_text('{"instances": [1, 2, 3]}', encoding="utf-8")
    (folder / "problem.toml").write_text(
        'id = "trivial"\ntitle = "t"\ndirection = "min"\nfunction = "f(x)"\nreturns = "a number"\ndescription = "d"\n'
        '[instances]\ntrain = ["i.json"]\n',
        encoding="utf-8",
    )
    return folder


def _table(sides: dict[str, Took], candidates: list[Candidate]) -> Iterator[str]:
    base = sides["spawn"]
    yield f"{'':10}{'n':>5}" + "".join(f"{name + ' s':>12}{'ratio':>8}" for name in sides)
    for kind, _, _ in MIX:
        count = sum(one.kind == kind for one in candidates)
        cells = [(took.by_kind[kind], base.by_kind[kind] / took.by_kind[kind]) for took in sides.values()]
        yield f"{kind:10}{count:>5}" + "".join(f"{seconds:>12.1f}{ratio:>8.2f}" for seconds, ratio in cells)
    for label, field in (("all, wall", "wall"), ("all, CPU", "cpu")):
        cells = [(getattr(took, field), getattr(base, field) / getattr(took, field)) for took in sides.values()]
        yield f"{label:10}{len(candidates):>5}" + "".join(f"{seconds:>12.1f}{ratio:>8.2f}" for seconds, ratio in cells)
    yield f"{'per second':15}" + "".join(f"{len(candidates) / took.wall:>12.2f}{'':>8}" for took in sides.values())


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--candidates", type=int, default=200)
    parser.add_argument("--limit", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    problem = find_problem("online_bin_packing")
    problem = dataclasses.replace(problem, limits=Limits(seconds=options.limit))
    raw = json.loads((problem.folder / problem.sets["train"].files[0]).read_text(encoding="utf-8"))
    candidates = population(options.candidates, options.seed)
    sides = {
        "spawn": by_spawning(SpawnedProblem(raw["capacity"], raw["instances"]), candidates, options.limit),
        "pool": asyncio.run(by_pool(problem, candidates, racing=False)),
        "racing": asyncio.run(by_pool(problem, candidates, racing=True)),
    }
    equal = _same(sides["spawn"].objectives, sides["pool"].objectives)
    same_best = kept(sides["pool"].objectives) == kept(sides["racing"].objectives)
    extra = asyncio.run(overhead())
    if options.json:
        took = {name: {"wall": one.wall, "cpu": one.cpu, "by_kind": one.by_kind} for name, one in sides.items()}
        print(json.dumps({"took": took, "equal": equal, "same_best": same_best, "overhead_ms": extra}))
        return
    print("\n".join(_table(sides, candidates)))
    print(f"equal objectives, spawn and pool: {equal}; the same {KEPT} best with racing: {same_best}")
    print(
        f"overhead of a trivial candidate: median {extra['pool_median'] - extra['bare_median']:.1f} ms "
        f"(p95 {extra['pool_p95']:.1f} ms) over {extra['bare_median']:.3f} ms bare"
    )


if __name__ == "__main__":
    main()
