"""The tools that come with Logician, one file each.

Descriptions are short and carry one example: a model of one and a half billion parameters reads them on every turn.
"""

from __future__ import annotations

from logician_graph.tools.builtin.ask_user import AskUser
from logician_graph.tools.builtin.bash import Bash
from logician_graph.tools.builtin.edit_file import EditFile
from logician_graph.tools.builtin.grep import Grep
from logician_graph.tools.builtin.list_files import ListFiles
from logician_graph.tools.builtin.read_file import ReadFile
from logician_graph.tools.builtin.write_file import WriteFile
from logician_graph.tools.registry import ToolBus

__all__ = ["AskUser", "Bash", "EditFile", "Grep", "ListFiles", "ReadFile", "WriteFile", "default_bus"]


def default_bus() -> ToolBus:
    """A bus with every built-in tool."""
    bus = ToolBus()
    for tool in (ListFiles(), ReadFile(), WriteFile(), EditFile(), Grep(), Bash(), AskUser()):
        bus.register(tool)
    return bus
