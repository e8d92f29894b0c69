"""ask_user: a question that only a person can answer. The run waits for it; nothing is touched."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from logician_graph.tools.arguments import described
from logician_graph.tools.types import ToolContext, ToolDeclaration, ToolFailed, ToolOutput


class AskUser:
    """Declared here; answered by the orchestrator, which shows the question and waits."""

    declaration = ToolDeclaration(
        name="ask_user",
        description=described(
            "Ask the person one question. Only when you cannot go on without the answer.",
            {"question": "Which port?", "choices": ["8080", "9000"]},
        ),
        parameters={
            "type": "object",
            "properties": {
                "question": {"type": "string", "minLength": 1},
                "choices": {"type": "array", "items": {"type": "string"}, "maxItems": 8},
            },
            "required": ["question"],
            "additionalProperties": False,
        },
        effect="ask",
        parallel_safe=False,
        replay="safe",
        timeout_s=60.0,
        icon=":material/help:",
    )

    def describe(self, arguments: Mapping[str, Any]) -> str:
        """The question."""
        return str(arguments.get("question", ""))[:200]

    def preview(self, arguments: Mapping[str, Any], context: ToolContext) -> str | None:
        """Nothing beyond the question."""
        return None

    async def run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        """Refuse: a question that reaches the bus has nobody who could answer it."""
        raise ToolFailed("Nobody can answer questions here. Decide yourself, or end and say what you need to know.")
