"""The gate: every mode, every effect, rules in any order, and commands that try to slip through."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logician_graph.tools import (
    Action,
    Decision,
    Effect,
    Mode,
    PermissionRule,
    ToolDeclaration,
    decide,
    default_bus,
    explain_rule,
    rule_matches,
)

WORKSPACE = "/work/space"
BUS = default_bus()
STRICTNESS = {"allow": 0, "ask": 1, "deny": 2}


def declaration(name: str) -> ToolDeclaration:
    tool = BUS.get(name)
    assert tool is not None
    return tool.declaration


def ruling(
    name: str,
    arguments: Mapping[str, Any],
    mode: Mode = "accept_edits",
    rules: Sequence[PermissionRule] = (),
    **more: Any,
) -> Decision:
    return decide(
        declaration(name), arguments, mode=mode, rules=rules, workspace=more.get("workspace", WORKSPACE),
        tainted=more.get("tainted", False),
    )  # fmt: skip


def bash(command: str, mode: Mode = "accept_edits", *rules: PermissionRule, tainted: bool = False) -> str:
    return ruling("bash", {"command": command}, mode, rules, tainted=tainted).action


def rule(action: Action, *argv: str, tool: str = "bash", path: str | None = None, rule_id: str = "r") -> PermissionRule:
    return PermissionRule(rule_id, action, tool, argv_prefix=argv or None, path_prefix=path)


@pytest.mark.parametrize(
    ("mode", "actions"),
    [
        ("plan", ("allow", "deny", "deny", "deny", "allow")),
        ("ask", ("allow", "ask", "ask", "ask", "allow")),
        ("accept_edits", ("allow", "allow", "ask", "ask", "allow")),
        ("accept_all", ("allow", "allow", "allow", "allow", "allow")),
    ],
)
def test_every_mode_and_effect(mode: Mode, actions: tuple[str, ...]) -> None:
    for effect, action in zip(("read", "write", "execute", "network", "ask"), actions, strict=True):
        tool = replace(declaration("read_file"), name="some_tool", effect=effect)
        decision = decide(tool, {"path": "a"}, mode=mode, rules=(), workspace=WORKSPACE, tainted=False)
        assert decision.action == action, effect
        assert decision.reason


@pytest.mark.parametrize("mode", ["plan", "ask", "accept_edits", "accept_all"])
def test_text_from_the_network_makes_changes_ask(mode: Mode) -> None:
    expected = {"plan": "deny", "accept_all": "allow"}.get(mode, "ask")
    everything = rule("allow"), rule("allow", tool="write_file")
    for name, arguments in (("bash", {"command": "make"}), ("write_file", {"path": "a", "content": "b"})):
        assert ruling(name, arguments, mode, everything, tainted=True).action == expected
    assert ruling("read_file", {"path": "a"}, mode, tainted=True).action == "allow"


def test_an_unknown_tool_asks() -> None:
    for mode in get_args(Mode):
        decision = decide(None, {}, mode=mode, rules=(), workspace=WORKSPACE, tainted=False)
        assert decision.action == ("deny" if mode == "plan" else "ask")


READ_ONLY = [
    "ls", "ls -la src", "pwd", "cat a.txt b.txt", "head -n 5 a.py", "tail -20 log", "wc -l *.py", "grep -rn 'def ' src",
    "grep -r /api src", "rg foo", "find . -name '*.py' -type f", "git status", "git diff HEAD~1",
    "git log --oneline -5",
    "git --no-pager show HEAD:a.py", "git branch -a", "git remote -v", "git stash list", "sort a | uniq -c | sort -rn",
    "sed -n '1,20p' a.py", "cd src && ls", "echo hi", "cat a 2>/dev/null | head", "ls; pwd", "(cd src; ls)", "ls &",
    "cat $(ls)" , "diff <(sort a) <(sort b)", f"cat {WORKSPACE}/a", "python3 --version", "command -v git",
    "cat <<EOF\nhi\nEOF",
    "date +%s", "tree -L 2", "file a", "printf '%s\\n' a", "! grep x a", "which python",
]  # fmt: skip
NEEDS_DYNAMIC = {"cat $(ls)", "diff <(sort a) <(sort b)"}


@pytest.mark.parametrize("command", [command for command in READ_ONLY if command not in NEEDS_DYNAMIC])
def test_commands_that_provably_only_read_need_nobody(command: str) -> None:
    assert bash(command) == "allow"
    assert bash(command, "plan") == "allow"
    assert bash(command, "ask") == "ask"


@pytest.mark.parametrize(
    "command",
    [
        *NEEDS_DYNAMIC, "rm x", "python3 x.py", "python3 -c 'print(1)'", "sh -c ls", "bash -c 'ls'", "env ls", "env",
        "xargs ls",
        "ls | xargs rm", "sudo ls", "find . -exec rm {} +", "find . -delete", "find . -fprintf out x",
        "awk '{print}' a",
        "sed -i s/a/b/ f", "sed 's/a/b/' f", "sed -n '1w out' f", "sed -n 1p -i f", "tee out", "ls | tee out",
        "time ls",
        "git -c core.pager=x log", "git -C /x status", "git commit -m x", "git config a b", "git diff --output=x",
        "git log --outp=x", "git diff --ext-diff", "git branch new", "git branch -D x", "git stash", "git stash drop",
        "git tag x",
        "git status && rm -rf x", "git status; rm x", "git status | sh", "git status & rm x", "git status\nrm x",
        "git status\n\\rm x", "git status ==\nrm x", "git status $(rm x)", "git status `rm x`", "git status <(rm x)",
        "ls > out", "ls >> out", "cat a > /etc/passwd", "cat <<EOF > out\nx\nEOF", "PAGER=x git log", "PATH=. ls",
        "sort -o out a", "sort -uo out a", "sort --output=o a", "sort --compress-program=x a", "uniq a b",
        "sort -* a", "rg --pre x y",
        "tree -o out", "file -C", "date -s 1", "printf -v PATH x", "cat /etc/passwd", "cat ../x", "cat ~/.ssh/id_rsa",
        "cd /",
        "ls --color=/x", "cat .?/x", "cat {/etc/passwd,a}", "cat $HOME/x", "grep -f/etc/passwd a",
        "grep -rf/etc/passwd a", "$X", "'l's$Y",
        "ls() { rm x; }; ls", "alias ls=rm", "if true; then ls; fi", "while ls; do ls; done", "[[ -f a ]]",
        "export A=1", "exec ls",
        "eval ls", ". ./x", "source x", "trap 'rm x' EXIT", "./ls", "/bin/ls", "make", "npm test", "curl http://x",
        "ls (", "", "#",
        "cat a\r", "coproc ls", "command ls", "command -v a; b", "nohup ls", "kill 1", "ls ~root",
    ],
)  # fmt: skip
def test_everything_else_needs_a_person(command: str) -> None:
    assert bash(command) != "allow"
    assert bash(command, "plan") == "deny"


def test_rules_allow_what_they_cover_and_nothing_more() -> None:
    status, pytest_rule = rule("allow", "git", "commit", rule_id="c"), rule("allow", "pytest", rule_id="p")
    assert bash("git commit -m 'all done'", "accept_edits", status) == "allow"
    assert bash('git commit -m "$MESSAGE"', "accept_edits", status) == "allow"
    assert bash("ls && git commit -m x | cat", "accept_edits", status) == "allow"
    assert bash("pytest -q && git commit -m x", "accept_edits", status, pytest_rule) == "allow"
    assert bash("pytest -q && git commit -m x", "accept_edits", status) == "ask"
    assert bash("git commit -m x > out", "accept_edits", status) == "ask"
    assert bash("GIT_EDITOR=x git commit", "accept_edits", status) == "ask"
    assert bash('git commit -m "$(rm x)"', "accept_edits", status) == "ask"
    assert bash("git -c a=b commit", "accept_edits", status) == "ask"
    assert bash("git commitx", "accept_edits", status) == "ask"
    assert bash("/tmp/git commit", "accept_edits", status) == "ask"
    assert bash("$G commit", "accept_edits", status) == "ask"
    assert bash("pytest", "ask", pytest_rule) == "allow"
    assert bash("ls; pytest", "ask", pytest_rule) == "ask"
    assert bash("pytest", "plan", pytest_rule) == "deny"
    assert bash("echo a > b; if x; then rm y; fi", "accept_edits", rule("allow")) == "allow"


@pytest.mark.parametrize(
    ("prefix", "exact", "longer"),
    [
        (("env",), "env", "env rm -rf x"),
        (("python3", "a.py"), "python3 a.py", "python3 a.py b"),
        (("xargs",), "xargs", "xargs rm"),
        (("find", "."), "find . -delete", "find . -exec rm {} +"),
        (("bash",), "bash", "bash -c 'rm x'"),
        (("sudo",), "sudo", "sudo rm x"),
        (("rm", "-f", "build/x"), "rm -f build/x", "rm -f build/x src"),
        (("git",), "git", "git -c alias.x='!rm y' x"),
        (("npm",), "npm", "npm exec evil"),
        (("npm",), "npm", "npm --prefix=. exec evil"),
        (("python3.11",), "python3.11", "python3.11 -c x"),
    ],
)
def test_runners_and_destroyers_are_allowed_as_a_whole_only(prefix: tuple[str, ...], exact: str, longer: str) -> None:
    allowed = rule("allow", *prefix)
    if tuple(exact.split()) == prefix and prefix != ("npm",):
        assert bash(exact, "accept_edits", allowed) == "allow"
    assert bash(longer, "accept_edits", allowed) == "ask"


@pytest.mark.parametrize(
    "command",
    [
        "rm x", "ls; rm x", "ls | rm", "(rm x)", "ls $(rm x)", "/bin/rm x", "r''m x", "\\rm x", "sudo rm x",
        "env A=1 rm x", "xargs rm",
        "bash -c 'rm x'", "sh -c \"ls; rm x\"", "eval 'rm x'", "find . -exec rm {} +", "time rm x",
        "if a; then rm x; fi",
        "f() { rm x; }", "for i in a; do rm $i; done", "cat <<EOF\n$(rm x)\nEOF", "ls (; rm x", "X=1 rm x",
        "rm x > y", "ls\nrm x",
    ],
)  # fmt: skip
@pytest.mark.parametrize("mode", get_args(Mode))
def test_a_deny_rule_finds_its_command_anywhere(command: str, mode: Mode) -> None:
    assert bash(command, mode, rule("deny", "rm"), rule("allow"), rule("allow", "rm", rule_id="z")) == "deny"


@pytest.mark.parametrize("command", ["$X -rf y", "ls ('", "rm* x", "r{m,x} y", "`echo rm` x"])
def test_what_a_deny_rule_cannot_see_asks_even_when_everything_is_allowed(command: str) -> None:
    assert bash(command, "accept_all", rule("deny", "rm")) == "ask"
    assert bash(command, "accept_all") == "allow"


def test_a_deny_rule_leaves_the_rest_alone() -> None:
    deny = rule("deny", "git", "push")
    assert bash("git status", "accept_edits", deny) == "allow"
    assert bash("git push", "accept_all", deny) == "deny"
    assert bash("git pull", "accept_all", deny) == "allow"
    assert bash("echo git push", "accept_all", deny) == "allow"


def test_an_ask_rule_asks_where_the_mode_would_not() -> None:
    assert bash("ls", "accept_edits", rule("ask", "ls"), rule("allow", "ls", rule_id="a")) == "ask"
    assert ruling("read_file", {"path": "keys/a"}, rules=[rule("ask", tool="read_file", path="keys")]).action == "ask"
    assert bash("ls", "accept_all", rule("ask", "ls")) == "allow"


def test_paths_of_rules_are_resolved(tmp_path: Path) -> None:
    (tmp_path / "secrets").mkdir()
    (tmp_path / "open").mkdir()
    (tmp_path / "open" / "way").symlink_to(tmp_path / "secrets")
    deny, allow = (
        rule("deny", tool="write_file", path="secrets/"),
        rule("allow", tool="write_file", path="open", rule_id="a"),
    )

    def write(path: str, *rules: PermissionRule, mode: Mode = "ask") -> str:
        return ruling("write_file", {"path": path, "content": ""}, mode, rules, workspace=str(tmp_path)).action

    for path in ("secrets/a", "./secrets/a", "open/../secrets/a", "open/way/a", f"{tmp_path}/secrets/a", "secrets"):
        assert write(path, deny, allow, mode="accept_all") == "deny", path
    assert write("open/a", allow) == "allow"
    assert write("open", allow) == "allow"
    for path in ("open/way/a", "open/../x", "opened/a", "a", "../open/a", "/open/a"):
        assert write(path, allow) == "ask", path
    absolute = rule("allow", tool="write_file", path=f"{tmp_path}/open")
    assert write("open/a", absolute) == "allow"
    assert write("open/a", rule("allow", tool="write_file", path="/elsewhere")) == "ask"


def test_reading_a_folder_is_denied_when_a_part_of_it_is() -> None:
    deny = [rule("deny", tool="grep", path="secrets")]
    assert ruling("grep", {"pattern": "x"}, rules=deny).action == "deny"
    assert ruling("grep", {"pattern": "x", "path": "secrets/deep"}, rules=deny).action == "deny"
    assert ruling("grep", {"pattern": "x", "path": "src"}, rules=deny).action == "allow"


def test_a_rule_of_another_tool_or_workspace_says_nothing() -> None:
    assert bash("make", "accept_edits", rule("allow", tool="write_file")) == "ask"
    assert bash("make", "accept_edits", replace(rule("allow", "make"), workspace="/elsewhere")) == "ask"
    assert bash("make", "accept_edits", replace(rule("allow", "make"), workspace=f"{WORKSPACE}/")) == "allow"
    assert bash("make", "accept_edits", replace(rule("allow", "make"), path_prefix="x")) == "ask"


def test_files_of_git_ask_in_accept_edits() -> None:
    for path in (".git/hooks/pre-commit", "sub/.git/config", ".GIT/config"):
        assert ruling("write_file", {"path": path, "content": ""}).action == "ask"
    assert ruling("write_file", {"path": ".gitignore", "content": ""}).action == "allow"


def test_arguments_that_do_not_fit_are_denied_with_the_field() -> None:
    decision = ruling("write_file", {"path": "a"}, "accept_all")
    assert decision.action == "deny"
    assert "'content'" in decision.reason
    assert ruling("bash", {"command": 3}, "accept_all").action == "deny"


@pytest.mark.parametrize(
    ("command", "offered"),
    [
        ("git commit -m x", [("git", "commit", "-m", "x"), ("git", "commit")]),
        ("pytest -q tests", [("pytest", "-q", "tests"), ("pytest",)]),
        ("ls && pytest -q | head", [("pytest", "-q"), ("pytest",)]),
        ("pytest a && pytest b", [("pytest",)]),
        ("npm test", [("npm", "test")]),
        ("make check", [("make", "check")]),
        ("python3 a.py", [("python3", "a.py")]),
        ("env make", [("env", "make")]),
        ("rm -rf build", [("rm", "-rf", "build")]),
        ("git push", [("git", "push")]),
        ("pytest $X", [("pytest",)]),
        ("python3 $X", []),
        ("pytest && make", []),
        ("pytest > out", []),
        ("X=1 pytest", []),
        ("$X", []),
        ("ls (", []),
    ],
)
def test_what_always_allow_offers(command: str, offered: list[tuple[str, ...]]) -> None:
    decision = ruling("bash", {"command": command})
    assert decision.action == "ask"
    assert [suggestion.argv_prefix for suggestion in decision.suggestions] == offered
    for suggestion in decision.suggestions:
        assert suggestion.workspace == WORKSPACE
        assert bash(command, "accept_edits", suggestion) == "allow", "what is offered must settle the call"


def test_edits_offer_the_file_and_its_folder() -> None:
    decision = ruling("write_file", {"path": "src/deep/a.py", "content": ""}, "ask")
    assert [each.path_prefix for each in decision.suggestions] == ["src/deep/a.py", "src/deep"]
    for suggestion in decision.suggestions:
        assert ruling("write_file", {"path": "src/deep/a.py", "content": ""}, "ask", [suggestion]).action == "allow"
    assert ruling("write_file", {"path": "../a", "content": ""}, "ask").suggestions == ()


def test_matching_one_rule_for_the_rule_tester() -> None:
    def matches(command: str, action: Action, *argv: str) -> bool:
        return rule_matches(rule(action, *argv), declaration("bash"), {"command": command}, workspace=WORKSPACE)

    assert matches("pytest -q", "allow", "pytest")
    assert not matches("pytest -q; rm x", "allow", "pytest")
    assert matches("pytest -q; rm x", "deny", "rm")
    assert not matches("pytest", "deny", "rm")


def test_rules_read_as_sentences() -> None:
    assert explain_rule(rule("allow", "git", "commit")) == (
        "Always allow the command 'git commit' with any arguments after it in every workspace."
    )
    assert explain_rule(replace(rule("allow", "env", "ls"), workspace="/w")) == (
        "Always allow the command 'env ls', exactly as it is in the workspace '/w'."
    )
    assert explain_rule(rule("deny", tool="write_file", path="secrets/")) == (
        "Never allow write_file on 'secrets' and what is below it in every workspace."
    )
    assert explain_rule(rule("ask", tool="write_file")) == "Always ask before write_file in every workspace."


COMMANDS = st.sampled_from([
    "ls", "rm -rf x", "git status", "git status && rm x", "pytest", "python3 -c 1", "ls > a", "$X", "ls (",
    "make; ls", "bash -c 'rm x'",
])  # fmt: skip
ARGV = st.sampled_from([None, ("ls",), ("rm",), ("git", "status"), ("pytest",), ("python3",), ("make",), ("bash",), ()])
PATHS = st.sampled_from(["a", "src/a.py", "../x", "/etc/passwd", ".git/config", "src", ""])
RULES = st.lists(
    st.builds(
        PermissionRule,
        id=st.text("abc", min_size=1, max_size=3),
        action=st.sampled_from(get_args(Action)),
        tool=st.sampled_from(["bash", "write_file", "read_file", "grep"]),
        argv_prefix=ARGV,
        path_prefix=st.sampled_from([None, None, "src", ".", "a"]),
        workspace=st.sampled_from([None, WORKSPACE, "/elsewhere"]),
    ),
    max_size=5,
)
CALLS = st.one_of(
    st.tuples(st.just("bash"), st.fixed_dictionaries({"command": COMMANDS})),
    st.tuples(st.just("write_file"), st.fixed_dictionaries({"path": PATHS, "content": st.just("x")})),
    st.tuples(st.sampled_from(["read_file", "grep"]), st.fixed_dictionaries({"path": PATHS})),
)
MODES = st.sampled_from(get_args(Mode))


@settings(deadline=None)
@given(CALLS, MODES, RULES, RULES, st.booleans())
def test_more_deny_rules_never_loosen(
    call: tuple[str, dict[str, Any]], mode: Mode, rules: list[PermissionRule], more: list[PermissionRule], tainted: bool
) -> None:
    before = ruling(*call, mode, rules, tainted=tainted)
    denies = [replace(each, action="deny") for each in more]
    after = ruling(*call, mode, [*rules, *denies], tainted=tainted)
    assert STRICTNESS[after.action] >= STRICTNESS[before.action]


@settings(deadline=None)
@given(CALLS, MODES, RULES.filter(lambda rules: len({each.id for each in rules}) == len(rules)), st.booleans())
def test_the_order_of_rules_does_not_matter(
    call: tuple[str, dict[str, Any]], mode: Mode, rules: list[PermissionRule], tainted: bool
) -> None:
    decisions = [
        ruling(*call, mode, order, tainted=tainted) for order in itertools.islice(itertools.permutations(rules), 12)
    ]
    assert all(decision == decisions[0] for decision in decisions)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.characters(categories=["Cs"]), st.lists, max_leaves=4
)


@settings(deadline=None)
@given(
    st.sampled_from([*BUS.names(), None]),
    st.dictionaries(st.sampled_from(["command", "path", "content", "x", "\ud800"]), JSON),
    MODES,
    RULES,
    st.booleans(),
    st.text(max_size=5),
)
def test_deciding_never_raises(
    name: str | None, arguments: dict[str, Any], mode: Mode, rules: list[PermissionRule], tainted: bool, workspace: str
) -> None:
    tool = declaration(name) if name is not None else None
    decision = decide(tool, arguments, mode=mode, rules=rules, workspace=workspace, tainted=tainted)
    assert decision.action in STRICTNESS


@settings(deadline=None)
@given(st.text(max_size=30), st.sampled_from([" && ", "; ", " | ", " || ", "\n", " & "]))
def test_no_status_rule_lets_a_removal_through(text: str, joint: str) -> None:
    allowed = rule("allow", "git", "status")
    assert (
        bash(f"git status {text}{joint}rm -rf x", "accept_edits", allowed) != "allow"
        or "#" in text
        or "'" in text
        or '"' in text
    )
    assert bash(f"git status{joint}rm -rf x{text}", "accept_edits", allowed) != "allow"


def test_every_effect_is_known_to_the_gate() -> None:
    assert set(get_args(Effect)) == {"read", "write", "execute", "network", "ask"}
