"""Any reply becomes a function or a named failure; what is read from a reply parses, and reads as itself again."""

from __future__ import annotations

import ast
import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from logician_graph.eoh.extraction import PLACEHOLDER
from logician_graph.eoh.reply import Reply, ReplyFailure, parse_reply, rendered

ARGUMENTS = ["item", "bins"]
BODY = "def score(item, bins):\n    return item - bins\n"
THOUGHT = "Prefer the bin that is filled best."


def parsed(text: str) -> Reply | ReplyFailure:
    return parse_reply(text, "score", ARGUMENTS, imports=["numpy", "math"])


def good(text: str) -> Reply:
    reply = parsed(text)
    assert isinstance(reply, Reply), reply
    return reply


def bad(text: str) -> ReplyFailure:
    reply = parsed(text)
    assert isinstance(reply, ReplyFailure), reply
    return reply


@pytest.mark.parametrize(
    "text",
    [
        f"{{{THOUGHT}}}\n```python\n{BODY}```",
        f"{{{THOUGHT}}}\n```py\n{BODY}```\nI hope this helps!",
        f"Thought: {{{THOUGHT}}}\n\n~~~\n{BODY}~~~",
        f"{{{THOUGHT}}}\n```\n{BODY}",
        f"{{{THOUGHT}}}\n{BODY}\nThis function subtracts.",
        f"**Thought:** {THOUGHT}\n\n{BODY}",
        f"1. Idea: {THOUGHT}\n\n   ```python\n   def score(item, bins):\n       return item - bins\n   ```",
        f"```python\n{{{THOUGHT}}}\n{BODY}```",
        f"```python\n# {{{THOUGHT}}}\n{BODY}```",
        f"```python\n# {{{PLACEHOLDER}}}\n# {THOUGHT}\n{BODY}```",
        json.dumps({"thought": THOUGHT, "code": BODY}),
        "```json\n" + json.dumps({"thought": THOUGHT, "code": BODY}, indent=1) + "\n```",
        json.dumps({"thought": THOUGHT, "code": f"```python\n{BODY}```"}),
        json.dumps({"thought": THOUGHT, "code": BODY}).replace("\\n", "\n"),
        f"<think>def score(x): maybe</think>{{{THOUGHT}}}\n```python\n{BODY}```",
        f"{{{THOUGHT}}}\r\n```python\r\n{BODY}```".replace("\n    ", "\r\n    "),
        f"{{{THOUGHT}}}\n```python\n{BODY}\nprint(score(1, 2))\n```\nUse it:\n```python\nscore(3, 4)\n```",
        f"{{{THOUGHT}}}\n```python\nimport os\n{BODY}\nif __name__ == '__main__':\n    score(1, 2)\n```",
        f"Parent:\n```python\ndef score(item, bins):\n    return 0\n```\n{{{THOUGHT}}}\n```python\n{BODY}```",
    ],
)
def test_every_shape_of_a_sound_reply_gives_the_same_function(text: str) -> None:
    reply = good(text)
    assert reply.code == BODY
    assert reply.thought == THOUGHT


@pytest.mark.parametrize(
    ("code", "contains", "note"),
    [
        ("def Score(item, bins):\n    return 1", "def score(item, bins)", "renamed"),
        ("def best_fit(item, bins):\n    return best_fit(1, 2)", "best_fit = score", "renamed"),
        ("def score(bins, item):\n    return item - bins", "def score(item, bins)", "order"),
        (
            "def score(w, caps):\n    '''Doc.'''\n    return w",
            "    w, caps = item, bins\n    return w",
            "arguments renamed",
        ),
        ("def score(item, caps): return caps", "def score(item, bins): caps = bins; return caps", "arguments renamed"),
        (
            "def score(item, bins):\n    return np.abs(item)",
            "import numpy as np\n\ndef score",
            "added: import numpy as np",
        ),
        ("def score(item, bins):\n    return math.e", "import math\n", "added: import math"),
        ("def score(item: int, bins: List[int]) -> List:\n    return 1", "def score(item, bins):", "annotations"),
        (
            "from typing import List\ndef score(item, bins: List[int]):\n    x: List = 1\n    return x",
            "\n    x = 1\n",
            "annot",
        ),
    ],
)
def test_small_slips_are_mended_and_said(code: str, contains: str, note: str) -> None:
    reply = good(f"```python\n{code}\n```")
    assert contains in reply.code
    assert "typing" not in reply.code
    assert any(note in each for each in reply.notes), reply.notes


