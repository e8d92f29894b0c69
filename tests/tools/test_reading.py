"""read_file, list_files and grep over real files, odd ones among them."""

from __future__ import annotations

import asyncio
import time

import pytest

from tests.tools.conftest import Place

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + b"\0" * 100


async def test_a_file_is_shown_as_it_is(place: Place) -> None:
    place.write("a.py", "def f():\n\treturn 'é'\n")
    output = await place("read_file", path="a.py")
    assert output.text == "def f():\n\treturn 'é'\n"
    assert output.data == {"bytes": 22, "lines": 2, "first_line": 1, "last_line": 2}


async def test_pages_say_how_to_go_on_and_together_are_the_file(place: Place) -> None:
    text = "".join(f"line {number}\n" for number in range(1, 1001))
    place.write("long.txt", text)
    pages, offset = [], 1
    for _ in range(20):
        output = await place("read_file", path="long.txt", offset=offset)
        body, _, note = output.text.partition("\n[Lines ")
        pages.append(body)
        if "Go on: " not in note:
            break
        assert f"-{output.data['last_line']} of 1000 lines" in note
        offset = int(note.rpartition("offset=")[2].rstrip("]"))
    assert "\n".join(pages).replace("\n\n", "\n") == text


async def test_an_offset_past_the_end_says_so(place: Place) -> None:
    place.write("a", "one\ntwo")
    assert (await place("read_file", path="a", offset=2)).text == "two\n[Lines 2-2 of 2 lines.]"
    assert "has only 2 lines" in (await place("read_file", path="a", offset=9)).text
    assert "has only 2 lines" in (await place("read_file", path="a", offset=3)).text


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", "(empty file)"),
        (b"\n", "\n"),
        (b"caf\xe9 \xff\n", "caf\ufffd \ufffd\n"),
        (b"\xef\xbb\xbfmarked\n", "marked\n"),
        (b"a\r\nb\r\n", "a\nb\n"),
        (b"no end", "no end"),
    ],
)
async def test_odd_texts(place: Place, content: bytes, text: str) -> None:
    place.write("a", content)
    assert (await place("read_file", path="a")).text == text


@pytest.mark.parametrize("tool", ["read_file", "edit_file"])
async def test_a_binary_file_is_named_with_size_and_type(place: Place, tool: str) -> None:
    place.write("logo.png", PNG)
    more = {"old_text": "PNG", "new_text": "x"} if tool == "edit_file" else {}
    output = await place(tool, path="logo.png", **more)
    assert output.status == "error"
    assert output.text.startswith(f"'logo.png' is not text: image/png, {len(PNG)} bytes.")


async def test_a_gigabyte_is_read_in_parts(place: Place) -> None:
    path = place.write("huge.log", "first\n" + "x" * 9000 + "\nthird\n")
    with path.open("r+b") as file:
        file.truncate(2**30)
    # A hole is zeros, which is one endless line; the file's start is text.
    started = time.monotonic()
    output = await place("read_file", path="huge.log", limit=3)
    assert output.text.startswith("first\nxxx")
    assert "[… 7,001 more on this line]\nthird\n" in output.text
    assert "of 1,073,741,824 bytes" in output.text
    rest = (await place("read_file", path="huge.log", offset=4)).text
    assert "goes on for very long" in rest
    assert len(rest) < 12_000
    assert time.monotonic() - started < 20


async def test_files_are_listed_to_a_depth(place: Place) -> None:
    for name in ("a.txt", "src/b.py", "src/deep/er/c.py", ".git/config", "node_modules/x/index.js", "src/.venv/x"):
        place.write(name, "")
    (place.workspace / "way").symlink_to("src")
    output = await place("list_files", depth=2)
    assert output.text.splitlines() == [
        ".git/ (not listed)", "a.txt", "node_modules/ (not listed)", "src/", "src/.venv/ (not listed)", "src/b.py",
        "src/deep/", "way (link)",
    ]  # fmt: skip
    assert "src/deep/er/c.py" in (await place("list_files", path="src", depth=5)).text
    assert (await place("list_files", path="src/deep/er")).text == "src/deep/er/c.py"
    place.write("empty/x", "").unlink()
    assert (await place("list_files", path="empty")).text == "(empty)"
    assert "read_file path=a.txt" in (await place("list_files", path="a.txt")).text
    assert (await place("list_files", path="none")).status == "error"


