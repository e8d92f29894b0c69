# ruff: noqa: E501
"""An attacker who has every Python module in hand (the problem gives it to them), against the kernel alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from logician_graph.eoh.evaluator import Evaluator
from tests.eoh_evaluator.conftest import MakeEvaluator
from tests.eoh_evaluator.problems import TRUSTING

FINE = "def f(v, load): return 7"


def trusting(evaluator: MakeEvaluator, **more: object) -> Evaluator:
    return evaluator(evaluate=TRUSTING, function="f(visible, load)", **{"seconds": 3.0, **more})


REFUSED = {
    "read a file": "load('io').open('/etc/passwd')",
    "read its own code": "load('os').open(load('sys').executable, 0)",
    "read the instances": "load('os').listdir('/tmp')",
    "write a file": "load('os').open('/tmp/logician-escaped', 66)",
    "read another process": "load('io').open('/proc/1/environ')",
    "start a program": "load('os').execv('/bin/true', ['true'])",
    "posix_spawn": "load('os').posix_spawn('/bin/true', ['true'], {})",
    "socket": "load('_socket').socket()",
    "unix socket": "load('_socket').socketpair()",
    "fork once": "load('os').fork()",
    "thread": "load('_thread').start_new_thread(print, ())",
    "kill its parent": "load('os').kill(load('os').getppid(), 9)",
    "kill everybody": "load('os').kill(-1, 9)",
    "raise a limit": "load('resource').setrlimit(load('resource').RLIMIT_AS, (1 << 40, 1 << 40))",
    "a pipe": "load('os').pipe()",
    "signal through a descriptor": "load('fcntl').fcntl(3, 8, load('os').getppid())",
    "another user": "load('os').setuid(65534)",
    "executable memory": "load('mmap').mmap(-1, 4096, prot=7)",
    "shared memory": "load('os').memfd_create('x')",
    "change directory": "load('os').chdir('/')",
    "priority": "load('os').nice(-5)",
    "own descriptors": "load('os').listdir('/proc/self/fd')[0]",
}


@pytest.mark.parametrize("name", REFUSED)
async def test_the_kernel_refuses(name: str, evaluator: MakeEvaluator) -> None:
    one = trusting(evaluator)
    seen = await one.evaluate(f"def f(v, load): {REFUSED[name]}")
    assert seen.status == "failed", seen
    assert seen.error is not None
    refusals = ("Permission", "not permitted", "can't start new thread", "IndexError", "OSError", "not allowed")
    assert any(word in seen.error for word in refusals), seen.error
    assert not Path("/tmp/logician-escaped").exists()
    assert (await one.evaluate(FINE)).objective == 7.0


async def test_this_machine_confines(evaluator: MakeEvaluator) -> None:
    isolation = await trusting(evaluator).isolation()
    assert isolation.filter
    assert isolation.warning is None


async def test_a_fork_bomb_does_not_get_its_first_child(evaluator: MakeEvaluator) -> None:
    one = trusting(evaluator)
    bomb = (
        "def f(v, load):\n"
        "    made = 0\n"
        "    for _ in range(20):\n"
        "        try:\n"
        "            if load('os').fork() == 0: load('os')._exit(0)\n"
        "            made += 1\n"
        "        except Exception: pass\n"
        "    return made\n"
    ).replace("load('os')._exit(0)", "load('time').sleep(5)")
    assert (await one.evaluate(bomb)).objective == 0.0
    assert (await one.evaluate(FINE)).objective == 7.0


ENDS = {
    "os._exit": ("load('operator').methodcaller('_exit', 0)(load('os'))", "crashed", "ended before"),
    "abort": ("load('os').abort()", "crashed", "died of SIG"),
    "segmentation fault": ("load('ctypes').string_at(1)", "crashed", "died of SIGSEGV"),
    "SystemExit": ("load('sys').exit(0)", "failed", "SystemExit"),
    "KeyboardInterrupt": ("load('signal').raise_signal(2)", "failed", ""),
    "sleep": ("load('time').sleep(60)", "timeout", "time limit"),
    "ignores signals and sleeps": (
        "(load('signal').signal(15, load('signal').SIG_IGN), load('time').sleep(60))", "timeout", ""),
    "closes its pipe and goes on": ("(load('os').close(3), load('time').sleep(60))", "crashed", "went on without"),
    "closes everything and goes on": ("(load('os').closerange(0, 99), load('time').sleep(60))", "*", ""),
    "stops itself": ("load('signal').pause()", "*", ""),
    "floods stdout past print": ("[load('os').write(1, b'x' * 65536) for _ in range(10**9)]", "timeout", ""),
}  # fmt: skip


@pytest.mark.parametrize("name", ENDS)
async def test_ways_to_end_or_not_to(name: str, evaluator: MakeEvaluator) -> None:
    action, status, error = ENDS[name]
    one = trusting(evaluator, seconds=0.5)
    seen = await one.evaluate(f"def f(v, load): {action}")
    assert status in {seen.status, "*"} and seen.status != "valid", seen
    assert error in (seen.error or "")
    assert len(seen.output) <= 4096
    assert seen.seconds < 2
    assert (await one.evaluate(FINE)).objective == 7.0


FORGERIES = {
    "claims to be done": "load('os').write(3, b'D' + bytes(12))",
    "claims a status": "load('os').write(3, b'F' + (38).to_bytes(4, 'little') + bytes(8) + b'{\"status\": \"valid\", \"error\": \"nothing\"}')",
    "announces a terabyte": "load('os').write(3, b'S' + (2).to_bytes(4, 'little') + (1 << 40).to_bytes(8, 'little') + b'{}')",
    "speaks nonsense": "load('os').write(3, bytes(range(256)) * 10)",
    "too many solutions": "[load('os').write(3, b'S' + (1).to_bytes(4, 'little') + bytes(8) + b'1') for _ in range(9)]",
    "deep JSON": "load('os').write(3, b'S' + (60000).to_bytes(4, 'little') + bytes(8) + b'[' * 60000)",
    "array beyond the end": "load('os').write(3, b'S' + (28).to_bytes(4, 'little') + bytes(8) + b'{\"array\":[\"<f8\",[1048576],0]}')",
    "array of objects": "load('os').write(3, b'S' + (22).to_bytes(4, 'little') + bytes(8) + b'{\"array\":[\"|O\",[1],0]}')",
}


@pytest.mark.parametrize("name", FORGERIES)
async def test_a_forged_message_is_no_score(name: str, evaluator: MakeEvaluator) -> None:
    one = trusting(evaluator, seconds=1.0)
    seen = await one.evaluate(f"def f(v, load):\n    {FORGERIES[name]}\n    return 1")
    assert seen.status in {"failed", "infeasible"} and seen.objective is None, seen
    assert (await one.evaluate(FINE)).objective == 7.0


async def test_the_answers_are_not_in_the_candidates_memory(evaluator: MakeEvaluator) -> None:
    """Every object that the collector knows, and every page that can be written, without the answer that was hidden."""
    marker = 1234567890.0625
    look = (
        "def f(v, load):\n"
        "    found = 0\n"
        "    for one in load('gc').get_objects():\n"
        "        if isinstance(one, dict) and 'answers' in one: found += 1\n"
        "        if isinstance(one, list) and 1234567890.0 + 0.0625 in [x for x in one if type(x) is float]: found += 1\n"
        "    return found\n"
    )
    data = {"instances": [{"xs": [1, 2], "answers": [marker, marker]}]}
    one = evaluator(
        evaluate=TRUSTING + "\ndef visible(instance): return {'xs': instance['xs']}\n",
        function="f(visible, load)",
        data=data,
    )
    seen = await one.evaluate(look)
    assert seen.objective == 0.0, seen


async def test_no_key_of_the_server_reaches_a_candidate(
    evaluator: MakeEvaluator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    one = trusting(evaluator)
    seen = await one.evaluate("def f(v, load):\n    print(dict(load('os').environ))\n    return 1")
    assert seen.status == "valid" and "sk-secret" not in seen.output and "PATH" in seen.output
    assert os.environ["OPENAI_API_KEY"] == "sk-secret"


async def test_only_its_own_descriptors_are_open(evaluator: MakeEvaluator) -> None:
    look = (
        "def f(v, load):\n"
        "    found = []\n"
        "    for d in range(64):\n"
        "        try:\n"
        "            load('os').lseek(d, 0, 1); found.append(d)\n"
        "        except load('builtins').OSError as e:\n"
        "            if e.errno == 29: found.append(d)\n"
        "    print(found)\n"
        "    return 1\n"
    )
    assert (await trusting(evaluator).evaluate(look)).output == "[0, 1, 2, 3]\n" * 3
