"""Evolution of Heuristics (arXiv 2401.02051): a model proposes heuristics, measured runs decide which survive.

Importing this package is cheap, because the programs that measure candidates import it too: names are loaded when they
are first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from logician_graph.eoh.code import unified_diff
    from logician_graph.eoh.options import StudyOptions
    from logician_graph.eoh.plan import SCHEDULES, default_settings
    from logician_graph.eoh.problem import TRAIN, Problem, template
    from logician_graph.eoh.scoring import score_file
    from logician_graph.eoh.studies import Studies
    from logician_graph.eoh.types import Evaluation
    from logician_graph.eoh.view import StudyRow, StudyView, planned_samples

__all__ = [
    "KIND",
    "SCHEDULES",
    "TRAIN",
    "Evaluation",
    "Problem",
    "Studies",
    "StudyOptions",
    "StudyRow",
    "StudyView",
    "default_settings",
    "planned_samples",
    "score_file",
    "template",
    "unified_diff",
]

KIND = "eoh"
"""Of the runs that work on studies."""

_MODULES = {
    "SCHEDULES": "plan",
    "TRAIN": "problem",
    "Evaluation": "types",
    "Problem": "problem",
    "Studies": "studies",
    "StudyOptions": "options",
    "StudyRow": "view",
    "StudyView": "view",
    "default_settings": "plan",
    "planned_samples": "view",
    "score_file": "scoring",
    "template": "problem",
    "unified_diff": "code",
}


def __getattr__(name: str) -> Any:
    """Names that would drag in the database and data models (PEP 562)."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