def test_what_the_function_needs_stays_and_the_rest_goes() -> None:
    reply = good(
        "```python\nimport os, json\nimport numpy as np\nTABLE = [1, 2]  # weights\n"
        "for i in range(2):\n    TABLE[i] += 1\n"
        "TABLE.append(5)\nclass Box:\n    class Inner:\n        size = 2\n@staticmethod\ndef unused():\n    pass\n"
        "def helper(x):\n    return x * Box.Inner.size + TABLE[0]\n"
        "def score(item, bins, alpha=0.5):\n    return np.array([helper(b) for b in bins])\nitem, bins = 1, [2]\n"
        "print(score(item, bins))\n```"
    )
    names = [line.split("(")[0] for line in reply.code.split("\n") if line and line[0] not in " @"]
    wanted = ["import numpy as np", "TABLE = [1, 2]  # weights", "for i in range", "TABLE.append", "class Box:"]
    assert names == [*wanted, "def helper", "def score"]


def test_a_helper_from_another_block_is_fetched() -> None:
    reply = good(
        "```python\nK = 2\ndef h(x):\n    return x * K\n```\nand\n```python\n"
        + BODY.replace("bins\n", "h(bins)\n")
        + "```"
    )
    assert reply.code.startswith("K = 2\n\ndef h(x):")


@pytest.mark.parametrize(
    ("text", "kind", "line"),
    [
        ("", "no_code", None),
        ("I am sorry, I cannot help.", "no_code", None),
        ("{A thought without any code.}", "no_code", None),
        ("```python\nbins - item\n```", "no_code", None),
        ("```python\nscore = lambda item, bins: 1\n```", "no_code", None),
        ("```python\ndef score(item, bins):\n    x = 3 +\n    return x\n```", "syntax_error", 2),
        ("```python\ndef score(item, bins):\n    return 1\n      return 2\n```", "syntax_error", 3),
        ("```python\ndef score(item, item):\n    return 1\n```", "wrong_arguments", 1),
        ("```python\ndef score(item, bins):\n    break\n    return 1\n```", "syntax_error", 2),
        ("```python\ndef score(item, bins):\n    return (item -", "incomplete", 2),
        ("```python\ndef score(item, bins):\n    x = 1\n", "incomplete", 1),
        ('{"thought": "A thought.", "code": "def score(item, bins):\\n    return (1', "incomplete", 2),
        ("```python\ndef rate(item):\n    return 1\n```", "wrong_name", None),
        ("```python\nclass A:\n    def score(self, item, bins):\n        return 1\n```", "wrong_name", None),
        ("```python\nasync def score(item, bins):\n    return 1\n```", "no_code", None),
        ("```python\ndef score(item):\n    return 1\n```", "wrong_arguments", 1),
        ("```python\ndef score(bins, gaps):\n    return 1\n```", "wrong_arguments", 1),
        ("```python\ndef score(item, bins, n):\n    return 1\n```", "wrong_arguments", 1),
        ("```python\ndef score(item, bins, *, n):\n    return 1\n```", "wrong_arguments", 1),
        ("```python\ndef a(item, bins):\n    return 1\ndef b(x, y):\n    return 2\n```", "ambiguous", None),
        (
            "```python\ndef a(x):\n    return 1\ndef b(x):\n    return 2\ndef c():\n    return 3\n```",
            "wrong_name",
            None,
        ),
        ("```python\ndef score(item, bins):\n    bins[0] = item\n```", "no_return", 1),
        ("```python\ndef score(item, bins):\n    def f():\n        return 1\n    return None\n```", "no_return", 1),
        ("```python\ndef score(item, bins):\n    ...\n```", "no_return", 1),
    ],
)
def test_failures_are_classified(text: str, kind: str, line: int | None) -> None:
    failure = bad(text)
    assert (failure.kind, failure.line) == (kind, line), failure
    assert failure.message
    if line is not None:
        assert failure.code is not None
        assert failure.code.split("\n")[line - 1].strip()


