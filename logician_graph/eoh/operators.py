"""The six strategies of the paper (arXiv 2401.02051, section 3) as prompts in our own words; no model is called here.

Every prompt has the paper's five parts: the task, the strategy, the form of the answer, notes, and the parents. They
are short and plain, because a model of 1.5B parameters has to follow them: the parents come first, and the form of the
answer with the exact first line of the function comes last, where such a model remembers it best.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, assert_never

from logician_graph.eoh.extraction import PLACEHOLDER
from logician_graph.eoh.individual import Operator

Form = Literal["fenced", "json"]
"""``fenced``: a fenced block that begins with the thought in braces, as a comment. ``json``: the object of
:func:`reply_schema`, for decoding that a schema constrains. The reply parser reads both."""

SYSTEM = "You design heuristics and write them as short, correct Python functions."


@dataclass(frozen=True, slots=True)
class Task:
    """What the model is told about the problem."""

    function: str
    arguments: tuple[str, ...]
    description: str
    """What the function is for, with the types and shapes of its arguments."""
    returns: str
    """What it gives back, in words."""
    imports: tuple[str, ...] = ()
    """The modules that a candidate may import."""
    example: str = ""
    """A plain valid function, shown where no parent shows what one looks like (I1, repair): without it small models
    return one number where an array is asked for. Empty: none is shown, as in the paper."""

    @property
    def first_line(self) -> str:
        """The line that the function must begin with."""
        return f"def {self.function}({', '.join(self.arguments)}):"


class Parent(NamedTuple):
    """What a prompt shows of an individual."""

    thought: str
    code: str


class Prompt(NamedTuple):
    """One system and one user message."""

    system: str
    user: str


def parents_wanted(operator: Operator, several: int) -> int:
    """How many parents the operator takes; ``several`` is the setting m of the study, for E1 and E2."""
    match operator:
        case "I1":
            return 0
        case "E1" | "E2":
            return several
        case "M1" | "M2" | "M3":
            return 1
        case _:
            assert_never(operator)


def has_thought(operator: Operator) -> bool:
    """Whether the operator asks for a thought. M3 does not: the child keeps its parent's."""
    return operator != "M3"


def build_prompt(operator: Operator, task: Task, parents: Sequence[Parent] = (), *, form: Form = "fenced") -> Prompt:
    """The request for one child. M3 shows only the code of its parent.

    A parent that comes twice, as drawing with replacement allows, is shown once.
    """
    shown = list(dict.fromkeys(parents))
    if bool(shown) != (operator != "I1"):
        raise ValueError(f"{operator} with {len(shown)} parents")
    parts = [
        _task(task),
        _parents(shown, with_thought=operator != "M3") or _example(task),
        _strategy(operator, len(shown)),
        _answer(task, form, thought=has_thought(operator)),
    ]
    return Prompt(SYSTEM, "\n\n".join(part for part in parts if part))


def build_repair(task: Task, code: str | None, error: str, *, form: Form = "fenced", thought: bool = False) -> Prompt:
    """The one request that shows the model what it wrote and what went wrong.

    ``code``: None when there was none. ``thought``: ask for one again; else the thought of the first reply stays, and
    whatever the model says about its mistake is no idea.
    """
    shown = f"You wrote this function:\n```python\n{code.rstrip()}\n```" if code else "Your answer held no function."
    ask = "Find the mistake and write the whole function again without it. Keep the idea; change nothing else."
    parts = [
        _task(task),
        _example(task),
        f"{shown}\n\nIt cannot be used: {error}",
        ask,
        _answer(task, form, thought=thought),
    ]
    return Prompt(SYSTEM, "\n\n".join(part for part in parts if part))


def reply_schema(operator: Operator | None = None) -> dict[str, Any]:
    """The JSON schema of the ``json`` form; without ``thought`` for M3. The thought is written before the code."""
    keys = ["thought", "code"] if operator is None or has_thought(operator) else ["code"]
    return {
        "type": "object",
        "properties": {key: {"type": "string"} for key in keys},
        "required": keys,
        "additionalProperties": False,
    }


def _task(task: Task) -> str:
    return f"Task: {task.description.strip()}\nThe function returns {_returns(task)}."


def _returns(task: Task) -> str:
    return " ".join(task.returns.split()).rstrip(".")


def _example(task: Task) -> str:
    if not task.example:
        return ""
    return f"A simple function of the right kind, only to show its form:\n```python\n{task.example.strip()}\n```"


def _strategy(operator: Operator, count: int) -> str:
    these = "the heuristic above" if count == 1 else f"the {count} heuristics above"
    match operator:
        case "I1":
            return "Invent a heuristic for this task. Do not use the first idea that comes to mind."
        case "E1":
            return f"Invent a new heuristic that works in a completely different way from {these}."
        case "E2":
            return (
                f"First find the main idea that {these} have in common. Then invent a new heuristic that uses this "
                "idea but differs from them in the rest of its formula."
            )
        case "M1":
            return (
                "Write a changed version of the heuristic above: keep what is good, and change, add or remove one "
                "step or term so that it decides better."
            )
        case "M2":
            return (
                "Find the numbers in the heuristic above that steer its decisions (weights, powers, thresholds). Keep "
                "its form and choose other values for them; where a number is missing, add one."
            )
        case "M3":
            return (
                "List for yourself the parts of the function above. Some may fit only the examples it was tuned on "
                "and fail on new ones. Write a simpler version without these parts."
            )
        case _:
            assert_never(operator)


def _parents(parents: Sequence[Parent], *, with_thought: bool) -> str:
    texts: list[str] = []
    for number, parent in enumerate(parents, 1):
        name = "Heuristic" if len(parents) == 1 else f"Heuristic {number}"
        idea = parent.thought.strip() if with_thought else ""
        texts.append(f"{name}: {idea}".rstrip(": " if not idea else "") + f"\n```python\n{parent.code.rstrip()}\n```")
    return "\n\n".join(texts)


def _answer(task: Task, form: Form, *, thought: bool) -> str:
    names = ", ".join(task.arguments)
    allowed = " or ".join(task.imports)
    notes = [
        f"- The function is named {task.function} and takes exactly ({names}).",
        f"- It returns {_returns(task)}, on every path, and does not change its arguments.",
        f"- Import nothing but {allowed}." if allowed else "- Import nothing.",
        "- No classes, no printing, no files, no examples of use.",
    ]
    return "\n".join([_form(task, form, thought=thought), "Notes:", *notes, "Give no other explanation."])


def _form(task: Task, form: Form, *, thought: bool) -> str:
    """The thought stands inside the block: a small model that writes it in front takes it for the whole answer."""
    if form == "json":
        idea = 'in "thought" one sentence that says how the function decides, and ' if thought else ""
        return f'Answer with a JSON object: {idea}in "code" the complete function, with the line `{task.first_line}`.'
    idea = f"# {{{PLACEHOLDER}}}\n" if thought else ""
    head = "import numpy as np\n\n" if "numpy" in task.imports else ""
    block = f"```python\n{idea}{head}{task.first_line}\n    ...\n    return result  # {_returns(task)}\n```"
    comment = " Its first line is a comment with your idea in one sentence in braces." if thought else ""
    return f"Answer with one code block that holds the complete function.{comment} It has this form:\n{block}"
