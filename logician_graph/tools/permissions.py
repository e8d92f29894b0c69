"""The gate's decision on one call: allow, ask or deny. Fails closed; never raises; reads no setting.

Order of strictness: a deny rule, then what the mode forbids, then ask rules and taint, then allow rules and what the
mode allows. No rule's place in the list matters. An unknown tool asks; any error denies. Neither annotations of an MCP
server nor the model's own words are among the inputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from logician_graph.tools.arguments import mended, problem, without_surrogates
from logician_graph.tools.read_only import is_read_only
from logician_graph.tools.rules import allows, covers, hit, speaks_of, suggested
from logician_graph.tools.shell import CommandLine, Segment, parse
from logician_graph.tools.types import Decision, Mode, PermissionRule, ToolDeclaration

_TAINTED = "Text from the network was read in this run, so this needs you."


def decide(
    tool: ToolDeclaration | None,
    arguments: Mapping[str, Any],
    *,
    mode: Mode,
    rules: Sequence[PermissionRule],
    workspace: str,
    tainted: bool,
) -> Decision:
    """Whether the call may run. ``tool`` None means that no such tool is known."""
    try:
        if tool is None:
            return _unknown(mode)
        return _decide(tool, without_surrogates(arguments), mode, rules, workspace, tainted=tainted)
    except Exception as error:  # noqa: BLE001 -- whatever went wrong, the call does not run
        return Decision("deny", f"The permission check failed ({type(error).__name__}: {error}), so it is not allowed.")


def _unknown(mode: Mode) -> Decision:
    if mode == "plan":
        return Decision("deny", "Plan mode only reads, and what this tool does is not known.")
    return Decision("ask", "What this tool does is not known.")


def _decide(
    tool: ToolDeclaration,
    arguments: Mapping[str, Any],
    mode: Mode,
    rules: Sequence[PermissionRule],
    workspace: str,
    *,
    tainted: bool,
) -> Decision:
    arguments = mended(tool, arguments)
    # By id, so that which of several fitting rules is named does not depend on their order.
    spoken = sorted((rule for rule in rules if speaks_of(rule, tool.name, workspace)), key=lambda rule: rule.id)
    denies = [(rule.id, hit(rule, tool, arguments, workspace)) for rule in spoken if rule.action == "deny"]
    for rule_id, found in denies:
        if found == "yes":
            return Decision("deny", "A rule forbids it.", rule_id)
    if tool.effect == "ask":
        return Decision("allow", "A question touches nothing.")
    if tool.effect != "read" and (wrong := problem(tool, arguments)):
        return Decision("deny", f"The arguments are not valid. {wrong}")
    line = parse(arguments["command"]) if tool.name == "bash" else None
    if mode == "plan" and not _only_reads(tool, line, workspace):
        return Decision("deny", f"Plan mode only reads, and {_why(tool, line, workspace)}.")
    doubtful = next((rule_id for rule_id, found in denies if found == "maybe"), None)
    if doubtful is not None:
        return Decision("ask", "It cannot be told whether a rule forbids it.", doubtful)
    if mode == "accept_all":
        return Decision("allow", "Everything is allowed in this mode.")
    for rule in spoken:
        if rule.action == "ask" and hit(rule, tool, arguments, workspace) != "no":
            return Decision("ask", "A rule asks for your word.", rule.id)
    if tool.effect == "read":
        return Decision("allow", "It only reads.")
    if tainted:
        return Decision("ask", _TAINTED)
    return _by_mode(tool, arguments, line, mode, [rule for rule in spoken if rule.action == "allow"], workspace)


def _by_mode(
    tool: ToolDeclaration,
    arguments: Mapping[str, Any],
    line: CommandLine | None,
    mode: Mode,
    allow_rules: Sequence[PermissionRule],
    workspace: str,
) -> Decision:
    if line is not None:
        return _command(tool, arguments, line, mode, allow_rules, workspace)
    for rule in allow_rules:
        if allows(rule, tool, arguments, workspace):
            return Decision("allow", "A rule allows it.", rule.id)
    if tool.effect == "write" and mode != "ask":
        if _touches_git(arguments):
            return Decision("ask", "Files of git can make it run programs outside the sandbox.")
        return Decision("allow", "Edits in the workspace are allowed in this mode.")
    reason = f"It needs your word: {_why(tool, line, workspace)}."
    return Decision("ask", reason, suggestions=suggested(tool, arguments, workspace, ()))


def _command(
    tool: ToolDeclaration,
    arguments: Mapping[str, Any],
    line: CommandLine,
    mode: Mode,
    allow_rules: Sequence[PermissionRule],
    workspace: str,
) -> Decision:
    """Every simple command must be read-only (not in ask mode) or covered by a rule; anything odd asks."""
    used: list[str] = []
    open_segments: list[Segment] = []
    for segment in line.segments:
        rule = next((rule for rule in allow_rules if covers(rule, segment)), None)
        if mode != "ask" and is_read_only(segment, workspace):
            continue
        if rule is None:
            open_segments.append(segment)
        else:
            used.append(rule.id)
    if line.segments and not line.problems and not open_segments:
        if used:
            return Decision("allow", "A rule allows it.", used[0])
        return Decision("allow", "It only reads.")
    for rule in allow_rules:
        if rule.argv_prefix is None and rule.path_prefix is None:
            return Decision("allow", "A rule allows every command.", rule.id)
    offered = () if line.problems else suggested(tool, arguments, workspace, open_segments)
    return Decision("ask", f"It needs your word: {_why(tool, line, workspace)}.", suggestions=offered)


def _only_reads(tool: ToolDeclaration, line: CommandLine | None, workspace: str) -> bool:
    if line is None:
        return tool.effect == "read"
    return bool(line.segments) and not line.problems and all(is_read_only(part, workspace) for part in line.segments)


def _why(tool: ToolDeclaration, line: CommandLine | None, workspace: str) -> str:
    """Why a call is not simply allowed, as a clause."""
    if line is None:
        does = {"write": "changes files", "execute": "runs programs", "network": "uses the network"}
        return f"{tool.name} {does.get(tool.effect, 'may change something')}"
    if line.problems:
        return f"the command {' and '.join(line.problems[:2])}"
    unproven = [part for part in line.segments if not is_read_only(part, workspace)]
    if not unproven:
        return "in this mode every command does"
    names = dict.fromkeys(part.program or "a computed program" for part in unproven)
    return f"{', '.join(names)} may do more than read in the workspace"


def _touches_git(arguments: Mapping[str, Any]) -> bool:
    return ".git" in (part.lower() for part in PurePosixPath(str(arguments.get("path", ""))).parts)
