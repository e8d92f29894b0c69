"""The tools of the crash suite, the same in the process that dies and in the one that goes on."""

from __future__ import annotations

from pathlib import Path

from logician_graph.engine import Engine
from tests.fakes.tools import FileTool, SlowTool, declaration


def register(engine: Engine, effects: Path) -> None:
    """``once`` must never run twice, ``again`` may; ``steady`` takes its time, ``stubborn`` more than a drain has."""
    engine.bus.register(FileTool(declaration("once", effect="execute", replay="never"), path=effects))
    engine.bus.register(FileTool(declaration("again"), path=effects))
    engine.bus.register(SlowTool(declaration("steady")))
    engine.bus.register(SlowTool(declaration("stubborn", effect="execute", replay="never")))
