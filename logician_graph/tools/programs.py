"""What is known of programs: which run others, which destroy, which may be allowed by the beginning of a command. Pure.

``pytest`` runs whatever the workspace holds, so allowing it is trusting the workspace's code in the sandbox; the tables
only make sure that a rule allows no *other* program than the person meant.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from logician_graph.tools.shell import Segment

_RUNNERS = frozenset({
    "sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "csh", "tcsh", "busybox", "python", "pypy", "node", "deno",
    "bun", "ruby", "irb", "perl", "php", "lua", "Rscript", "julia", "java", "osascript", "tclsh", "expect", "env",
    "sudo", "su", "doas", "xargs", "parallel", "nohup", "nice", "ionice", "time", "timeout", "stdbuf", "setsid",
    "watch", "script", "strace", "ltrace", "gdb", "chroot", "unshare", "nsenter", "flock", "systemd-run",
    "start-stop-daemon", "find", "awk", "gawk", "mawk", "nawk", "sed", "tee", "ed", "ex", "vi", "vim", "emacs",
    "less", "more", "man", "ssh", "scp", "sftp", "rsync", "curl", "wget", "nc", "ncat", "socat", "docker", "podman",
    "kubectl", "systemctl", "npx", "bunx", "uvx", "pipx", "tar", "zip", "crontab", "at", "git-shell", "eval",
    "exec", "command", "builtin", "source", ".", "trap", "alias", "hash", "enable", "export", "declare", "set",
    "local", "readonly", "typeset", "shopt", "unset", "read", "mapfile", "readarray", "bind", "complete", "coproc",
})  # fmt: skip
_DESTROYERS = frozenset({
    "rm", "rmdir", "mv", "cp", "dd", "chmod", "chown", "chgrp", "ln", "truncate", "shred", "install", "kill",
    "pkill", "killall", "mkfs", "mount", "umount", "reboot", "shutdown",
})  # fmt: skip
_RUNNING_SUBCOMMANDS = {
    "bundle": {"exec"}, "bun": {"x", "run"}, "cargo": {"run", "install"}, "dotnet": {"run", "exec"}, "gem": {"exec"},
    "go": {"run", "generate", "tool"}, "npm": {"exec", "x", "explore"}, "pdm": {"run"}, "pip": {"install"},
    "pip3": {"install"}, "pnpm": {"exec", "dlx"}, "poetry": {"run"}, "uv": {"run", "tool"}, "yarn": {"exec", "dlx"},
}  # fmt: skip
_GIT_PLAIN = frozenset({
    "add", "branch", "checkout", "cherry-pick", "clone", "commit", "diff", "fetch", "init", "log", "merge", "mv",
    "pull", "push", "reset", "restore", "revert", "rm", "show", "stash", "status", "switch", "tag",
})  # fmt: skip
_OFFERED_BY_NAME = frozenset({
    "black", "eslint", "flake8", "gofmt", "isort", "jest", "mkdir", "mypy", "prettier", "pyright", "pytest", "ruff",
    "rustfmt", "shellcheck", "touch", "tsc", "vitest",
})  # fmt: skip
_OFFERED_SUBCOMMANDS = {
    "cargo": {"bench", "build", "check", "clippy", "doc", "fmt", "test"},
    "dotnet": {"build", "test"},
    "git": _GIT_PLAIN - {"clone", "push", "reset", "rm", "mv", "checkout", "restore"},
    "go": {"build", "fmt", "test", "vet"},
    "npm": {"ci", "install", "ls", "test"},
    "pip": {"list", "show"},
    "pnpm": {"install", "test"},
    "yarn": {"install", "test"},
}


def is_runner(argv: Sequence[str | None]) -> bool:
    """Whether what runs in the end stands among the arguments, or cannot be told."""
    program = (argv[0] or "").rpartition("/")[2] if argv else ""
    if not program or re.sub(r"[\d.]+$", "", program) in _RUNNERS or program in _RUNNERS:
        return True
    running = _RUNNING_SUBCOMMANDS.get(program)
    if running is None or len(argv) < 2:
        return False
    # Behind an option or in a variable there may be any subcommand.
    return argv[1] is None or argv[1].startswith("-") or argv[1] in running


def is_whole_only(argv: Sequence[str | None]) -> bool:
    """Whether a longer command line with the same beginning could do something quite different."""
    program = (argv[0] or "").rpartition("/")[2]
    if is_runner(argv) or program in _DESTROYERS:
        return True
    return program == "git" and (len(argv) < 2 or argv[1] not in _GIT_PLAIN)


def short_beginning(segment: Segment) -> tuple[str, ...] | None:
    """The shortest beginning of the command that is safe to allow with any arguments after it."""
    first, second = segment.words[0].text, segment.words[1] if len(segment.words) > 1 else None
    if first is None or is_whole_only(segment.argv):
        return None
    if first in _OFFERED_BY_NAME:
        return (first,)
    if second is None or second.expands or second.text is None:
        return None
    if second.text in _OFFERED_SUBCOMMANDS.get(first, ()) or (first == "make" and re.fullmatch(r"[\w-]+", second.text)):
        return (first, second.text)
    return None
