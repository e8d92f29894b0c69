"""``/metrics``: a few numbers in Prometheus' text format (version 0.0.4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from logician_graph.gateway.types import EngineHealth

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def prometheus_text(health: EngineHealth | None, active_sessions: int, version: str) -> str:
    """All metrics. ``health`` is None while the engine starts: its numbers are then left out, not zero."""
    lines = [
        *_metric("logician_info", "gauge", "Always 1; the version is a label.", [({"version": version}, 1)]),
        *_metric("logician_up", "gauge", "1 when the engine is running.", [({}, int(health is not None))]),
        *_metric("logician_active_sessions", "gauge", "Browser tabs that are connected.", [({}, active_sessions)]),
    ]
    if health is not None:
        runs = [({"status": status}, count) for status, count in sorted(health["runs"].items())]
        lines += _metric("logician_runs", "gauge", "Runs by status.", runs)
        lines += _metric(
            "logician_events_written_total", "counter", "Run events written.", [({}, health["events_written"])]
        )
    return "\n".join(lines) + "\n"


def _metric(name: str, kind: str, text: str, samples: Iterable[tuple[Mapping[str, str], int]]) -> list[str]:
    lines = [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]
    for labels, value in samples:
        shown = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
        lines.append(f"{name}{{{shown}}} {value}" if shown else f"{name} {value}")
    return lines


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
