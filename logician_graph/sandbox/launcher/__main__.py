"""Entry of the launcher: ``python -I -S launcher/ JOB_FILE`` with the control pipe as stdin, the output's as stdout.

Invariants: the command never sees the job, the control pipe or the report pipe; the report's last line is written
after the last process of the command is gone; if this process cannot do its work it reports an ``error``.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import types


def _house_without_its_init() -> None:
    """Make ``logician_graph.sandbox.launcher`` importable without running the packages' own ``__init__``.

    Those import what the app needs (asyncio and more), which would cost every command tens of milliseconds.
    """
    folder = __file__.rpartition("/")[0]
    name = "logician_graph.sandbox.launcher"
    while name:
        package = types.ModuleType(name)
        package.__path__ = [folder]
        sys.modules[name] = package
        name, folder = name.rpartition(".")[0], folder.rpartition("/")[0]


def main(job_file: str) -> None:
    """Run the job to its end and report."""
    _house_without_its_init()
    from logician_graph.sandbox.launcher.job import Job, Report
    from logician_graph.sandbox.launcher.processes import become_subreaper
    from logician_graph.sandbox.launcher.start import start
    from logician_graph.sandbox.launcher.supervise import supervise

    # Importing pathlib would add a tenth to the start of every command.
    with open(job_file, encoding="utf-8") as file:  # noqa: PTH123
        job: Job = json.load(file)
    os.unlink(job_file)  # noqa: PTH108
    os.set_inheritable(job["report_fd"], False)
    control = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)

    def report(part: Report) -> None:
        os.write(job["report_fd"], json.dumps(part).encode() + b"\n")

    become_subreaper()
    try:
        # Python ignores these; a command must not inherit that (``yes | head`` ends by the first).
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        started = start(job)
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    except Exception as error:  # noqa: BLE001 -- whatever it was, the app is told
        report({"error": str(error) or type(error).__name__})
        return
    try:
        report({"pid": started.pid})
        report(supervise(started, control, job))
    except BrokenPipeError:
        # The app is gone, so nobody else removes the command's private folder.
        import shutil

        shutil.rmtree(job_file.rpartition("/")[0], ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1])
    # sandlock's threads would otherwise be waited for.
    os._exit(0)
