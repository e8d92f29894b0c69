"""A permission rule as a sentence. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from pages.components.words import code

_VERBS = {"allow": "Allow", "ask": "Ask before", "deny": "Deny"}


def rule_sentence(rule: Mapping[str, Any]) -> str:
    """What a rule, stored or suggested, decides: ``Allow commands that start with `git status` in every workspace``."""
    tool = rule["tool"]
    if tool == "*":
        subject = "every tool"
    elif rule.get("argv_prefix"):
        subject = f"commands that start with {code(' '.join(rule['argv_prefix']))}"
    elif rule.get("path_prefix"):
        subject = f"{code(tool)} in {code(rule['path_prefix'])}"
    else:
        subject = f"every call of {code(tool)}"
    workspace = rule.get("workspace")
    place = f"in the workspace {code(PurePath(workspace).name or workspace)}" if workspace else "in every workspace"
    return f"{_VERBS.get(rule['action'], rule['action'])} {subject} {place}"
