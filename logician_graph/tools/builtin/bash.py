"""bash: one command line in the sandbox. Writes in the workspace only, no network, nobody answers its questions."""

from __future__ import annotations

import asyncio
import codecs
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from logician_graph.errors import SandboxError
from logician_graph.sandbox import CommandResult, SandboxPolicy
from logician_graph.tools.arguments import described
from logician_graph.tools.preview import bounded_file
from logician_graph.tools.registry import saved_file, saved_name
from logician_graph.tools.types import ToolContext, ToolDeclaration, ToolFailed, ToolOutput, ToolStatus

_DEFAULT_TIMEOUT_S = 120
_MAX_TIMEOUT_S = 600
_OUTPUT_CHARS = 8_000
_LIVE_CHARS = 50_000
"""Live output past this many characters is not shown as it comes; it stays in the saved file."""


class Bash:
    """What the command touched is unknown, so it never runs twice by itself."""

    declaration = ToolDeclaration(
        name="bash",
        description=described(
            "Run a shell command in the workspace. No network, no input; temporary files go to $TMPDIR.",
            {"command": "ls -l"},
        ),
        parameters={
            "type": "object",
            "properties": {
                "command": {"type": "string", "minLength": 1},
                "timeout_s": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": _MAX_TIMEOUT_S,
                    "description": f"seconds, default {_DEFAULT_TIMEOUT_S}",
                },
            },
            "required": ["command"],
            "additionalProperties": False,
        },
        effect="execute",
        parallel_safe=False,
        replay="never",
        timeout_s=_MAX_TIMEOUT_S + 20.0,
        output_chars=_OUTPUT_CHARS + 500,
        icon=":material/terminal:",
    )

    def describe(self, arguments: Mapping[str, Any]) -> str:
        """The command's first line."""
        lines = str(arguments.get("command", "")).strip().splitlines() or [""]
        return lines[0][:200] + (" …" if len(lines) > 1 or len(lines[0]) > 200 else "")

    def preview(self, arguments: Mapping[str, Any], context: ToolContext) -> str | None:
        """The exact command."""
        command = arguments.get("command")
        return command if isinstance(command, str) else None

    async def run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        """Run it to its end, its timeout or the run's cancellation."""
        command: str = arguments["command"]
        timeout_s: int = arguments.get("timeout_s", _DEFAULT_TIMEOUT_S)
        if "\0" in command:
            raise ToolFailed("The command holds a NUL character, which no program can be given. Leave it out.")
        path = saved_file(context)
        try:
            result = await context.sandbox.run(
                ["bash", "-c", command],
                cwd=context.workspace,
                policy=SandboxPolicy(writable=(context.workspace,), readable=(context.artifacts,)),
                output_path=path,
                timeout_s=timeout_s,
                cancelled=context.cancelled,
                on_output=_Live(context),
            )
        except SandboxError as error:
            raise ToolFailed(str(error)) from error
        return await asyncio.to_thread(_output, result, path, timeout_s)


class _Live:
    """Passes output on as text while it comes, up to a bound."""

    def __init__(self, context: ToolContext) -> None:
        self._emit = context.emit
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._left = _LIVE_CHARS

    def __call__(self, part: bytes) -> None:
        if self._left <= 0:
            return
        text = self._decoder.decode(part)
        shown = text[: self._left]
        self._left -= len(text)
        if shown:
            self._emit(shown if self._left > 0 else f"{shown}\n[more output is in the saved file]\n")


def _output(result: CommandResult, path: Path, timeout_s: int) -> ToolOutput:
    text, cut = bounded_file(path, _OUTPUT_CHARS, saved_name(path))
    if not cut:
        path.unlink(missing_ok=True)
    ending, status = _ending(result, timeout_s)
    text = f"{text.rstrip(chr(10))}\n[{ending}]" if text.strip() else f"(no output)\n[{ending}]"
    return ToolOutput(
        text,
        status=status,
        summary=f"{ending.partition('.')[0]} in {result.duration_s:.1f} s",
        saved_path=str(path) if cut else None,
        data={
            "exit_code": result.exit_code,
            "signal": result.signal,
            "ended": result.ended,
            "bytes": result.output_bytes,
            "duration_s": round(result.duration_s, 3),
        },
    )


def _ending(result: CommandResult, timeout_s: int) -> tuple[str, ToolStatus]:
    match result.ended:
        case "timeout":
            return (
                f"stopped after {timeout_s} s. It needs more timeout_s, less work, or it waits for something",
                "error",
            )
        case "cancelled":
            return "stopped by the person", "cancelled"
        case "output_limit":
            return "stopped: too much output. Print less, or write to a file", "error"
        case "exited":
            if result.exit_code is None:
                return f"killed by signal {result.signal}", "error"
            return f"exit code {result.exit_code}", "ok" if result.exit_code == 0 else "error"
