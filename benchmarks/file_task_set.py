"""Thirty small file tasks with executable checks: what a first visitor might ask of a small local model.

A check looks at the workspace afterwards and runs what was written; the model's answer is not looked at.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

Check = Callable[[Path], bool]


@dataclass(frozen=True, slots=True)
class FileTask:
    """One task: the workspace before, the request, and the check of the workspace after."""

    id: str
    prompt: str
    check: Check
    files: Mapping[str, str] = field(default_factory=dict[str, str])


def _text(workspace: Path, name: str) -> str:
    return (workspace / name).read_text(encoding="utf-8")


def _lines(workspace: Path, name: str) -> list[str]:
    return [line.strip() for line in _text(workspace, name).strip().splitlines()]


def _run(workspace: Path, *arguments: str) -> str:
    """Output of a Python program in the workspace; a failing one gives an empty text."""
    done = subprocess.run(
        [sys.executable, "-I", *arguments], cwd=workspace, capture_output=True, text=True, timeout=20, check=False
    )
    return done.stdout if done.returncode == 0 else ""


def _value(workspace: Path, module: str, expression: str) -> object:
    """Value of an expression in a module of the workspace."""
    program = f"import sys; sys.path.insert(0, '.'); import json, {module}; print(json.dumps({module}.{expression}))"
    lines = _run(workspace, "-c", program).strip().splitlines()
    return json.loads(lines[-1]) if lines else None


def _is(name: str, *expected: str) -> Check:
    return lambda workspace: _lines(workspace, name) == list(expected)


def _gives(module: str, *cases: tuple[str, object]) -> Check:
    return lambda workspace: all(_value(workspace, module, expression) == value for expression, value in cases)


def _prints(script: str, *expected: str) -> Check:
    return lambda workspace: (
        [line.strip() for line in _run(workspace, script).split("\n") if line.strip()] == list(expected)
    )


def _people(workspace: Path) -> bool:
    rows = json.loads(_text(workspace, "people.json"))
    return [(row["name"], str(row["age"])) for row in rows] == [("Ann", "34"), ("Bob", "27"), ("Cyd", "51")]


def _readme(workspace: Path) -> bool:
    lines = [line.strip().lower() for line in _lines(workspace, "README.md") if line.strip()]
    return lines[:1] == ["# demo"] and [line.lstrip("-* ") for line in lines[1:]] == ["apples", "bananas", "cherries"]


def _docstring(workspace: Path) -> bool:
    tree = ast.parse(_text(workspace, "greet.py"))
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "greet"]
    return (
        bool(functions and ast.get_docstring(functions[0])) and _value(workspace, "greet", "greet('Al')") == "Hello, Al"
    )


def _package(workspace: Path) -> bool:
    return json.loads(_text(workspace, "package.json")) == {"name": "demo", "private": True, "version": "1.0"}


def _primes(count: int) -> list[str]:
    found: list[int] = []
    number = 2
    while len(found) < count:
        if all(number % prime for prime in found):
            found.append(number)
        number += 1
    return [str(prime) for prime in found]


_WORDS = "pear\napple\nfig\ncherry\nbanana\n"
_SALES = "item,amount\npen,12\nbook,30\nlamp,58\n"
_CONTACTS = "Ann Lee, ann@example.org, Bern\nBob: bob.k@test.net (office)\nno address here\ncyd@mail.example.com\n"
_STORY = "the cat saw the dog and the dog saw a bird\nthen the bird left\n"

TASKS: tuple[FileTask, ...] = (
    FileTask("hello", "Create hello.txt with exactly this content: Hello, world!", _is("hello.txt", "Hello, world!")),
    FileTask(
        "config",
        'Write config.json with two keys: "debug" set to true and "port" set to 8080.',
        lambda w: json.loads(_text(w, "config.json")) == {"debug": True, "port": 8080},
    ),
    FileTask("add_script", "Write a Python script add.py that prints the sum of 2 and 3.", _prints("add.py", "5")),
    FileTask(
        "primes",
        "Write primes.py that prints the first 20 prime numbers, one per line, and run it.",
        _prints("primes.py", *_primes(20)),
    ),
    FileTask(
        "flag",
        "In app.py change DEBUG from True to False. Change nothing else.",
        lambda w: _text(w, "app.py") == "import os\n\nDEBUG = False\nNAME = 'demo'\n",
        {"app.py": "import os\n\nDEBUG = True\nNAME = 'demo'\n"},
    ),
    FileTask(
        "append",
        "Append a line with the word done to log.txt.",
        _is("log.txt", "start", "work", "done"),
        {"log.txt": "start\nwork\n"},
    ),
    FileTask(
        "fix_add",
        "calc.py has a bug: add(2, 3) should give 5. Fix it.",
        _gives("calc", ("add(2, 3)", 5), ("add(-1, 1)", 0), ("sub(5, 2)", 3)),
        {"calc.py": "def add(a, b):\n    return a - b\n\n\ndef sub(a, b):\n    return a - b\n"},
    ),
    FileTask(
        "count_lines",
        "Count the lines of data.txt and write the number into count.txt.",
        _is("count.txt", "17"),
        {"data.txt": "".join(f"row {n}\n" for n in range(17))},
    ),
    FileTask(
        "sort_words",
        "Sort the words in words.txt alphabetically and write them to sorted.txt, one per line.",
        _is("sorted.txt", "apple", "banana", "cherry", "fig", "pear"),
        {"words.txt": _WORDS},
    ),
    FileTask(
        "csv_json",
        "Convert people.csv to people.json: a list of objects with the keys name and age.",
        _people,
        {"people.csv": "name,age\nAnn,34\nBob,27\nCyd,51\n"},
    ),
    FileTask(
        "sum_column",
        "Add up the amount column of sales.csv and write just the total into total.txt.",
        lambda w: float(_text(w, "total.txt").strip()) == 100.0,
        {"sales.csv": _SALES},
    ),
    FileTask(
        "package_dir",
        "Create a folder src with an empty file src/__init__.py and a file src/main.py that prints ok.",
        lambda w: (w / "src/__init__.py").exists() and _prints("src/main.py", "ok")(w),
    ),
    FileTask(
        "delete",
        "Delete the file old.txt. Keep the others.",
        lambda w: not (w / "old.txt").exists() and (w / "new.txt").exists(),
        {"old.txt": "x\n", "new.txt": "y\n"},
    ),
    FileTask(
        "replace_all",
        "Replace every foo with bar in text.txt.",
        lambda w: _text(w, "text.txt").strip() == "bar one\ntwo bar bar\nbarbell",
        {"text.txt": "foo one\ntwo foo bar\nfoobell\n"},
    ),
    FileTask(
        "fizzbuzz",
        "Write fizzbuzz.py with a function fizzbuzz(n) that returns the list of strings from 1 to n with the "
        "usual Fizz, Buzz and FizzBuzz.",
        _gives("fizzbuzz", ("fizzbuzz(5)", ["1", "2", "Fizz", "4", "Buzz"]), ("fizzbuzz(15)[-1]", "FizzBuzz")),
    ),
    FileTask(
        "syntax",
        "broken.py does not run. Fix it so that it prints works.",
        _prints("broken.py", "works"),
        {"broken.py": "def main()\n    print('works'\n\nmain()\n"},
    ),
    FileTask(
        "emails",
        "Write the e-mail addresses found in contacts.txt to emails.txt, one per line, in order.",
        _is("emails.txt", "ann@example.org", "bob.k@test.net", "cyd@mail.example.com"),
        {"contacts.txt": _CONTACTS},
    ),
    FileTask(
        "readme",
        "Make README.md with the title Demo as a level-1 heading and a bullet list: apples, bananas, cherries.",
        _readme,
    ),
    FileTask(
        "needle",
        "One of the files contains the word NEEDLE. Write the name of that file into found.txt.",
        _is("found.txt", "b2.txt"),
        {"a1.txt": "hay\n", "b2.txt": "hay NEEDLE hay\n", "c3.txt": "straw\n"},
    ),
    FileTask(
        "version",
        "Run python3 --version and save its output to version.txt.",
        lambda w: _text(w, "version.txt").strip().startswith("Python 3."),
    ),
    FileTask(
        "reverse",
        "Write the lines of input.txt in reverse order to output.txt.",
        _is("output.txt", "four", "three", "two", "one"),
        {"input.txt": "one\ntwo\nthree\nfour\n"},
    ),
    FileTask(
        "docstring",
        "Add a docstring to the function greet in greet.py. Do not change what it does.",
        _docstring,
        {"greet.py": "def greet(name):\n    return 'Hello, ' + name\n"},
    ),
    FileTask(
        "ini",
        "In settings.ini set the port of the server section to 8080.",
        lambda w: _text(w, "settings.ini").replace(" ", "") == "[server]\nhost=a\nport=8080\n\n[client]\nport=80\n",
        {"settings.ini": "[server]\nhost = a\nport = 80\n\n[client]\nport = 80\n"},
    ),
    FileTask(
        "palindrome",
        "Write pal.py with a function is_palindrome(s) that ignores upper and lower case.",
        _gives("pal", ("is_palindrome('Level')", True), ("is_palindrome('abc')", False)),
    ),
    FileTask(
        "factorial",
        "Write fact.py with a function factorial(n).",
        _gives("fact", ("factorial(0)", 1), ("factorial(10)", 3628800)),
    ),
    FileTask(
        "unique",
        "Remove repeated lines of items.txt, keep the first of each in order, and write them to unique.txt.",
        _is("unique.txt", "b", "a", "c"),
        {"items.txt": "b\na\nb\nc\na\n"},
    ),
    FileTask(
        "three_files",
        "Create a.txt, b.txt and c.txt. Each holds just the letter of its own name.",
        lambda w: all(_text(w, f"{letter}.txt").strip() == letter for letter in "abc"),
    ),
    FileTask(
        "common_word",
        "Find the most frequent word in story.txt and write just that word to answer.txt.",
        _is("answer.txt", "the"),
        {"story.txt": _STORY},
    ),
    FileTask(
        "json_key",
        'Add the key "version" with the value "1.0" to package.json and keep the rest.',
        _package,
        {"package.json": '{\n  "name": "demo",\n  "private": true\n}\n'},
    ),
    FileTask(
        "temperature",
        "Write temp.py with a function c_to_f(c) that converts Celsius to Fahrenheit.",
        _gives("temp", ("c_to_f(100)", 212), ("c_to_f(0)", 32)),
    ),
)
