"""Taking command lines apart: held against the real bash, and against everything that could hide a command."""

from __future__ import annotations

import subprocess
import tempfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logician_graph.tools.shell import parse

WORDS = [
    "plain",
    "'single quoted'",
    "'a\\b'",
    '"double quoted"',
    '"esc \\" \\\\ \\$ \\` end"',
    '"keeps \\n and \\x"',
    "mixed'single'\"double\"tail",
    "a\\ b",
    "\\-x",
    "--format='%H %s'",
    "''",
    '""',
    "x=1",
    "a,b",
    "1.5",
    "42",
    "-",
    "--",
    "a#b",
    '"two\nlines"',
    "'two\nlines'",
    "ü€",
    "'$HOME `id`'",
    "a:b@c%d+e",
    '"cost 5$"',
    "r''m",
    "\\r\\m",
]


@pytest.mark.parametrize("word", WORDS)
def test_words_are_what_bash_makes_of_them(word: str) -> None:
    command = f"printf %s\\\\0 first {word} last"
    real = subprocess.run(["bash", "-c", command], capture_output=True, check=True, timeout=10).stdout
    parsed = parse(f"printf %s\\\\0 first {word} last")
    assert parsed.problems == ()
    argv = [text for text in parsed.segments[0].argv[2:] if text is not None]
    assert [text.encode() for text in argv] == real.split(b"\0")[:-1]


@pytest.mark.parametrize(
    ("command", "programs"),
    [
        ("git status && rm -rf x", ["git", "rm"]),
        ("a | b || c; d & e", ["a", "b", "c", "d", "e"]),
        ("(cd x; rm y)", ["cd", "rm"]),
        ("{ rm y; }", ["rm"]),
        ("! rm y", ["rm"]),
        ("ls $(rm y)", ["rm", "ls"]),
        ("ls `rm y`", ["rm", "ls"]),
        ('ls "a $(rm y)"', ["rm", "ls"]),
        ("ls \"${X:-$(rm y)}\"", ["rm", "ls"]),
        ("diff <(rm a) >(rm b)", ["rm", "rm", "diff"]),
        ("cat <<EOF\n$(rm y)\nEOF", ["cat", "rm"]),
        ("cat <<< \"$(rm y)\"", ["rm", "cat"]),
        ("cat <<EOF | rm y\nx\nEOF", ["cat", "rm"]),
        ("X=$(rm y) ls", ["rm", "ls"]),
        ("X=$(rm y)", ["rm"]),
        ("if rm y; then ls; fi", ["rm", "ls"]),
        ("for i in 1 2; do rm $i; done", ["rm"]),
        ("while true; do rm y; done", ["true", "rm"]),
        ("case x in x) rm y;; esac", ["rm"]),
        ("f() { rm y; }; f", ["rm", "f"]),
        ("bash -c 'rm y; ls'", ["bash", "rm", "ls"]),
        ("bash -lc 'sh -c \"rm y\"'", ["bash", "sh", "rm"]),
        ("eval rm y", ["eval", "rm"]),
        ("ls\nrm y", ["ls", "rm"]),
        ("ls # && rm y", ["ls"]),
        ("echo 'x; rm y'", ["echo"]),
        ("[[ -f $(rm y) ]]", ["rm"]),
        ("echo $(( $(rm y) ))", ["rm", "echo"]),
    ],
)  # fmt: skip
def test_every_command_is_found(command: str, programs: list[str]) -> None:
    assert sorted(segment.program or "?" for segment in parse(command).segments) == sorted(programs)


@pytest.mark.parametrize(
    "command",
    [
        "ls > out", "ls >> out", "ls &> out", "ls >| out", "ls 2> err", "ls <> f", "ls >& out",
        "cat <<EOF > out\nx\nEOF",
        "PATH=. ls", "LD_PRELOAD=x ls", "IFS=x", "X=1", "export A=1", "unset A", "f() { ls; }", "a=(1 2)",
        "if true; then ls; fi", "for i in a; do ls; done", "[[ -f x ]]", "(( i++ ))", "echo $((1+1))", "coproc ls",
        "ls (", "ls 'open", "ls &&", "ls\r", "ls \x1b[0m", "echo $'a'", "sort <<EOF -o out\nx\nEOF", "sort < in -o out",
        "sort 2>&1 2", "r\\\nm x", "git status\n\\rm x", "cat <<EOF\nplain $X\nEOF", "uniq in >&1 5", "x" * 60_000,
    ],
)  # fmt: skip
def test_what_is_not_plainly_understood_is_a_problem(command: str) -> None:
    assert parse(command).problems != ()


