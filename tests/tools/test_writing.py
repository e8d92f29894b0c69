"""write_file and edit_file: what changes, what must not, and what a small model is told when it is wrong."""

from __future__ import annotations

import os
import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logician_graph.tools.diffs import counts, unified
from logician_graph.tools.matching import apply, find
from tests.tools.conftest import Place


async def test_a_new_file_with_its_folders(place: Place) -> None:
    output = await place("write_file", path="src/new/a.py", content="x = 1\ny = 2\n")
    assert output.text == "Created src/new/a.py (2 lines, 12 bytes)."
    assert output.summary == "src/new/a.py +2 −0"
    assert output.diff is not None
    assert output.diff.endswith("@@ -0,0 +1,2 @@\n+x = 1\n+y = 2\n")
    assert (place.workspace / "src/new/a.py").read_bytes() == b"x = 1\ny = 2\n"


async def test_overwriting_keeps_the_mode_and_leaves_nothing_else(place: Place) -> None:
    path = place.write("run.sh", "old\n")
    path.chmod(0o750)
    output = await place("write_file", path="run.sh", content="new\n")
    assert output.summary == "run.sh +1 −1"
    assert stat.S_IMODE(path.stat().st_mode) == 0o750
    assert [entry.name for entry in place.workspace.iterdir()] == ["run.sh"]
    again = await place("write_file", path="run.sh", content="new\n")
    assert (again.status, again.summary) == ("ok", "run.sh unchanged")


async def test_a_new_file_has_the_usual_mode(place: Place) -> None:
    await place("write_file", path="a", content="")
    (place.workspace / "b").touch()
    assert (place.workspace / "a").stat().st_mode == (place.workspace / "b").stat().st_mode


async def test_a_link_inside_is_written_through(place: Place) -> None:
    place.write("real.txt", "old")
    (place.workspace / "way").symlink_to("real.txt")
    await place("write_file", path="way", content="new")
    assert (place.workspace / "way").is_symlink()
    assert (place.workspace / "real.txt").read_text(encoding="utf-8") == "new"


async def test_what_cannot_be_written_is_said(place: Place) -> None:
    place.write("folder/a", "")
    place.write("plain", "")
    assert "is a folder" in (await place("write_file", path="folder", content="x")).text
    assert (await place("write_file", path="plain/x", content="x")).status == "error"
    assert "itself" in (await place("write_file", path=".", content="x")).text


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is full")  # noqa: PTH110
async def test_a_full_disk_leaves_the_old_file(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    path = place.write("a.txt", "old")
    real_open = os.open
    # There is no full disk here; the device that always is stands in for the temporary file.
    monkeypatch.setattr(
        os, "open",
        lambda name, flags, *more, **names: real_open("/dev/full", os.O_WRONLY)
        if str(name).endswith(".tmp")
        else real_open(name, flags, *more, **names),
    )  # fmt: skip
    monkeypatch.setattr(os, "unlink", lambda *_args, **_names: None)
    output = await place("write_file", path="a.txt", content="new" * 10_000)
    assert output.text == "The disk is full: 'a.txt' was not written and is as it was. Free space first."
    assert path.read_text(encoding="utf-8") == "old"


def test_previews_are_the_diff_that_would_be_made(place: Place) -> None:
    place.write("a.txt", "one\ntwo\n")
    assert (
        place.preview("write_file", path="a.txt", content="one\n")
        == "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1 @@\n one\n-two\n"
    )
    edited = place.preview("edit_file", path="a.txt", old_text="two", new_text="2")
    assert edited is not None
    assert "-two\n+2\n" in edited
    assert "not in a.txt" in (place.preview("edit_file", path="a.txt", old_text="nothing", new_text="2") or "")
    assert "outside the workspace" in (place.preview("write_file", path="../a", content="") or "")
    assert (place.workspace / "a.txt").read_text(encoding="utf-8") == "one\ntwo\n"


async def test_an_edit_shows_what_it_made(place: Place) -> None:
    place.write("a.txt", "".join(f"line {number}\n" for number in range(1, 21)))
    output = await place("edit_file", path="a.txt", old_text="line 10\n", new_text="ten\nand more\n")
    assert output.text == (
        "Edited a.txt. It now reads, from line 7:\nline 7\nline 8\nline 9\nten\nand more\nline 11\nline 12\nline 13"
    )
    assert output.summary == "a.txt +2 −1"
    assert output.data == {"replacements": 1, "line": 10}


async def test_text_that_is_there_twice_is_refused_with_the_places(place: Place) -> None:
    place.write("a.py", "a = 1\nb = 2\nx = 0\nc = 3\nx = 0\n")
    output = await place("edit_file", path="a.py", old_text="x = 0", new_text="x = 1")
    assert output.status == "error"
    assert "2 times" in output.text
    assert "line 3:\nb = 2\nx = 0\nc = 3" in output.text
    assert "line 5:\nc = 3\nx = 0" in output.text
    assert "x = 1" not in (place.workspace / "a.py").read_text(encoding="utf-8")
    every = await place("edit_file", path="a.py", old_text="x = 0", new_text="x = 1", replace_all=True)
    assert (every.status, every.data["replacements"]) == ("ok", 2)
    assert (place.workspace / "a.py").read_text(encoding="utf-8") == "a = 1\nb = 2\nx = 1\nc = 3\nx = 1\n"


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        ("def f():\n    return 1\n", "def f():\n  return 1", "def f():\n  return 2", "def f():\n  return 2\n"),
        ("class A:\n    def f(self):\n        return 1\n", "def f(self):\n    return 1", "def f(self):\n    return 2",
         "class A:\n    def f(self):\n        return 2\n"),
        ("\tx = 1\n\ty = 2\n", "x = 1\ny = 2", "x = 3\ny = 4", "\tx = 3\n\ty = 4\n"),
        ("x  =  1\n", "\nx = 1\n\n", "x = 2", "x = 2\n"),
        ("a\n  b  \nc", "b\nc", "B\nC", "a\n  B\n  C"),
        ("keep\nx  = 1\nkeep\n", "x = 1", "", "keep\nkeep\n"),
    ],
)  # fmt: skip
async def test_white_space_is_forgiven(place: Place, before: str, old: str, new: str, after: str) -> None:
    place.write("a", before)
    output = await place("edit_file", path="a", old_text=old, new_text=new)
    assert output.status == "ok", output.text
    assert (place.workspace / "a").read_text(encoding="utf-8") == after


