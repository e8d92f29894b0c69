"""Standing decisions: whether one speaks about a call, how it reads in words, which ones could be offered. Pure but for
resolving links in paths.

An *allow* must be certain, so it needs literal words and every link resolved; a *deny* or *ask* holds as soon as it
may apply. Programs that run other programs, or destroy, are allowed as a whole command line only, never by a prefix.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from logician_graph.tools.programs import is_runner, is_whole_only, short_beginning
from logician_graph.tools.shell import CommandLine, Segment, parse
from logician_graph.tools.types import PermissionRule, ToolDeclaration

Hit = Literal["yes", "maybe", "no"]


def rule_matches(rule: PermissionRule, tool: ToolDeclaration, arguments: Mapping[str, Any], *, workspace: str) -> bool:
    """Whether ``rule`` alone would settle the call: an allow covers all of it, a deny or ask any part."""
    if not speaks_of(rule, tool.name, workspace):
        return False
    if rule.action != "allow":
        return hit(rule, tool, arguments, workspace) == "yes"
    if tool.name == "bash":
        line = parse(str(arguments.get("command", "")))
        return not line.problems and bool(line.segments) and all(covers(rule, segment) for segment in line.segments)
    return allows(rule, tool, arguments, workspace)


def explain_rule(rule: PermissionRule) -> str:
    """The rule as a sentence for a person."""
    verb = {"allow": "Always allow", "ask": "Always ask before", "deny": "Never allow"}[rule.action]
    what = rule.tool
    if rule.argv_prefix:
        whole = rule.action == "allow" and is_whole_only(rule.argv_prefix)
        then = ", exactly as it is" if whole else " with any arguments after it"
        what = f"the command {' '.join(rule.argv_prefix)!r}{then}"
    elif rule.path_prefix is not None:
        place = os.path.normpath(rule.path_prefix)
        what += " anywhere in the workspace" if place == "." else f" on {place!r} and what is below it"
    where = f" in the workspace {rule.workspace!r}" if rule.workspace else " in every workspace"
    return f"{verb} {what}{where}."


def speaks_of(rule: PermissionRule, tool: str, workspace: str) -> bool:
    """Whether the rule is about this tool and this workspace."""
    if rule.tool != tool:
        return False
    return rule.workspace is None or os.path.realpath(rule.workspace) == os.path.realpath(workspace)


def covers(rule: PermissionRule, segment: Segment) -> bool:
    """Whether an allow rule for bash certainly covers one simple command."""
    if rule.path_prefix is not None:
        return False
    if rule.argv_prefix is None:
        return True
    size = len(rule.argv_prefix)
    if not size or any(word.expands for word in segment.words[:size]):
        return False
    if is_whole_only(segment.argv):
        return segment.argv == rule.argv_prefix and not any(word.expands for word in segment.words)
    return segment.argv[:size] == rule.argv_prefix


def allows(rule: PermissionRule, tool: ToolDeclaration, arguments: Mapping[str, Any], workspace: str) -> bool:
    """Whether an allow rule certainly covers a call of a tool other than bash."""
    if rule.argv_prefix is not None:
        return False
    if rule.path_prefix is None:
        return True
    prefix = _prefix_parts(rule.path_prefix, workspace)
    targets = _targets(tool, arguments, workspace)
    return bool(targets) and all(target is not None and target[: len(prefix)] == prefix for target in targets)


def hit(rule: PermissionRule, tool: ToolDeclaration, arguments: Mapping[str, Any], workspace: str) -> Hit:
    """Whether a deny or ask rule holds for any part of the call."""
    if tool.name == "bash":
        if rule.path_prefix is not None:
            return "no"
        return _hits_line(rule.argv_prefix, parse(str(arguments.get("command", ""))), str(arguments.get("command", "")))
    if rule.argv_prefix is not None:
        return "no"
    if rule.path_prefix is None:
        return "yes"
    prefix = _prefix_parts(rule.path_prefix, workspace)
    for target in _targets(tool, arguments, workspace):
        # Reading a folder reads what is below it, so a rule inside the folder holds too.
        if target is not None and target[: len(prefix)] == prefix[: len(target)]:
            return "yes"
    return "no"


def suggested(
    tool: ToolDeclaration, arguments: Mapping[str, Any], workspace: str, open_segments: Sequence[Segment]
) -> tuple[PermissionRule, ...]:
    """Rules that "Always allow …" could store for this call, narrowest first; none where none is safe."""

    def rule(argv: tuple[str, ...] | None = None, path: str | None = None) -> PermissionRule:
        return PermissionRule("", "allow", tool.name, argv_prefix=argv, path_prefix=path, workspace=workspace)

    if tool.name == "bash":
        return tuple(rule(argv=argv) for argv in _offered_argvs(open_segments))
    if "path" in tool.parameters.get("properties", {}):
        targets = _targets(tool, arguments, workspace)
        if not targets or targets[0] is None or targets[0] != targets[-1]:
            return ()
        parts = targets[0]
        paths = ["/".join(parts), "/".join(parts[:-1])] if len(parts) > 1 else ["/".join(parts)]
        return tuple(rule(path=path) for path in paths if path)
    return (rule(),)


def _hits_line(prefix: tuple[str, ...] | None, line: CommandLine, text: str) -> Hit:
    if not prefix:
        return "yes"
    hits = [_hits_segment(prefix, segment) for segment in line.segments]
    if "yes" in hits:
        return "yes"
    if line.hidden:
        return "yes" if re.search(r"\s+".join(re.escape(word) for word in prefix), text) else "maybe"
    return "maybe" if "maybe" in hits else "no"


def _hits_segment(prefix: tuple[str, ...], segment: Segment) -> Hit:
    argv = segment.argv
    # What a runner runs stands somewhere among its arguments.
    starts = range(len(argv)) if is_runner(argv) else range(1)
    return _strictest(_hits_at(prefix, segment, start) for start in starts)


def _hits_at(prefix: tuple[str, ...], segment: Segment, start: int) -> Hit:
    result: Hit = "yes"
    words = segment.words[start:]
    for index, wanted in enumerate(prefix):
        if index >= len(words):
            return "maybe" if any(word.expands for word in words) else "no"
        word = words[index]
        if word.expands or word.text is None:
            result = "maybe"
        elif word.text != wanted and not (index == 0 and word.text.rpartition("/")[2] == wanted):
            return "maybe" if any(earlier.expands for earlier in words[:index]) else "no"
    return result


def _strictest(hits: Iterable[Hit]) -> Hit:
    found = set(hits)
    return "yes" if "yes" in found else "maybe" if "maybe" in found else "no"


def _offered_argvs(segments: Sequence[Segment]) -> list[tuple[str, ...]]:
    """Beginnings that all open segments share and that are safe to offer, longest first."""
    wholes: set[tuple[str, ...]] = set()
    shorts: set[tuple[str, ...] | None] = set()
    for segment in segments:
        if any(word.text is None or word.expands for word in segment.words[:1]):
            return []
        literal = tuple(word.text for word in segment.words if word.text is not None and not word.expands)
        if len(literal) == len(segment.words):
            wholes.add(literal)
        else:
            wholes.add(())
        shorts.add(short_beginning(segment))
    offered = [whole for whole in wholes if whole and len(wholes) == 1]
    offered += [short for short in shorts if short and len(shorts) == 1 and short not in offered]
    return offered


def _targets(tool: ToolDeclaration, arguments: Mapping[str, Any], workspace: str) -> list[tuple[str, ...] | None]:
    """Components below the workspace of the path a call names, as written and with links resolved; None outside."""
    if "path" not in tool.parameters.get("properties", {}):
        return []
    root = os.path.realpath(workspace)
    wanted = Path(root) / str(arguments.get("path", "."))
    return [_below(os.path.normpath(wanted), root), _below(os.path.realpath(wanted), root)]


def _prefix_parts(prefix: str, workspace: str) -> tuple[str, ...]:
    root = os.path.realpath(workspace)
    below = _below(os.path.normpath(Path(root) / prefix), root)
    # A prefix outside can match nothing inside.
    return below if below is not None else ("\0",)


def _below(path: str, root: str) -> tuple[str, ...] | None:
    try:
        return PurePosixPath(path).relative_to(root).parts
    except ValueError:
        return None
