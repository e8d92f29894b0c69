"""Starting the launcher for one command: its private folder, its job, its pipes. Synchronous; called in a thread.

The launcher lives exactly as long as its control pipe: whoever closes it, or dies holding it, ends the command.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from logician_graph.errors import SandboxError
from logician_graph.sandbox.environment import child_environment, git_identity, search_path
from logician_graph.sandbox.grants import system_readable, system_writable
from logician_graph.sandbox.launcher.job import Job
from logician_graph.sandbox.output import open_output
from logician_graph.sandbox.types import IsolationLevel, SandboxPolicy

_LAUNCHER = Path(__file__).parent / "launcher"


@dataclass(frozen=True, slots=True)
class Command:
    """What the caller of ``run`` asked for."""

    argv: Sequence[str]
    cwd: Path
    policy: SandboxPolicy
    output_path: Path
    env: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Launch:
    """A running launcher and what belongs to it."""

    process: subprocess.Popen[bytes]
    report: int
    """Read end of the report pipe; it ends when the launcher does."""
    pipe: int
    """Read end of the command's output. A pipe, so that ``> /dev/stderr`` opens it again as in a terminal: a file that
    lies outside of what the command may write would be refused, and one inside would be emptied."""
    output: int
    """The file that keeps the output."""
    private: Path
    """Folder with the command's home and scratch folder; removed afterwards."""
    marker: str

    def tell(self, how: bytes) -> None:
        """Say on the control pipe how to stop."""
        if self.process.stdin is not None:
            with contextlib.suppress(OSError, ValueError):
                self.process.stdin.write(how)
                self.process.stdin.flush()

    def close(self) -> None:
        """Give everything up; a command that still runs is ended by its launcher."""
        if self.process.stdin is not None:
            with contextlib.suppress(OSError):
                self.process.stdin.close()
        os.close(self.report)
        os.close(self.pipe)
        os.close(self.output)


def launch(level: IsolationLevel, command: Command) -> Launch:
    """Start the launcher; raises SandboxError when that is not possible, leaving nothing behind."""
    private = Path(tempfile.mkdtemp(prefix="logician-"))
    with contextlib.ExitStack() as undo:
        undo.callback(remove, private)
        try:
            output = open_output(command.output_path)
        except OSError as error:
            path = str(command.output_path)
            raise SandboxError(f"The output file {path!r} cannot be made: {error.strerror}.") from error
        undo.callback(os.close, output)
        marker = secrets.token_hex(8)
        report_read, report_write = os.pipe()
        undo.callback(os.close, report_read)
        pipe_read, pipe_write = os.pipe()
        undo.callback(os.close, pipe_read)
        try:
            job_file = private / "job.json"
            job_file.write_text(json.dumps(_job(level, command, private, marker, report_write)), encoding="utf-8")
            process = _popen(job_file, pipe_write, report_write, private)
        finally:
            os.close(report_write)
            os.close(pipe_write)
        undo.pop_all()
    os.set_blocking(report_read, False)
    os.set_blocking(pipe_read, False)
    return Launch(process, report_read, pipe_read, output, private, marker)


def remove(folder: Path) -> None:
    """Remove ``folder`` although a command may have taken its own rights to parts of it."""

    def retry(function: Callable[[str], object], path: str, _error: object) -> None:
        with contextlib.suppress(OSError):
            Path(path).parent.chmod(stat.S_IRWXU)
            Path(path).chmod(stat.S_IRWXU)
            function(path)

    shutil.rmtree(folder, onerror=retry)


def _popen(job_file: Path, output: int, report: int, private: Path) -> subprocess.Popen[bytes]:
    # As good as empty: a command may be able to read it. sandlock asks for a home, which not every user has.
    passed_on = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
    try:
        return subprocess.Popen(
            [sys.executable, "-I", "-S", str(_LAUNCHER), str(job_file)],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            cwd="/",
            env={"HOME": str(private), **passed_on},
            pass_fds=(report,),
            start_new_session=True,
        )
    except OSError as error:
        raise SandboxError(f"The command's supervisor could not be started: {error}.") from error


def _job(level: IsolationLevel, command: Command, private: Path, marker: str, report: int) -> Job:
    policy = command.policy
    if not command.cwd.is_dir():
        raise SandboxError(f"The folder {str(command.cwd)!r} does not exist; create it or choose another.")
    for path in policy.writable:
        if not path.exists():
            raise SandboxError(f"The writable path {str(path)!r} does not exist; create it or choose another.")
    home, scratch = private / "home", private / "tmp"
    home.mkdir()
    scratch.mkdir()
    (home / ".gitconfig").write_text(git_identity(command.cwd), encoding="utf-8")
    writable = [*_real(policy.writable), *_real((home, scratch)), *map(str, system_writable())]
    readable = [*map(str, system_readable()), *_real(policy.readable)]
    roots = None if level is IsolationLevel.RLIMITS else [Path(path) for path in (*readable, *writable)]
    path = search_path(os.environ, roots)
    environment = child_environment(os.environ, command.env, path=path, home=home, scratch=scratch, marker=marker)
    return Job(
        level=level.value,
        argv=[_program(command.argv, environment["PATH"]), *command.argv[1:]],
        cwd=os.path.realpath(command.cwd),
        env=environment,
        writable=writable,
        readable=readable,
        network=policy.network,
        memory_bytes=policy.memory_bytes,
        processes=policy.processes,
        file_bytes=policy.file_bytes,
        report_fd=report,
        import_path=[entry for entry in sys.path if entry] if level is IsolationLevel.FULL else [],
    )


def _program(argv: Sequence[str], path: str) -> str:
    """Absolute path of the program; raises SandboxError naming it when it is not there."""
    if not argv:
        raise SandboxError("There is no command to run.")
    if "/" in argv[0]:
        return argv[0]
    found = shutil.which(argv[0], path=path)
    if found is None:
        raise SandboxError(f"The program {argv[0]!r} is not on the PATH of sandboxed commands ({path}).")
    return found


def _real(paths: Sequence[Path]) -> list[str]:
    return [os.path.realpath(path) for path in paths]
