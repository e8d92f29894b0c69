"""Tools with which a chat begins studies and reads how they stand; the same studies as on the page."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from logician_graph.errors import LogicianError
from logician_graph.tools import ToolContext, ToolDeclaration, ToolFailed, ToolOutput
from storage import RunLedger

if TYPE_CHECKING:
    from logician_graph.eoh import Studies

_MOST_SAMPLES = 2000


class Evolve:
    """Begins a study and returns at once; the study goes on beside the chat."""

    declaration = ToolDeclaration(
        name="evolve",
        description=(
            "Begin a study that evolves a better heuristic for a problem with an LLM, in the background. Unknown "
            "problem: the reply lists what there is; a folder path works too."
        ),
        parameters={
            "type": "object",
            "properties": {
                "problem": {"type": "string", "minLength": 1},
                "samples": {"type": "integer", "minimum": 1, "maximum": _MOST_SAMPLES, "description": "default 50"},
                "title": {"type": "string"},
            },
            "required": ["problem"],
            "additionalProperties": False,
        },
        effect="execute",
        parallel_safe=False,
        replay="never",
        timeout_s=30.0,
        icon=":material/genetics:",
        for_small_models=False,
    )

    def __init__(self, studies: Callable[[], Studies], ledger: RunLedger, model: Callable[[], str]) -> None:
        self._studies, self._ledger, self._model = studies, ledger, model

    def describe(self, arguments: Mapping[str, Any]) -> str:
        """Problem and budget."""
        return f"evolve {arguments.get('problem', '')} ({arguments.get('samples', 50)} samples)"[:200]

    def preview(self, arguments: Mapping[str, Any], context: ToolContext) -> str | None:
        """What the study would be."""
        return f"{self.describe(arguments)}, model {self._model()}"

    async def run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        """Create it."""
        return await asyncio.to_thread(self._create, arguments, context.run_id)

    def _create(self, arguments: Mapping[str, Any], run_id: str) -> ToolOutput:
        run = self._ledger.get(run_id)
        samples = int(arguments.get("samples", 50))
        values = {"problem": arguments["problem"], "models": [self._model()], "budget": {"samples": samples}}
        try:
            study = self._studies().create(
                values, title=str(arguments.get("title") or ""), thread_id=run.thread_id if run else None
            )
        except LogicianError as error:
            raise ToolFailed(str(error)) from error
        return ToolOutput(
            f"Study {study.id} began: {samples} samples on {study.problem}. It goes on in the background; the person "
            f"watches it at /evolution?study={study.id}. Use the tool study to see how it stands.",
            summary=f"study {study.id}",
            data={"study_id": study.id},
        )


class ReadStudy:
    """How a study stands, in numbers that were measured."""

    declaration = ToolDeclaration(
        name="study",
        description="How a study of evolved heuristics stands: samples, outcomes, the best and its code, baselines.",
        parameters={
            "type": "object",
            "properties": {"id": {"type": "string", "minLength": 1}},
            "required": ["id"],
            "additionalProperties": False,
        },
        effect="read",
        parallel_safe=True,
        replay="safe",
        timeout_s=30.0,
        icon=":material/genetics:",
        for_small_models=False,
    )

    def __init__(self, studies: Callable[[], Studies]) -> None:
        self._studies = studies

    def describe(self, arguments: Mapping[str, Any]) -> str:
        """Which one."""
        return f"study {arguments.get('id', '')}"[:200]

    def preview(self, arguments: Mapping[str, Any], context: ToolContext) -> str | None:
        """Reading needs none."""
        return None

    async def run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        """Read it."""
        return await asyncio.to_thread(self._read, str(arguments["id"]))

    def _read(self, study_id: str) -> ToolOutput:
        try:
            view = self._studies().view(study_id)
        except LogicianError as error:
            raise ToolFailed(str(error)) from error
        row, best, baseline = view.row, view.best, view.gap_to_baseline
        lines = [
            f"{row.title}: {row.state}{f' ({row.reason})' if row.reason else ''}",
            f"{row.samples} of {row.planned} samples; " + ", ".join(
                f"{count} {outcome}" for outcome, count in sorted((view.total.outcomes if view.total else {}).items())
            ),
        ]  # fmt: skip
        if baseline is not None:
            better = {"min": "lower", "max": "higher"}[row.direction]
            lines.append(f"Best baseline on the training set: {baseline[0]} {baseline[1]:.6g} ({better} is better)")
        if best is not None:
            lines.append(f"Best sample {best.n}: {best.objective:.6g} on the training set")
            lines += [
                f"  on {name}: {score.objective:.6g}"
                for name, score in view.held_out.get(best.n, {}).items()
                if score.objective is not None
            ]
            lines += [f"Idea: {best.thought}", f"```python\n{(best.code or '').strip()}\n```"]
        return ToolOutput("\n".join(lines), summary=f"{row.state}, {row.samples} samples")
