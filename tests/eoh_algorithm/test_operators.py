"""A prompt holds the task, the strategy, the form with the exact signature, the notes and the parents it should."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import get_args

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logician_graph.eoh.extraction import PLACEHOLDER
from logician_graph.eoh.individual import OPERATORS, Operator
from logician_graph.eoh.operators import (
    Form,
    Parent,
    Task,
    build_prompt,
    build_repair,
    has_thought,
    parents_wanted,
    reply_schema,
)
from logician_graph.eoh.reply import Reply, parse_reply, rendered

TASK = Task("score", ("item", "bins"), "Score the bins for an item.", "one number for each bin", ("numpy", "math"))
PARENTS = [Parent(f"Idea number {n}.", f"def score(item, bins):\n    return bins * {n}\n") for n in range(1, 6)]


@pytest.mark.parametrize("form", get_args(Form))
@pytest.mark.parametrize("operator", OPERATORS)
def test_every_prompt_has_its_five_parts(operator: Operator, form: Form) -> None:
    parents = PARENTS[: parents_wanted(operator, 5)]
    prompt = build_prompt(operator, TASK, parents, form=form)
    assert TASK.description in prompt.user
    assert TASK.returns in prompt.user
    assert "def score(item, bins):" in prompt.user
    assert "numpy or math" in prompt.user
    assert all(parent.code.strip() in prompt.user for parent in parents)
    assert all((parent.thought in prompt.user) == (operator != "M3") for parent in parents)
    assert (PLACEHOLDER in prompt.user) == (form == "fenced" and operator != "M3")
    assert ("JSON" in prompt.user) == (form == "json")
    assert len(prompt.user) < 1700 + sum(len(parent.code) + len(parent.thought) + 40 for parent in parents)


def test_the_strategies_ask_for_different_things() -> None:
    prompts = {build_prompt(each, TASK, PARENTS[: parents_wanted(each, 1)]).user for each in OPERATORS}
    assert len(prompts) == 6


def test_parents_are_checked_and_shown_once() -> None:
    prompt = build_prompt("E1", TASK, [PARENTS[0], PARENTS[0], PARENTS[1]])
    assert prompt.user.count(PARENTS[0].code.strip()) == 1
    assert "the 2 heuristics above" in prompt.user
    with pytest.raises(ValueError, match="I1 with 1"):
        build_prompt("I1", TASK, PARENTS[:1])
    with pytest.raises(ValueError, match="M1 with 0"):
        build_prompt("M1", TASK)


def test_a_repair_shows_the_code_and_the_error() -> None:
    prompt = build_repair(TASK, "def score(item, bins):\n    return 1 +\n", "SyntaxError: invalid syntax (line 2)")
    assert "return 1 +" in prompt.user
    assert "SyntaxError: invalid syntax (line 2)" in prompt.user
    assert "held no function" in build_repair(TASK, None, "no function").user


def test_an_example_is_shown_where_no_parent_shows_the_form() -> None:
    task = replace(TASK, example="def score(item, bins):\n    return -bins")
    assert "return -bins" in build_prompt("I1", task).user
    assert "return -bins" in build_repair(task, None, "no function").user
    assert "return -bins" not in build_prompt("M1", task, PARENTS[:1]).user
    assert "only to show" not in build_prompt("I1", TASK).user


def test_a_prompt_that_comes_back_brings_no_thought() -> None:
    """It reads as a function, because it is one; it fails when it runs."""
    reply = parse_reply(build_prompt("I1", TASK).user, "score", TASK.arguments)
    assert isinstance(reply, Reply)
    assert PLACEHOLDER not in reply.thought
    assert "    ...\n    return result  # one number for each bin\n" in reply.code


@given(st.text(max_size=60), st.booleans())
def test_replies_in_both_forms_pass_the_schema_and_the_parser(thought: str, simple: bool) -> None:
    operator: Operator = "M3" if simple else "E2"
    code = PARENTS[0].code
    data = {"thought": thought, "code": code} if has_thought(operator) else {"code": code}
    jsonschema.validate(data, reply_schema(operator))
    one = parse_reply(json.dumps(data), "score", TASK.arguments)
    assert isinstance(one, Reply)
    two = parse_reply(rendered(one.thought, one.code), "score", TASK.arguments)
    assert isinstance(two, Reply)
    assert (one.thought, one.code) == (two.thought, two.code)
