"""Runs: the list of everything the agent did, and one run in every detail."""

from __future__ import annotations

from logician_graph.engine import Engine
from pages.components import places
from pages.components.run_detail import run_detail
from pages.components.run_list import run_list

run_id = places.selected("run")
if run_id:
    run_detail(Engine.current(), run_id)
else:
    run_list(Engine.current())
