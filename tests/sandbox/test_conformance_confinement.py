"""What a command cannot touch, at the levels that confine. The last test shows that the attempts are real."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from logician_graph.sandbox import IsolationLevel, Sandbox
from logician_graph.sandbox.launcher import landlock
from tests.sandbox.conftest import Runner, sandbox_or_skip

CONNECT = """
import socket, sys
s = socket.socket({family}, {kind})
s.settimeout(3)
s.connect({address})
s.send(b"hello")
print("reached")
"""


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "secrets.toml").write_text("key = 'canary-0451'", encoding="utf-8")
    return folder


@pytest.fixture
def listener() -> Iterator[tuple[int, list[bytes]]]:
    """A TCP and a UDP listener on the same loopback port and what they heard."""
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(type=socket.SOCK_DGRAM) as udp:
        port = int(tcp.getsockname()[1])
        udp.bind(("127.0.0.1", port))
        tcp.settimeout(0.1)
        udp.settimeout(0.1)
        over = threading.Event()

        def listen() -> None:
            while not over.is_set():
                for receive in (lambda: tcp.accept()[0], lambda: udp.recv(99)):
                    try:
                        got = receive()
                    except TimeoutError:
                        continue
                    if isinstance(got, socket.socket):
                        got.close()
                        got = b"tcp"
                    heard.append(got)

        thread = threading.Thread(target=listen)
        thread.start()
        yield port, heard
        over.set()
        thread.join()


ATTEMPTS_TO_WRITE = {
    "redirect": "echo x > {outside}/new",
    "append": "echo x >> {outside}/secrets.toml",
    "truncate": "truncate -s 0 {outside}/secrets.toml",
    "remove": "rm -f {outside}/secrets.toml",
    "rename": "echo x > mine; mv mine {outside}/new",
    "link": "ln {outside}/secrets.toml stolen && echo x > stolen",
    "symlink": "ln -s {outside} way && echo x > way/new",
    "mkdir": "mkdir {outside}/new",
    "temporary": "echo x > /tmp/logician-test-new",
    "root": "echo x > /logician-test-new; echo x > /etc/logician-test-new; echo x > /usr/logician-test-new",
}


@pytest.mark.parametrize("attempt", ATTEMPTS_TO_WRITE.values(), ids=ATTEMPTS_TO_WRITE.keys())
async def test_nothing_outside_can_be_written(confining: Sandbox, run: Runner, outside: Path, attempt: str) -> None:
    await run(confining, attempt.format(outside=outside))
    assert [path.name for path in outside.iterdir()] == ["secrets.toml"]
    assert "canary" in (outside / "secrets.toml").read_text(encoding="utf-8")
    for folder in ("/tmp", "/", "/etc", "/usr"):
        assert not Path(folder, "logician-test-new").exists()


async def test_a_readable_folder_is_not_writable(confining: Sandbox, run: Runner, outside: Path) -> None:
    result = await run(confining, f"cat {outside}/secrets.toml && echo x > {outside}/new", readable=(outside,))
    assert result.exit_code != 0
    assert "canary" in run.output
    assert not (outside / "new").exists()


async def test_secrets_outside_cannot_be_read(confining: Sandbox, run: Runner, outside: Path) -> None:
    (run.workspace / "way").symlink_to(outside)
    await run(
        confining,
        f"cat {outside}/secrets.toml way/secrets.toml ../home/secrets.toml; ls {outside}; cat /etc/shadow; "
        f"ls ~root /root; exec 3< {outside}/secrets.toml; cat <&3; cp {outside}/secrets.toml here; cat here",
    )
    assert "canary" not in run.output
    assert "root:" not in run.output
    assert "secrets.toml\n" not in run.output.replace("secrets.toml: Permission", "").replace("'", "")


@pytest.mark.parametrize("kind", ["SOCK_STREAM", "SOCK_DGRAM"])
async def test_the_network_cannot_be_reached(
    confining: Sandbox, run: Runner, listener: tuple[int, list[bytes]], kind: str
) -> None:
    port, heard = listener
    program = CONNECT.format(family="socket.AF_INET", kind=f"socket.{kind}", address=("127.0.0.1", port))
    result = await run(confining, ["python3", "-c", program])
    assert result.exit_code == 1
    assert "PermissionError" in run.output
    assert heard == []


@pytest.mark.parametrize("kind", ["SOCK_STREAM", "SOCK_DGRAM"])
async def test_ipv6_cannot_be_reached(confining: Sandbox, run: Runner, kind: str) -> None:
    program = CONNECT.format(family="socket.AF_INET6", kind=f"socket.{kind}", address=("::1", 9))
    result = await run(confining, ["python3", "-c", program])
    assert result.exit_code == 1
    assert "PermissionError" in run.output


async def test_no_port_can_be_opened(confining: Sandbox, run: Runner) -> None:
    result = await run(confining, ["python3", "-c", "import socket; socket.create_server(('127.0.0.1', 0))"])
    assert result.exit_code == 1
    assert "PermissionError" in run.output


async def test_a_socket_of_another_service_cannot_be_reached(confining: Sandbox, run: Runner, tmp_path: Path) -> None:
    address = f"{tmp_path}/s"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(address)
        server.listen()
        server.settimeout(0.1)
        program = CONNECT.format(family="socket.AF_UNIX", kind="socket.SOCK_STREAM", address=repr(address))
        await run(confining, ["python3", "-c", program])
        assert "reached" not in run.output
        with pytest.raises(TimeoutError):
            server.accept()


async def test_the_network_works_where_the_policy_allows_it(
    sandbox: Sandbox, run: Runner, listener: tuple[int, list[bytes]]
) -> None:
    port, heard = listener
    for kind in ("SOCK_STREAM", "SOCK_DGRAM"):
        program = CONNECT.format(family="socket.AF_INET", kind=f"socket.{kind}", address=("127.0.0.1", port))
        result = await run(sandbox, ["python3", "-c", program], network=True)
        assert result.exit_code == 0, run.output
    for _ in range(30):
        if len(heard) == 2:
            break
        threading.Event().wait(0.1)
    assert sorted(heard) == [b"hello", b"tcp"]


async def test_other_processes_are_out_of_reach(confining: Sandbox, run: Runner) -> None:
    me = os.getpid()
    await run(
        confining,
        f"""python3 - <<'END'
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
print("ptrace", libc.ptrace(16, {me}, 0, 0))
print("unshare", libc.unshare(0x10000000))
print("io_uring", libc.syscall(425, 8, ctypes.create_string_buffer(120)))
try:
    os.kill({me}, 0)
    print("kill 0")
except OSError:
    print("kill -1")
END""",
    )
    lines = run.output.splitlines()
    expected = ["ptrace -1", "unshare -1", "io_uring -1"]
    assert lines[:3] == expected
    if confining.level is IsolationLevel.FULL or landlock.version() >= 6:
        assert lines[3] == "kill -1"


async def test_the_weakest_level_is_as_open_as_its_warning_says(
    run: Runner, outside: Path, listener: tuple[int, list[bytes]]
) -> None:
    sandbox = sandbox_or_skip(IsolationLevel.RLIMITS)
    await run(sandbox, f"cat {outside}/secrets.toml; echo x > {outside}/new")
    assert "canary" in run.output
    assert (outside / "new").exists()
    port, _ = listener
    program = CONNECT.format(family="socket.AF_INET", kind="socket.SOCK_STREAM", address=("127.0.0.1", port))
    await run(sandbox, ["python3", "-c", program])
    assert "reached" in run.output
