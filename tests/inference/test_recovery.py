"""Tool calls in text: every form that models were seen to write, and the laws that hold for any text."""

from __future__ import annotations

import itertools
import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logician_graph.inference.recovery import Recovery, fit_to_schema, recover_tool_calls

TOOLS = ("read_file", "write_file", "bash")
READ = [("read_file", {"path": "a.txt"})]


def recover(text: str) -> Recovery:
    numbers = itertools.count()
    return recover_tool_calls(text, TOOLS, new_id=lambda: f"id{next(numbers)}")


def calls(text: str) -> list[tuple[str, dict[str, Any]]]:
    return [(call.name, call.arguments) for call in recover(text).calls]


FORMS = {
    "tagged": '<tool_call>{"name": "read_file", "arguments": {"path": "a.txt"}}</tool_call>',
    "tagged on lines": '<tool_call>\n{"name": "read_file", "arguments": {"path": "a.txt"}}\n</tool_call>',
    "tag not closed": '<tool_call>\n{"name": "read_file", "arguments": {"path": "a.txt"}}',
    "bar tags": '<|tool_call|>{"name": "read_file", "arguments": {"path": "a.txt"}}<|/tool_call|>',
    "function_call tag": '<function_call>{"name": "read_file", "arguments": {"path": "a.txt"}}</function_call>',
    "a brace is missing": '<tool_call>{"name": "read_file", "arguments": {"path": "a.txt"}\n</tool_call>',
    "flat arguments in a tag": '<tool_call>{"name": "read_file", "path": "a.txt"}</tool_call>',
    "json fence": '```json\n{"name": "read_file", "arguments": {"path": "a.txt"}}\n```',
    "plain fence": '```\n{"name": "read_file", "arguments": {"path": "a.txt"}}\n```',
    "fence not closed": '```json\n{"name": "read_file", "arguments": {"path": "a.txt"}}\n',
    "fenced array": '```json\n[{"name": "read_file", "arguments": {"path": "a.txt"}}]\n```',
    "bare": '{"name": "read_file", "arguments": {"path": "a.txt"}}',
    "bare array": '[{"name": "read_file", "arguments": {"path": "a.txt"}}]',
    "python tag": '<|python_tag|>{"name": "read_file", "parameters": {"path": "a.txt"}}',
    "tool and args": '{"tool": "read_file", "args": {"path": "a.txt"}}',
    "tool and parameters": '{"tool": "read_file", "parameters": {"path": "a.txt"}}',
    "tool and input": '{"tool": "read_file", "input": {"path": "a.txt"}}',
    "action": '{"action": "read_file", "action_input": {"path": "a.txt"}}',
    "openai shape": '{"type": "function", "function": {"name": "read_file", "arguments": "{\\"path\\": \\"a.txt\\"}"}}',
    "tool_calls": '{"tool_calls": [{"name": "read_file", "arguments": {"path": "a.txt"}}]}',
    "arguments as a string": '{"name": "read_file", "arguments": "{\\"path\\": \\"a.txt\\"}"}',
    "function tag with json": '<function=read_file>{"path": "a.txt"}</function>',
    "function tag with json, not closed": '<function=read_file>{"path": "a.txt"}',
    "function tag with parameters": "<function=read_file>\n<parameter=path>\na.txt\n</parameter>\n</function>",
    "function in a tag": "<tool_call><function=read_file>\n<parameter=path>a.txt</parameter></function>\n</tool_call>",
    "invoke": '<invoke name="read_file"><parameter name="path">a.txt</parameter></invoke>',
    "mistral": '[TOOL_CALLS][{"name": "read_file", "arguments": {"path": "a.txt"}}]',
    "mistral, new": '[TOOL_CALLS]read_file[ARGS]{"path": "a.txt"}',
    "argument pairs": "<tool_call>read_file\n<arg_key>path</arg_key>\n<arg_value>a.txt</arg_value>\n</tool_call>",
    "trailing commas": '{"name": "read_file", "arguments": {"path": "a.txt",},}',
    "single quotes": "{'name': 'read_file', 'arguments': {'path': 'a.txt'}}",
    "unquoted keys": '{name: "read_file", arguments: {path: "a.txt"}}',
    "typographic quotes": "{“name”: “read_file”, “arguments”: {“path”: “a.txt”}}",
    "comment": '{"name": "read_file", // look\n "arguments": {"path": "a.txt"}}',
}