def test_three_functions_of_which_one_has_the_name_are_fine() -> None:
    others = "def a(item, bins):\n    return 1\n\ndef b(item, bins):\n    return 2\n\n"
    assert good(f"```python\n{others}{BODY}```").code == BODY


def test_a_forbidden_import_that_is_used_is_left_for_the_guard() -> None:
    assert good("```python\nimport os\ndef score(item, bins):\n    return os.getpid()\n```").code.startswith(
        "import os"
    )


def test_reading_runs_nothing() -> None:
    good("```python\nraise SystemExit\nimport numpy as np\n" + BODY + "raise SystemExit(3)\n```")


SNIPPETS = st.sampled_from(
    [
        "```python\n",
        "```\n",
        "~~~\n",
        "```",
        "def score(item, bins):\n",
        "def Score(a, b):\n",
        "def helper(x):\n",
        "    return np.abs(item)\n",
        "    return helper(bins)\n",
        "    x: List[int] = [\n",
        "return 1\n",
        "import numpy as np\n",
        "from typing import List\n",
        "{The idea of it all.}\n",
        "{short}",
        "print(score(1, 2))\n",
        "class A:\n    x = 1\n",
        '{"thought": "An idea here", "code": "',
        '"}',
        "\\n",
        "\\",
        '"""',
        "'",
        "@njit\n",
        "    ",
        "\t",
        "é",
        "\u2028",
        "\x0c",
        "if x:\n",
        "    pass\n",
        "# note {n}\n",
        "score = helper\n",
        "item, bins = 1, 2\n",
        ";",
        "<think>",
        "</think>",
        "\ud800",
        "def score(caps, item):\n    return item\n",
        "def score(bins, item): return item\n",
        "Thought: ",
        "lambda: 0\n",
    ]
)
REPLIES = st.lists(SNIPPETS, max_size=14).map("".join) | st.text(max_size=80)


@given(REPLIES)
@example("def score(item, bins):\n    return 1\n\x0cfoo bar")
@example("def score(item, bins): return 1; x = 2")
@example('def score(item, bins):\n    """a\n    {b}"""\n    return 1')
@example("```\ndef score(caps, item):\n\treturn caps\n```")
@example("import numpy as np; import math\ndef score(item, bins): return np.e + math.e")
@example("é = 1; ü = 2\ndef score(item, bins): return ü")
def test_any_reply_is_read_soundly_and_stably(text: str) -> None:
    reply = parsed(text)
    if isinstance(reply, ReplyFailure):
        assert reply.message
        return
    tree = ast.parse(reply.code)
    compile(tree, "<candidate>", "exec")
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "score"]
    assert len(found) == 1
    again = parsed(rendered(reply.thought, reply.code))
    assert isinstance(again, Reply), again
    assert (again.thought, again.code) == (reply.thought, reply.code)
    as_json = parsed(json.dumps({"thought": reply.thought, "code": reply.code}))
    assert isinstance(as_json, Reply)
    assert (as_json.thought, as_json.code) == (reply.thought, reply.code)


@pytest.mark.parametrize(
    "text",
    [
        "```python\n" * 3000,
        "{" * 20_000,
        '{"code": "' + "\\" * 9_999,
        '{"code": ' * 5_000,
        "def score(item, bins):\n" + "    x = (\n" * 3000,
        "def score(item, bins):\n    return " + "(" * 900 + ")" * 900,
        "def score(item, bins):\n    return " + "-" * 3000 + "1",
        "def score(item, bins):\n    return 1" + "+1" * 900,
        "x y\n" * 20_000,
        "<think>" * 5_000,
        "**Thought:** " * 5_000,
    ],
)
def test_hostile_replies_end_quickly(text: str) -> None:
    parsed(text)
