"""Approvals: everything that waits for the person, answered in place, and what was decided before."""

from __future__ import annotations

from logician_graph.engine import Engine
from pages.components.inbox import decided, inbox

inbox(Engine.current())
decided(Engine.current())
