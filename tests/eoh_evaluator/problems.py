"""Small problem folders for the evaluator's tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from logician_graph.eoh.problem import Problem, load_problem

SUM = """
def solve(heuristic, visible):
    return [heuristic(x) for x in visible["xs"]]

def measure(solution, instance):
    if len(solution) != len(instance["xs"]):
        raise ValueError("one number for each x was expected")
    return sum(abs(float(got) - want) for got, want in zip(solution, instance["answers"]))

def visible(instance):
    return {"xs": instance["xs"]}

def partial_bound(values_so_far, instances):
    return sum(values_so_far) / len(instances)
"""
"""The cost is the distance from the squares: ``def f(x): return x * x`` costs 0. Answers stay with the judge."""

TRUSTING = """
import builtins, ctypes, fcntl, glob, io, mmap, operator, os, resource, signal, socket, sys, threading, time

def solve(heuristic, visible):
    return heuristic(visible, __import__)

def measure(solution, instance):
    return float(solution)
"""
"""Hands the candidate the real ``__import__``: an attacker that has got past every check of the text."""

SQUARE = "def f(x):\n    return x * x\n"


def instances(count: int = 3) -> dict[str, Any]:
    return {
        "instances": [{"xs": [k, k + 1, k + 2], "answers": [k**2, (k + 1) ** 2, (k + 2) ** 2]} for k in range(count)]
    }


def write_problem(
    folder: Path, *, evaluate: str = SUM, data: Any = None, function: str = "f(x)", seconds: float = 5.0,
    memory_mb: int = 256, direction: str = "min", imports: tuple[str, ...] = ("numpy", "math"),
) -> Problem:  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "evaluate.py").write_text(evaluate, encoding="utf-8")
    for name, content in {"train": data or instances(), "other": data or instances(5)}.items():
        (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    (folder / "problem.toml").write_text(
        f"""id = "{folder.name}"
title = "t"
direction = "{direction}"
function = "{function}"
returns = "a number"
description = "d"
imports = {json.dumps(list(imports))}
[limits]
seconds = {seconds}
memory_mb = {memory_mb}
[instances]
train = ["train.json"]
[instances.held_out]
other = ["other.json"]
""",
        encoding="utf-8",
    )
    return load_problem(folder)
