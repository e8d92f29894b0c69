"""Starting the command under one isolation level. Each starter returns the command's first process.

The levels differ only here: watching, stopping and cleaning up are the same for all (:mod:`.supervise`).
"""

from __future__ import annotations

import os
import sys
from _socket import AF_UNIX, CMSG_SPACE, SCM_RIGHTS, SOCK_STREAM, SOL_SOCKET, socket, socketpair
from typing import NamedTuple, NoReturn

from logician_graph.sandbox.launcher import capabilities, forkgate, landlock, limits, seccomp
from logician_graph.sandbox.launcher.job import Job


class Started(NamedTuple):
    """The command's first process, and the listener of its fork gate where it has one."""

    pid: int
    gate: int | None


def start(job: Job) -> Started:
    """Start the job's command; raises OSError with a text for a person when it cannot be started."""
    if job["level"] == "full":
        return Started(_start_full(job), None)
    return _start_forked(job)


def _start_full(job: Job) -> int:
    """Through sandlock: its supervisor runs in threads of this process and confines files, network and processes."""
    sys.path += job["import_path"]
    from sandlock import Sandbox  # pyright: ignore[reportMissingTypeStubs]
    from sandlock.sandbox import StdioMode  # pyright: ignore[reportMissingTypeStubs]

    # sandlock has no limit for file sizes; its child inherits ours.
    limits.limit_files(job["file_bytes"])
    everywhere = ["tcp://*:*", "udp://*:*"] if job["network"] else []
    sandbox = Sandbox(
        fs_readable=job["readable"],
        fs_writable=job["writable"],
        cwd=job["cwd"],
        clean_env=True,
        env=job["env"],
        net_allow=everywhere,
        net_allow_bind=["*"] if job["network"] else [],
        max_memory=job["memory_bytes"],
        max_processes=job["processes"],
    )
    try:
        process = sandbox.popen(job["argv"], stdin=StdioMode.NULL)
    except Exception as error:
        raise OSError(f"sandlock could not start the command: {error}") from error
    _keep_alive.append(process)
    pid = process.pid
    if pid is None:
        raise OSError("sandlock could not start the command: it has no pid")
    return pid


_keep_alive: list[object] = []
"""sandlock frees the child when its handle is collected."""


def _start_forked(job: Job) -> Started:
    """Fork, confine the child with the kernel's own means, execute."""
    ours, childs = socketpair(AF_UNIX, SOCK_STREAM)
    pid = os.fork()
    if pid == 0:
        ours.close()
        try:
            _become_command(job, childs)
        except BaseException as error:  # noqa: BLE001 -- this copy of the process must end here
            childs.send(b"!" + (str(error) or repr(error)).encode(errors="replace")[:4000])
            os._exit(127)
    childs.close()
    text, gate = _hear(ours)
    if text:
        os.waitpid(pid, 0)
        raise OSError(text)
    return Started(pid, gate)


def _hear(child: socket) -> tuple[str, int | None]:
    """What the child says until it executes the command: why it failed, and its gate's listener."""
    text, gate = b"", None
    while True:
        received, extras, _, _ = child.recvmsg(4096, CMSG_SPACE(4))
        for _, _, data in extras:
            gate = int.from_bytes(data[:4], sys.byteorder)
            os.set_inheritable(gate, False)
        if not received:
            child.close()
            return text.partition(b"!")[2].decode(errors="replace"), gate
        text += received


def _become_command(job: Job, launcher: socket) -> NoReturn:
    os.setsid()
    os.chdir(job["cwd"])
    limits.limit_files(job["file_bytes"])
    limits.limit_memory(job["memory_bytes"])
    if job["level"] == "landlock":
        capabilities.drop_all_but_files()
        landlock.confine(readable=job["readable"], writable=job["writable"], network=job["network"])
        seccomp.install(network=job["network"])
        _raise_gate(launcher)
    else:
        # The weakest level takes what it can get; its warning promises nothing.
        try:
            landlock.no_new_privileges()
            _raise_gate(launcher)
        except (OSError, AttributeError):
            pass
    os.execvpe(job["argv"][0], job["argv"], job["env"])  # noqa: S606 -- running it is the purpose


def _raise_gate(launcher: socket) -> None:
    listener = forkgate.install()
    launcher.sendmsg([b"g"], [(SOL_SOCKET, SCM_RIGHTS, listener.to_bytes(4, sys.byteorder))])
    os.close(listener)