async def test_an_exact_match_beats_a_forgiving_one(place: Place) -> None:
    place.write("a", "x = 1\n  x  =  1\n")
    await place("edit_file", path="a", old_text="x = 1\n", new_text="y\n")
    assert (place.workspace / "a").read_text(encoding="utf-8") == "y\n  x  =  1\n"


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (b"a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", b"x\r\ny\r\nz\r\nc\r\n"),
        (b"a\r\nb\nc\r\n", "b\nc", "x\ny", b"a\r\nx\ny\r\n"),
        (b"\xef\xbb\xbfa = 1\n", "a = 1", "a = 2", b"\xef\xbb\xbfa = 2\n"),
        (b"caf\xe9\nx\n\xff", "x", "y", b"caf\xe9\ny\n\xff"),
        (b"no end", "end", "start", b"no start"),
        ("é\u2028x\n".encode(), "x", "y", "é\u2028y\n".encode()),
    ],
)
async def test_bytes_outside_the_edit_stay(place: Place, before: bytes, old: str, new: str, after: bytes) -> None:
    path = place.write("a", before)
    path.chmod(0o755)
    output = await place("edit_file", path="a", old_text=old, new_text=new)
    assert output.status == "ok", output.text
    assert path.read_bytes() == after
    assert stat.S_IMODE(path.stat().st_mode) == 0o755


async def test_a_miss_shows_the_nearest_text(place: Place) -> None:
    place.write("a.py", "import os\n\ndef total(items):\n    return sum(items)\n")
    output = await place("edit_file", path="a.py", old_text="def totals(item):", new_text="x")
    assert "from line 1, is:\nimport os\n\ndef total(items):\n" in output.text
    assert "Read it first" in (await place("edit_file", path="a.py", old_text="%%%%", new_text="x")).text
    done = await place("edit_file", path="a.py", old_text="return 1", new_text="return sum(items)")
    assert "made already" in done.text


async def test_edits_that_mean_nothing_are_refused(place: Place) -> None:
    place.write("a", "text\n")
    assert "would not change" in (await place("edit_file", path="a", old_text="text", new_text="text")).text
    assert "is empty" in (await place("edit_file", path="a", old_text="\n", new_text="text")).text
    assert "write_file" in (await place("edit_file", path="b", old_text="x", new_text="y")).text


TEXTS = st.text(alphabet="ab \t\n", max_size=30)


@given(TEXTS, st.text(alphabet="ab \t\n", min_size=1, max_size=6), TEXTS)
def test_matches_are_ordered_spans_and_the_rest_stays(text: str, old: str, new: str) -> None:
    matches = find(text, old, new)
    at = 0
    for match in matches:
        assert at <= match.start <= match.end <= len(text)
        assert text[match.start : match.end].split() == old.split()
        at = match.end
    if old in text:
        assert apply(text, matches) == text.replace(old, new)


@given(TEXTS, TEXTS)
def test_diffs_count_what_they_show(before: str, after: str) -> None:
    diff = unified("a", before, after)
    assert (diff == "") == (before == after)
    added, removed = counts(diff).split()
    assert int(added) - int(removed.replace("−", "")) == len(after.splitlines()) - len(before.splitlines())