async def test_a_large_folder_is_bounded_from_the_bottom(place: Place) -> None:
    for number in range(400):
        place.write(f"deep/deeper/{number}.txt", "")
    place.write("top.txt", "")
    output = await place("list_files", depth=5)
    lines = output.text.splitlines()
    assert {"deep/", "deep/deeper/", "top.txt"} <= set(lines)
    assert "not shown" in lines[-1]
    assert len(lines) == 301


async def test_matches_come_with_file_and_line(place: Place) -> None:
    place.write("src/a.py", "import os\n\ndef main():\n    pass\n")
    place.write("src/b.txt", "def main of text\r\n")
    place.write(".git/c.py", "def main")
    place.write("d.bin", b"def main\0")
    output = await place("grep", pattern=r"def \w+")
    assert output.text.splitlines() == ["src/a.py:3: def main():", "src/b.txt:1: def main of text"]
    assert output.data == {"matches": 2, "files": 2, "complete": True}
    assert (await place("grep", pattern="DEF MAIN", glob="*.py", ignore_case=True)).text == "src/a.py:3: def main():"
    assert (await place("grep", pattern="text$", path="src/b.txt")).text == "src/b.txt:1: def main of text"
    assert (await place("grep", pattern="def", glob="src/*.py")).text == "src/a.py:3: def main():"
    assert (await place("grep", pattern="nowhere")).text == "(no matches)"


async def test_context_lines_do_not_repeat(place: Place) -> None:
    place.write("a", "1\n2 x\n3\n4 x\n5\n6\n7\n8\n9 x\n")
    output = await place("grep", pattern="x", path="a", context=1)
    assert output.text.splitlines() == [
        "a-1- 1", "a:2: 2 x", "a-3- 3", "a:4: 4 x", "a-5- 5", "--", "a-8- 8", "a:9: 9 x",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("pattern", "content", "lines"),
    [
        ("^$", "a\n\nb\n", ["a:2: "]),
        ("^", "a\nb", ["a:1: a", "a:2: b"]),
        ("x*", "a\nb", ["a:1: a", "a:2: b"]),
        ("b$", "a\nb", ["a:2: b"]),
        ("é+", "caféé\n", ["a:1: caféé"]),
        ("foo(", "foo(1)\nfoo\n", ["a:1: foo(1)"]),
        ("[", "a[0]\n", ["a:1: a[0]"]),
        ("a\\sb", "a b\na\nb\n", ["a:1: a b", "a:2: a"]),
    ],
)
async def test_patterns(place: Place, pattern: str, content: str, lines: list[str]) -> None:
    place.write("a", content)
    assert (await place("grep", pattern=pattern)).text.split("\n") == lines


async def test_long_lines_and_many_matches_are_bounded(place: Place) -> None:
    place.write("a", ("needle" + "x" * 2000 + "\n") * 300)
    output = await place("grep", pattern="needle", context=0)
    assert "only the first 100 matches are shown" in output.text or output.saved_path is not None
    assert output.data["matches"] == 100
    assert len(output.text) < 13_000


async def test_a_match_far_into_a_large_file_has_its_line(place: Place) -> None:
    place.write("a", "filler line\n" * 1_000_000 + "needle\n")
    assert (await place("grep", pattern="needle")).text == "a:1000001: needle"


async def test_a_catastrophic_pattern_ends_and_blocks_nothing(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    # The time limit is long for a test.
    monkeypatch.setattr("logician_graph.tools.builtin.grep._SEARCH_LIMIT_S", 0.3)
    place.write("a", "a" * 5000 + "!\n")
    place.write("b", "aaa\n")
    task = asyncio.create_task(place("grep", pattern=r"(a|aa|a+)+\1$"))
    worst, before = 0.0, time.monotonic()
    while not task.done():
        await asyncio.sleep(0.01)
        worst, before = max(worst, time.monotonic() - before), time.monotonic()
    output = await task
    assert "too slow" in output.text
    assert worst < 0.5


async def test_searching_ends_with_the_run(place: Place) -> None:
    for number in range(200):
        place.write(f"{number}.txt", "x\n")
    place.cancelled.set()
    output = await place("grep", pattern="x")
    assert output.status == "cancelled" or "stopped by the person" in output.text
