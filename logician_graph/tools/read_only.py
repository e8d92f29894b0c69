"""Commands that provably only read, and only in the workspace: the ones that need nobody's approval. Pure.

An allow-list of programs, each with the options that are known to be harmless for it; everything else is "not proven".
Programs that can run another program or write a file by some option are here only with those options excluded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath

from logician_graph.tools.shell import Segment

_ANY_OPTIONS = frozenset({
    "basename", "cat", "cd", "cksum", "cmp", "column", "comm", "cut", "df", "diff", "dirname", "du", "echo",
    "egrep", "expand", "false", "fgrep", "fold", "grep", "head", "hexdump", "id", "jq", "ls", "md5sum", "nl", "nproc",
    "od", "paste", "ps", "pwd", "readlink", "realpath", "rev", "seq", "sha1sum", "sha256sum", "sha512sum", "stat",
    "strings", "tac", "tail", "tr", "true", "uname", "uptime", "wc", "which", "whoami",
})  # fmt: skip
"""No option of these writes a file or runs a program."""

_WITHOUT_PATHS = frozenset({"date", "echo", "false", "printf", "pwd", "seq", "tr", "true", "uname", "whoami"})
_SEARCHES = frozenset({"egrep", "fgrep", "grep", "rg"})
_FIND_ACTS = frozenset({
    "-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf", "-fls",
})  # fmt: skip
_GIT_READS = frozenset({
    "status", "diff", "log", "show", "rev-parse", "ls-files", "ls-tree", "blame", "describe", "shortlog", "rev-list",
    "merge-base", "cat-file",
})  # fmt: skip
_GIT_REFUSED = ("--ou", "--ext", "--textc", "--filter", "--op", "--show-sig")
"""Also as abbreviations, which git accepts: they write a file or run a configured program."""
_GIT_LISTS = {
    "branch": {"-a", "-r", "-v", "-vv", "--list", "--all", "--remotes", "--show-current"},
    "remote": {"-v", "--verbose"},
    "stash": {"list"},
    "tag": {"-l", "--list", "-n"},
}
_VERSIONED = frozenset(
    {"python", "python3", "node", "npm", "git", "gcc", "cargo", "rustc", "go", "java", "pip", "bash"}
)


def is_read_only(segment: Segment, workspace: str) -> bool:
    """Whether the command is proven to read only, below ``workspace``."""
    program = segment.program
    if program is None or any(word.text is None for word in segment.words):
        return False
    arguments = [word.text or "" for word in segment.words[1:]]
    if any(word.expands and not _is_plain_pattern(word.text or "") for word in segment.words[1:]):
        return False
    if program not in _WITHOUT_PATHS and any(_leaves_workspace(path, workspace) for path in _paths(program, arguments)):
        return False
    if program in _VERSIONED and arguments in (["--version"], ["-V"], ["-v"]):
        return True
    if program in _ANY_OPTIONS:
        return True
    check = _CHECKED.get(program)
    # A pattern could expand to a file name that is an option.
    if check is None or any(word.expands and (word.text or "*")[0] in "*?[-" for word in segment.words[1:]):
        return False
    return check(arguments)


def _paths(program: str, arguments: Sequence[str]) -> Sequence[str]:
    """Arguments that may be paths: for the grep family not the expression."""
    if program not in _SEARCHES or any(re.match(r"-\w*[ef]|--(regexp|file)", argument) for argument in arguments):
        return arguments
    first = next((index for index, argument in enumerate(arguments) if not argument.startswith("-")), None)
    return arguments if first is None else [*arguments[:first], *arguments[first + 1 :]]


def _is_plain_pattern(text: str) -> bool:
    """A pattern that can only stand for names below where it says: no braces, no ``.*`` that could be ``..``."""
    return "{" not in text and not any(re.match(r"\.[*?\[]", part) for part in text.split("/"))


def _leaves_workspace(argument: str, workspace: str) -> bool:
    """Whether an argument, or the value of an option in it, may name something outside the workspace."""
    for part in {argument, argument.partition("=")[2], re.sub(r"^-\w+(?=/)", "", argument)}:
        if part.startswith("~") or ".." in PurePosixPath(part).parts:
            return True
        if part.startswith("/") and part != "/dev/null" and not _below(part, workspace):
            return True
    return False


def _below(path: str, workspace: str) -> bool:
    root = workspace.rstrip("/")
    return bool(root) and (path == root or path.startswith(root + "/"))


def _find(arguments: Sequence[str]) -> bool:
    return not _FIND_ACTS.intersection(arguments)


def _git(arguments: Sequence[str]) -> bool:
    rest = list(arguments)
    while rest and rest[0] == "--no-pager":
        rest.pop(0)
    if not rest:
        return False
    subcommand, options = rest[0], rest[1:]
    if subcommand in _GIT_LISTS:
        return set(options) <= _GIT_LISTS[subcommand] and (subcommand != "stash" or options == ["list"])
    return subcommand in _GIT_READS and not any(option.startswith(_GIT_REFUSED) for option in options)


def _sed(arguments: Sequence[str]) -> bool:
    """Only ``sed -n '3,9p' file…``: a sed script can write files and run commands."""
    if len(arguments) < 2 or arguments[0] != "-n" or not re.fullmatch(r"\d+(,(\d+|\$))?p", arguments[1]):
        return False
    return not any(argument.startswith("-") for argument in arguments[2:])


def _sort(arguments: Sequence[str]) -> bool:
    allowed = re.compile(r"-(k[\d.,a-zA-Z]*|t.?|[bdfgiMhnRrVuzsc]+)|[^-].*")
    return all(allowed.fullmatch(argument) for argument in arguments)


def _uniq(arguments: Sequence[str]) -> bool:
    # A second file name is where the output goes.
    options = [argument for argument in arguments if argument.startswith("-")]
    return all(re.fullmatch(r"-[cdDiuz]+", option) for option in options) and len(arguments) - len(options) <= 1


def _date(arguments: Sequence[str]) -> bool:
    return all(argument.startswith("+") or argument in {"-u", "-I", "-R", "--utc"} for argument in arguments)


def _file(arguments: Sequence[str]) -> bool:
    return all(not argument.startswith("-") or argument in {"-b", "-i", "--mime-type"} for argument in arguments)


def _tree(arguments: Sequence[str]) -> bool:
    return all(not argument.startswith("-") or re.fullmatch(r"-[adfLshpit]+", argument) for argument in arguments)


def _rg(arguments: Sequence[str]) -> bool:
    refused = re.compile(r"--(pre|hostname|search-zip)|-[a-zA-Z]*z")
    return not any(refused.match(argument) for argument in arguments)


def _printf(arguments: Sequence[str]) -> bool:
    # ``printf -v`` sets a variable, such as PATH.
    return not arguments or not arguments[0].startswith("-")


def _command_v(arguments: Sequence[str]) -> bool:
    return len(arguments) == 2 and arguments[0] in {"-v", "-V"}


_CHECKED: dict[str, Callable[[Sequence[str]], bool]] = {
    "command": _command_v,
    "date": _date,
    "file": _file,
    "find": _find,
    "git": _git,
    "printf": _printf,
    "rg": _rg,
    "sed": _sed,
    "sort": _sort,
    "tree": _tree,
    "uniq": _uniq,
}