@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS.keys())
def test_each_form_gives_its_call_and_leaves_the_words_around_it(text: str) -> None:
    assert calls(text) == READ
    assert recover(text).prose.strip() == ""
    around = f"I will look.\n\n{text}"
    assert calls(around) == READ
    assert recover(around).prose.strip() == "I will look."


def test_words_behind_a_call_stay() -> None:
    found = recover('Before {"name": "bash", "arguments": {"command": "ls"}} after.')
    assert found.prose == "Before  after."
    assert [call.name for call in found.calls] == ["bash"]


def test_several_calls_keep_their_order_and_get_ids_of_their_own() -> None:
    text = (
        '<tool_call>{"name": "read_file", "arguments": {"path": "1"}}</tool_call>\nand\n'
        '```json\n{"name": "bash", "arguments": {"command": "2"}}\n'
        '{"name": "bash", "arguments": {"command": "3"}}\n```\n'
        '[{"tool": "read_file", "args": {"path": "4"}}, {"tool": "bash", "args": {"command": "5"}}]'
    )
    found = recover(text)
    assert [next(iter(call.arguments.values())) for call in found.calls] == ["1", "2", "3", "4", "5"]
    assert len({call.id for call in found.calls}) == 5
    assert found.prose.split() == ["and"]


def test_two_objects_in_one_tag() -> None:
    one, two = ({"name": "bash", "arguments": {"command": number}} for number in "12")
    text = f"<tool_call>{json.dumps(one)}\n{json.dumps(two)}</tool_call>"
    assert [arguments["command"] for _, arguments in calls(text)] == ["1", "2"]


def test_what_strings_hold_is_kept() -> None:
    code = 'print("hi")\nif x == \'y\':\n\treturn {"a": [1, 2]}\n```\n'
    text = json.dumps({"name": "write_file", "arguments": {"path": "a.py", "text": code}})
    assert calls(f"```json\n{text}\n```") == [("write_file", {"path": "a.py", "text": code})]


def test_raw_newlines_and_bare_quotes_inside_strings() -> None:
    text = '{"name": "write_file", "arguments": {"path": "a.py", "text": "print("hi")\nprint(\'x\')"}}'
    assert calls(text) == [("write_file", {"path": "a.py", "text": "print(\"hi\")\nprint('x')"})]


def test_triple_quotes_and_python_literals() -> None:
    text = '{"name": "write_file", "arguments": {"text": """say "x"\n""", "yes": True, "no": False, "nothing": None}}'
    assert calls(text) == [("write_file", {"text": 'say "x"\n', "yes": True, "no": False, "nothing": None})]


def test_regex_escapes_survive_and_surrogate_pairs_join() -> None:
    assert calls(r"{'name': 'bash', 'arguments': {'command': 'grep \d+ \ud83d\ude00'}}") == [
        ("bash", {"command": "grep \\d+ 😀"})
    ]


def test_lone_surrogates_do_not_get_out() -> None:
    ((_, arguments),) = calls('{"name": "bash", "arguments": {"command": "x \\ud835"}}')
    assert arguments["command"].encode("utf-8")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no call here",
        'About {"name": "read_file"} one can say much.',
        '{"name": "unknown", "arguments": {}}',
        '{"name": "read_file", "arguments": {"path": "a.t',
        '{"name": "read_file", "arguments": {"path": "a.txt"}',
        '<tool_call>{"name": "write_file", "arguments": {"path": "a", "text": "half',
        '{"name": "bash", "arguments": "ls -la"}',
        '{"name": "bash", "arguments": ["ls"]}',
        '{"name": "bash", "description": "runs", "parameters": {"type": "object", "properties": {}}}',
        '```python\ncall = {"name": "bash", "arguments": {"command": "ls"}}\n```',
        "<function=write_file><parameter=path>a.txt</parameter><parameter=text>half",
        "<function=unknown>{}</function> bash",
        "[TOOL_CALLS] bash",
    ],
)
def test_text_without_a_whole_known_call_is_identical(text: str) -> None:
    assert recover(text) == Recovery(text, ())


def test_unknown_tools_beside_known_ones_stay_as_text() -> None:
    found = recover('[{"name": "bash", "arguments": {}}, {"name": "fly", "arguments": {}}]')
    assert [call.name for call in found.calls] == ["bash"]
    assert found.prose == '[, {"name": "fly", "arguments": {}}]'