@pytest.mark.parametrize(
    "command",
    [
        "ls 2>&1 | head",
        "ls > /dev/null 2>&1",
        "ls &",
        "cat < in",
        "NO_COLOR=1 ls",
        "cat <<EOF\nplain\nEOF",
        "ls # why",
        "ls \\\n  -l",
        "! ls",
    ],
)
def test_harmless_forms_are_no_problem(command: str) -> None:
    assert parse(command).problems == ()


def test_what_cannot_be_known_has_no_text() -> None:
    assert parse("$X y").segments[0].program is None
    assert parse('ls "$X" ${Y} $(id)').segments[-1].argv == ("ls", None, None, None)
    for pattern in ("*.py", "a?", "[ab]", "{a,b}", "~/x", "x*"):
        assert parse(f"ls {pattern}").segments[0].words[1].expands, pattern
    for literal in ("'*.py'", '"a?"', "'{a,b}'", '"~"'):
        assert not parse(f"ls {literal}").segments[0].words[1].expands, literal


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet=st.sampled_from(list("ab\\'\" -=#\n")), min_size=1, max_size=14))
def test_no_word_is_read_differently_from_bash(text: str) -> None:
    command = f"printf %s\\\\0 first {text}"
    line = parse(command)
    if line.problems or len(line.segments) != 1 or any(word.expands for word in line.segments[0].words):
        return
    real = subprocess.run(["/bin/bash", "-c", command], capture_output=True, timeout=10, env={"PATH": ""}, check=False)
    assert [(text or "").encode() for text in line.segments[0].argv[2:]] == real.stdout.split(b"\0")[:-1]


@given(st.text(alphabet=st.sampled_from(list("ab $(){}[]<>|&;'\"`\\\n#=*~!-0")), max_size=40))
def test_parsing_never_raises(command: str) -> None:
    parse(command)


@given(st.lists(st.text(alphabet="abc-_./ '\"$`\\*", min_size=1, max_size=8), min_size=1, max_size=5))
def test_quoted_words_come_back_whole(words: list[str]) -> None:
    import shlex

    line = parse(" ".join(["run", *(shlex.quote(word) for word in words)]))
    assert line.problems == ()
    assert line.segments[0].argv == ("run", *words)


PIECES = [
    *"abcd", " ", " ", " ", "\n", ";", "&&", "||", "|", "&", "$(", ")", "`", "<(", "(", "'", '"', "\\", "{", "}", "$x",
    "${x:-", "$((", "))", "<<E\n", "\nE\n", "<<<", "<", "> f", "2>&1", "#", "=", "!", "*", "\\\n", "==", "[[", "]]",
    "if ", "then ", "fi", "$'", "for i in ", "do ", "done", "case ", "esac", ";;", "()", "~", "-", "\t", "{a,b}", "&>",
]  # fmt: skip
LOG_INSTEAD = 'command_not_found_handle(){ printf "%s\\0" "$1" >&9; return 0; }; eval "$1"'


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(PIECES), min_size=2, max_size=9).map("".join))
def test_bash_runs_no_program_that_was_not_found(command: str) -> None:
    """The property that permissions rest on, held against the real shell. No program has these names: nothing runs."""
    line = parse(command)
    programs = {segment.program for segment in line.segments}
    if line.problems or None in programs or not set("abcd").intersection(command):
        return
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as log:
        subprocess.run(
            ["/bin/bash", "-c", f"exec 9>&{log.fileno()}; {LOG_INSTEAD}", "bash", command],
            cwd=folder, env={"PATH": "/nonexistent"}, pass_fds=[log.fileno()], stdin=subprocess.DEVNULL,
            capture_output=True, check=False, timeout=10,
        )  # fmt: skip
        log.seek(0)
        assert set(log.read().decode().split("\0")) - {""} <= programs


def test_characters_that_the_grammar_cannot_take_are_ordinary() -> None:
    for code in range(0x80, 0x110000, 251):
        parse("{" + chr(code))  # some of these end the process, where they reach the grammar's scanner
    assert [segment.argv for segment in parse("git add größe.txt 日本\u3000語 && echo 🎉").segments] == [
        ("git", "add", "größe.txt", "日本\u3000語"),
        ("echo", "🎉"),
    ]


@pytest.mark.parametrize("end", ["é", "'é'", "aé", '"ñ b"'])
def test_a_here_document_whose_end_is_not_ascii_is_not_understood(end: str) -> None:
    # The grammar cannot tell é from ñ, so it may end the document elsewhere than the shell does.
    assert parse(f"cat <<{end}\nñ\ncat <<Z\n{end}\nrm -rf x\nZ\n").hidden
