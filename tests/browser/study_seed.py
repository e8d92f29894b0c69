"""A study of any size, put where the server finds it: into its database."""

from __future__ import annotations

import math
import random
from typing import Any

from sqlalchemy import insert

from storage import Database, Exchange, Run, Sample, Score, Study, new_id, now

OPERATORS = ("E1", "E2", "M1", "M2", "M3")
INSTANCES = 5


def _code(dice: random.Random, number: int) -> str:
    lines = [f"    part_{step} = value ** {dice.uniform(0.1, 2):.3f} / weight" for step in range(dice.randint(1, 6))]
    total = " + ".join(f"part_{step}" for step in range(len(lines)))
    body = "\n".join(lines)
    return f"def priority(value, weight, capacity):\n    # {number}\n{body}\n    return {total}\n"


def _outcome(dice: random.Random) -> str:
    kinds = ("valid", "duplicate", "generation_failed", "failed", "timeout", "rejected")
    return dice.choices(kinds, (72, 8, 7, 8, 3, 2))[0]


_ERRORS = {
    "generation_failed": "The reply holds no function.",
    "failed": "NameError: name 'undefined_name' is not defined, line 2",
    "timeout": "It took more than 5 s.",
    "rejected": "import os is not allowed, line 1",
}


def many_samples(database: Database, count: int, *, size: int = 20, problem: str = "knapsack", title: str = "") -> str:
    """A finished study of ``count`` samples that gets better; returns its id."""
    dice = random.Random(11)
    study_id, run_id = new_id(), new_id()
    start = now() - count * 3
    samples: list[dict[str, Any]] = []
    exchanges: list[dict[str, Any]] = []
    members: list[dict[str, Any]] = []
    best = -math.inf
    for n in range(count):
        generation = n // size
        operator = "I1" if generation == 0 else OPERATORS[n % 5]
        outcome = _outcome(dice)
        parents = [dice.choice(members)["n"] for _ in range(2 if operator.startswith("E") else 1)] if members else []
        level = 100 * (1 - math.exp(-(generation + 5) / (count / size / 3 + 1)))
        objective = level - abs(dice.gauss(0, 6)) if outcome in ("valid", "duplicate") else None
        at = start + n * 3
        row: dict[str, Any] = {
            "study_id": study_id, "n": n, "operator": operator, "generation": generation, "island": 0,
            "parents": [] if operator == "I1" else parents, "model": "endpoint:fake-model", "phase": "recorded",
            "outcome": outcome, "verdict": None, "thought": f"Prefer dense objects, variant {n}.",
            "code": None if outcome == "generation_failed" else _code(dice, n), "code_key": f"{n:064x}",
            "same_as": None, "objective": objective, "error": _ERRORS.get(outcome), "notes": None, "output": "",
            "per_instance": [objective + dice.gauss(0, 2) for _ in range(INSTANCES)] if objective else None,
            "tries": 1, "input_tokens": 200, "output_tokens": 60, "cost_usd": 0.0002, "model_seconds": 1.2,
            "seconds": 0.05, "cpu_seconds": 0.05, "record": n + 1, "left_record": None, "best": False,
            "proposed_at": at, "recorded_at": at + 2,
        }  # fmt: skip
        if outcome == "valid" and objective is not None:
            row["best"], best = objective > best, max(best, objective)
            row["verdict"] = "behind"
            if len(members) < size or objective > members[-1]["objective"]:
                row["verdict"] = "entered"
                members.append(row)
                members.sort(key=lambda one: -one["objective"])
                for gone in members[size:]:
                    gone["left_record"] = n + 1
                del members[size:]
        elif outcome == "duplicate":
            row["verdict"] = "duplicate"
        samples.append(row)
        request = {"system": "You write heuristics.", "user": f"Write a better one ({n}).", "temperature": 1.0,
                   "max_output_tokens": 1024, "seed": n}  # fmt: skip
        exchanges.append(
            {"study_id": study_id, "n": n, "attempt": 0, "model": "endpoint:fake-model", "request": request,
             "request_sha256": "0" * 64, "reply": f"{{Idea}}\n```python\n{row['code'] or ''}```", "seconds": 1.2,
             "finish_reason": "stop", "usage": {"input_tokens": 200, "output_tokens": 60}, "cost_usd": 0.0002,
             "at": at}
        )  # fmt: skip
    usage = {"seconds": count * 3.0, "input_tokens": 200 * count, "output_tokens": 60 * count, "model_calls": count}
    ended = start + count * 3
    run = {"id": run_id, "kind": "eoh", "status": "done", "outcome": "completed", "options": {"study_id": study_id},
           "reason": f"All {count} samples were made.", "usage": usage, "last_seq": 0, "attempt": 1, "crashes": 0,
           "cancel_requested": False, "created_at": start, "started_at": start, "finished_at": ended}  # fmt: skip
    settings = {"problem": problem, "models": ["endpoint:fake-model"], "schedule": "logician", "size": size,
                "generations": max(0, count // size - 2)}  # fmt: skip
    study = {"id": study_id, "run_id": run_id, "title": title or f"{count:,} candidates", "problem": problem,
             "direction": "max", "settings": settings, "state": {}, "records": count, "created_at": start}  # fmt: skip
    scores = [_score(study_id, f"baseline:{name}", chosen, level + shift)
              for name, level in (("Value per weight", 92.0), ("Value", 61.0))
              for chosen, shift in (("train", 0.0), ("More objects", 4.0), ("Half the capacity", -9.0))]  # fmt: skip
    leaders = [row for row in samples if row["best"]]
    for row in leaders[:: max(1, len(leaders) // 40)] + leaders[-1:]:
        for chosen, shift in (("More objects", 3.0), ("Half the capacity", -14.0)):
            scores.append(_score(study_id, f"sample:{row['n']}", chosen, row["objective"] + shift))
    unique = {(one["subject"], one["set_name"]): one for one in scores}
    with database.write() as session:
        connection = session.connection()
        connection.execute(insert(Run), [run])
        connection.execute(insert(Study), [study])
        connection.execute(insert(Sample), samples)
        connection.execute(insert(Exchange), exchanges)
        connection.execute(insert(Score), list(unique.values()))
    return study_id


def _score(study_id: str, subject: str, chosen: str, objective: float) -> dict[str, Any]:
    values = [objective + step - 2 for step in range(INSTANCES)]
    return {"study_id": study_id, "subject": subject, "set_name": chosen, "status": "valid", "objective": objective,
            "per_instance": values, "error": None, "seconds": 0.1}  # fmt: skip