def test_taking_a_call_out_never_makes_another() -> None:
    inner = '{"name": "bash", "arguments": {}}'
    text = f'<tool_{inner}call>{{"name": "read_file"}}</tool_call>'
    found = recover(text)
    assert recover(found.prose) == Recovery(found.prose, ())


def test_types_are_fitted_to_the_schema() -> None:
    schema = {
        "properties": {
            **{name: {"type": name} for name in ("integer", "number", "boolean", "array", "object", "string")},
        }
    }
    raw = {
        "integer": "10",
        "number": "1.5",
        "boolean": "true",
        "array": "[1]",
        "object": "{}",
        "string": "10",
        "x": "1",
    }
    fitted = {"integer": 10, "number": 1.5, "boolean": True, "array": [1], "object": {}, "string": "10", "x": "1"}
    assert fit_to_schema(raw, schema) == fitted
    assert fit_to_schema({"integer": "ten"}, schema) == {"integer": "ten"}


PIECES = st.sampled_from(
    [
        *FORMS.values(),
        *("{", "}", "[", "]", '"', "'", "`", "```", "```json\n", "\n", "\\", ":", ",", "<tool_call>", "</tool_call>"),
        *("[TOOL_CALLS]", "<function=bash>", "</function>", '"name"', '"arguments"', "bash", "read_file", "null", "//"),
        *("<parameter=x>", "</parameter>", "<arg_key>", '"""', "\ud800", "“", "prose ", "{'tool': 'bash', 'args': {}}"),
    ]
)
TEXTS = st.lists(PIECES | st.text(max_size=8), max_size=14).map("".join)


@settings(max_examples=400, deadline=None)
@given(TEXTS)
def test_any_text_is_taken_and_recovering_again_changes_nothing(text: str) -> None:
    found = recover(text)
    assert recover(found.prose) == Recovery(found.prose, ())
    assert all(call.name in TOOLS for call in found.calls)
    if not found.calls:
        assert found.prose == text


@settings(max_examples=400, deadline=None)
@given(TEXTS)
def test_prose_is_the_text_with_pieces_taken_out(text: str) -> None:
    rest = iter(text)
    assert all(character in rest for character in recover(text).prose)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**12), 10**12)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
ARGUMENTS = st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=6), JSON, max_size=4)
WORDS = st.text(st.sampled_from("abc .,:;!?\n(){}[]"), max_size=30)


@settings(max_examples=300, deadline=None)
@given(ARGUMENTS, WORDS, st.booleans())
def test_any_arguments_come_back_as_they_were(arguments: dict[str, Any], words: str, ascii_only: bool) -> None:
    written = json.dumps({"name": "bash", "arguments": arguments}, ensure_ascii=ascii_only)
    expected = json.loads(json.dumps(arguments).encode("utf-8", "replace"))
    found = recover(f"{words}\n<tool_call>\n{written}\n</tool_call>")
    assert [call.arguments for call in found.calls] in ([expected], [_scrubbed(expected)])
    assert found.prose == f"{words}\n"


def _scrubbed(value: Any) -> Any:
    return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace").decode())


HOSTILE = {
    "opening braces": "{",
    "opening brackets": "[",
    "open keys": '{"a":',
    "open strings": '{"x": "',
    "open lenient strings": "{'x': '",
    "tags": "<tool_call>",
    "tags with braces": "<tool_call>{",
    "fences": "```py\n",
    "json fences": "```json\n{",
    "parameters": "<function=bash><parameter=x>",
    "pairs": "<tool_call>bash<arg_key>",
    "comments": "{//",
    "quotes": "{'a':'\"",
    "backslashes": '{"a": "\\',
    "numbers": "{a:1,",
    "mistral": "[TOOL_CALLS]bash[ARGS]{",
    "blanks": "{ ",
    "calls": '{"name": "bash", "arguments": {}}',
}


@pytest.mark.parametrize("unit", HOSTILE.values(), ids=HOSTILE.keys())
def test_200_kilobytes_of_anything_takes_a_moment(unit: str) -> None:
    text = "bash " + unit * (200_000 // len(unit))
    started = time.perf_counter()
    recover(text)
    assert time.perf_counter() - started < 20
