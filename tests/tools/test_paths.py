"""Paths that try to leave the workspace, and a link that appears between check and use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from logician_graph.tools.paths import open_beneath, open_file, resolve_inside
from logician_graph.tools.types import ToolFailed
from tests.tools.conftest import Place

ESCAPES = [
    "..",
    "../x",
    "a/../../x",
    "/etc/passwd",
    "/",
    "way/x",
    "way",
    "file-way",
    "deep/way/x",
    "~/x",
    "~",
    "saved/x",
]


@pytest.fixture
def outside(place: Place) -> Path:
    folder = place.root / "outside"
    folder.mkdir()
    (folder / "x").write_text("canary", encoding="utf-8")
    (place.workspace / "deep").mkdir()
    (place.workspace / "way").symlink_to(folder)
    (place.workspace / "deep" / "way").symlink_to("../../outside")
    (place.workspace / "file-way").symlink_to(folder / "x")
    return folder


@pytest.mark.parametrize("path", ESCAPES[:-1])
def test_paths_that_leave_are_refused_with_the_rule(place: Place, outside: Path, path: str) -> None:
    with pytest.raises(ToolFailed, match="relative to the workspace"):
        resolve_inside(place.workspace, path)


@pytest.mark.parametrize("tool", ["read_file", "list_files", "grep", "write_file", "edit_file"])
@pytest.mark.parametrize("path", ESCAPES)
async def test_no_tool_leaves_the_workspace(place: Place, outside: Path, tool: str, path: str) -> None:
    more = {
        "grep": {"pattern": "canary"},
        "write_file": {"content": "overwritten"},
        "edit_file": {"old_text": "canary", "new_text": "overwritten"},
    }.get(tool, {})
    output = await place(tool, path=path, **more)
    assert "canary" not in output.text or "old_text" in output.text
    if path != "saved/x":
        assert output.status == "error"
    assert (outside / "x").read_text(encoding="utf-8") == "canary"
    assert sorted(entry.name for entry in place.root.iterdir()) == ["artifacts", "outside", "workspace"]


@pytest.mark.parametrize("path", ["", "  ", "a\0b", "x" * 300, "a/" * 3000 + "b"])
async def test_paths_that_are_no_paths_are_refused(place: Place, path: str) -> None:
    for tool, more in (("read_file", {}), ("write_file", {"content": "x"})):
        output = await place(tool, path=path, **more)
        assert output.status == "error"
        assert "defect" not in output.text


def test_paths_inside_are_fine_in_every_form(place: Place) -> None:
    place.write("src/a.py", "x")
    (place.workspace / "inner").symlink_to("src")
    for path in ("src/a.py", "./src/../src/a.py", f"{place.workspace}/src/a.py", "inner/a.py"):
        inside = resolve_inside(place.workspace, path)
        assert (inside.shown, inside.parts) == ("src/a.py", ("src", "a.py"))
    assert resolve_inside(place.workspace, ".").shown == "."


def test_saved_outputs_can_be_read_by_their_short_name(place: Place) -> None:
    (place.artifacts / "c.txt").write_text("saved", encoding="utf-8")
    for path in ("saved/c.txt", str(place.artifacts / "c.txt")):
        inside = resolve_inside(place.workspace, path, also_readable=[place.artifacts])
        assert (inside.path, inside.shown) == (place.artifacts / "c.txt", "saved/c.txt")
    with pytest.raises(ToolFailed):
        resolve_inside(place.workspace, "saved/../../x", also_readable=[place.artifacts])
    place.write("saved/c.txt", "the workspace's own")
    assert resolve_inside(place.workspace, "saved/c.txt", also_readable=[place.artifacts]).root == place.workspace


def test_a_link_that_appears_after_the_check_is_not_followed(place: Place, outside: Path) -> None:
    place.write("src/x", "mine")
    inside = resolve_inside(place.workspace, "src/x")
    (place.workspace / "src" / "x").unlink()
    (place.workspace / "src" / "x").symlink_to(outside / "x")
    with pytest.raises(ToolFailed, match="became a link"):
        open_file(inside)
    (place.workspace / "src" / "x").unlink()
    (place.workspace / "src").rmdir()
    (place.workspace / "src").symlink_to(outside)
    with pytest.raises(ToolFailed):
        open_file(inside)
    with pytest.raises(OSError, match="directory|links"):
        open_beneath(inside, os.O_WRONLY | os.O_CREAT)
    assert (outside / "x").read_text(encoding="utf-8") == "canary"


async def test_what_is_no_regular_file_is_not_opened(place: Place) -> None:
    os.mkfifo(place.workspace / "pipe")
    output = await place("read_file", path="pipe")
    assert (output.status, "not a regular file" in output.text) == ("error", True)
    assert (await place("write_file", path="pipe", content="x")).status == "error"
    assert "list_files path=" in (await place("read_file", path=".")).text


async def test_a_missing_file_names_its_neighbours(place: Place) -> None:
    place.write("src/config.py", "x")
    output = await place("read_file", path="src/confg.py")
    assert output.text == "There is no 'src/confg.py'. Did you mean 'src/config.py'?"
