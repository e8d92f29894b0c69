"""The ``logician`` command: its options, and one clear line for whatever goes wrong.

Exit codes: 0 completed, 1 failed, 2 the command line is wrong, 3 needs a person, 4 blocked by a limit or a rule,
130 stopped. What a subcommand does is in :mod:`logician_graph.commands`, imported only when it is chosen.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn, get_args

from logician_graph import __version__
from logician_graph.commands.exit_codes import ExitCode
from logician_graph.errors import LogicianError, UsageError
from logician_graph.redaction import redact

_EXIT_CODES = """\
exit codes:
  0    the run completed (and every --verify command passed)
  1    it failed
  2    the command line is wrong; nothing was started
  3    it needs a person: an approval, or an answer to a question
  4    it was blocked by a limit, such as --max-turns
  130  it was stopped by Ctrl-C or SIGTERM; the result is still printed
"""
_EXAMPLES = """\
examples:
  logician exec "List the Python files and say what each is for"
  logician exec "Make the tests pass" --workspace . --mode accept_all --verify "pytest -q"
  git diff | logician exec - --json
"""

Handler = Callable[[argparse.Namespace], int]


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line; the long help is for ``--help``."""

    def error(self, message: str) -> NoReturn:
        self.exit(ExitCode.USAGE, f"{self.prog}: {message}. See '{self.prog} --help'.\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command. Returns the exit code."""
    options = _parser().parse_args(arguments)
    handler: Handler = options.handler
    try:
        return int(handler(options))
    except UsageError as error:
        return _complain(error, ExitCode.USAGE)
    except LogicianError as error:
        return _complain(error, ExitCode.FAILED)
    except KeyboardInterrupt:
        return ExitCode.CANCELLED
    except BrokenPipeError:  # whoever read along has left; nothing may be written at exit either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.CANCELLED
    except Exception as error:
        if not _is_expected(error):
            raise
        return _complain(error, ExitCode.FAILED)


def _complain(error: Exception, code: ExitCode) -> int:
    print(f"logician: {redact(str(error))}", file=sys.stderr)
    return code


def _is_expected(error: Exception) -> bool:
    from storage import StorageError  # loads SQLAlchemy, which `--help` need not wait for

    return isinstance(error, StorageError)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="logician",
        description="A browser workbench for agent work that is measured, not claimed.",
        epilog="Settings come from the environment and the settings page; docs/settings.md lists them.",
    )
    parser.add_argument("--version", action="version", version=f"logician {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_run(commands)
    _add_exec(commands)
    _add_doctor(commands)
    _add_model(commands)
    _add_eoh(commands)
    return parser


def _add_run(commands: Any) -> None:
    run = commands.add_parser(
        "run", help="serve the workbench", description="Serve the workbench, as `python app.py` does."
    )
    run.add_argument("--host", help="address to listen on (LOGICIAN_HOST; default 127.0.0.1)")
    run.add_argument("--port", type=_port, help="port to listen on (LOGICIAN_PORT; default 8501)")
    run.set_defaults(handler=_run)


def _add_exec(commands: Any) -> None:
    command = commands.add_parser(
        "exec",
        help="do one task without the browser",
        description="Do one task with the same engine as the workbench, and tell it on stdout.",
        epilog=f"{_EXAMPLES}\n{_EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("task", metavar="TASK", help="what is to be done; - reads it from stdin")
    command.add_argument(
        "--json", action="store_true", help="one event envelope a line, and last the result (see docs/http-api.md)"
    )
    command.add_argument(
        "--workspace", type=Path, metavar="DIR", help="folder to work in (LOGICIAN_WORKSPACE; default HOME/workspace)"
    )
    command.add_argument(
        "--mode",
        choices=get_args(_modes()),
        help="what passes without a person (LOGICIAN_MODE; default accept_edits)",
    )
    command.add_argument(
        "--verify",
        action="append",
        default=[],
        metavar="CMD",
        help="shell command that must exit 0 before the run counts as completed; may be given again",
    )
    command.add_argument("--max-turns", type=_positive, metavar="N", help="model calls the run may make")
    command.add_argument(
        "--model", metavar="REF", help="local:ID of the catalogue, endpoint:NAME, or the plain name of either"
    )
    command.set_defaults(handler=_exec)


def _add_doctor(commands: Any) -> None:
    doctor = commands.add_parser(
        "doctor",
        help="check this machine and say how to mend what is wrong",
        description="Check Python, packages, home folder, disk, database, sandbox, model, provider and port. "
        "Exits 0 when nothing is broken, else 1; warnings do not count.",
    )
    doctor.add_argument("--json", action="store_true", help="the report as JSON")
    doctor.set_defaults(handler=_doctor)


def _add_model(commands: Any) -> None:
    model = commands.add_parser("model", help="local models: list, download, verify", description="Local models.")
    actions = model.add_subparsers(title="actions", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="the catalogue, and what of it is here")
    listing.add_argument("--json", action="store_true", help="the list as JSON")
    listing.set_defaults(handler=_model_list)
    pull = actions.add_parser(
        "pull", help="download a model", description="Download a model, going on where an earlier download stopped."
    )
    pull.add_argument("id", nargs="?", metavar="ID", help="id in the catalogue; default: the model in the settings")
    pull.add_argument(
        "--if-needed", action="store_true", help="do nothing when a provider is configured or the model is here"
    )
    pull.set_defaults(handler=_model_pull)
    verify = actions.add_parser("verify", help="compare the files that are here with the catalogue's SHA-256")
    verify.add_argument("id", nargs="?", metavar="ID", help="id in the catalogue; default: every model that is here")
    verify.set_defaults(handler=_model_verify)


def _add_eoh(commands: Any) -> None:
    eoh = commands.add_parser(
        "eoh", help="evolve heuristics, score and export them", description="Evolution of heuristics."
    )
    actions = eoh.add_subparsers(title="actions", metavar="ACTION", required=True)

    def action(name: str, words: str, handler: Handler, *, study: bool = True, as_json: bool = True) -> Any:
        parser = actions.add_parser(name, help=words, description=words[0].upper() + words[1:] + ".")
        if study:
            parser.add_argument("study", metavar="STUDY", help="id of the study; see `logician eoh list`")
        if as_json:
            parser.add_argument("--json", action="store_true", help="JSON on stdout")
        parser.set_defaults(handler=handler)
        return parser

    action("list", "the studies of this home", _eoh("list_studies"), study=False)
    action("problems", "the problems that can be evolved on", _eoh("list_problems"), study=False)
    init = action("init", "make a new problem folder", _eoh("init"), study=False, as_json=False)
    init.add_argument("name", metavar="NAME", help="id of the problem: letters, digits and _")
    init.add_argument("--folder", type=Path, metavar="DIR", help="where to put it; default HOME/problems")
    run = action("run", "begin a study and work on it here", _eoh("run"), study=False)
    run.add_argument("problem", metavar="PROBLEM", help="id of a problem, or its folder")
    _study_limits(run)
    run.add_argument("--schedule", help="paper, official-0.1, official-0.2 or logician (default)")
    run.add_argument("--size", type=_positive, metavar="N", help="places in the population")
    run.add_argument("--generations", type=_positive, metavar="N")
    run.add_argument("--parents", type=_positive, metavar="N", help="parents that E1 and E2 see")
    run.add_argument("--population", choices=("single", "islands", "map_elites"))
    run.add_argument("--seed", type=int, default=0, metavar="N")
    run.add_argument("--title", default="")
    _study_limits(action("resume", "go on with a study", _eoh("resume")))
    action("status", "where a study stands", _eoh("status"))
    action("best", "the best heuristic of a study", _eoh("best"))
    export = action("export", "a heuristic as a Python module", _eoh("export"), as_json=False)
    export.add_argument("--sample", type=int, metavar="N", help="number of the sample; default: the best")
    action("replay", "repeat a study from its recorded replies, without a model", _eoh("replay"))
    score = action("score", "what a candidate file is worth", _eoh("score"), study=False)
    score.add_argument("problem", metavar="PROBLEM", help="id of a problem, or its folder")
    score.add_argument("candidate", type=Path, metavar="CANDIDATE.py")
    score.add_argument("--instances", type=Path, action="append", default=[], metavar="FILE")
    score.add_argument("--set", dest="set_name", metavar="NAME", help="a set of the problem; default: train")


def _study_limits(parser: Any) -> None:
    parser.add_argument("--model", action="append", dest="models", metavar="MODEL", help="may be given several times")
    parser.add_argument("--samples", type=_positive, metavar="N", help="stop after so many samples")
    parser.add_argument("--tokens", type=_positive, metavar="N")
    parser.add_argument("--max-cost", type=float, dest="cost_usd", metavar="USD")
    parser.add_argument("--hours", type=float, metavar="H")
    parser.add_argument("--workers", type=_positive, metavar="N", help="candidates measured at once")


def _eoh(name: str) -> Handler:
    def handler(options: argparse.Namespace) -> int:
        from logician_graph.commands import evolution

        command: Handler = getattr(evolution, name)
        return command(options)

    return handler


def _run(options: argparse.Namespace) -> int:
    from logician_graph.commands.serve import serve

    serve(options.host, options.port)


def _exec(options: argparse.Namespace) -> int:
    from logician_graph.commands.execute import Task, execute

    text = sys.stdin.read() if options.task == "-" else options.task
    return execute(
        Task(
            text=text,
            json=options.json,
            workspace=options.workspace,
            mode=options.mode,
            verify=tuple(options.verify),
            max_turns=options.max_turns,
            model=options.model,
        )
    )


def _doctor(options: argparse.Namespace) -> int:
    from logician_graph.commands.doctor import doctor

    return doctor(as_json=options.json)


def _model_list(options: argparse.Namespace) -> int:
    from logician_graph.commands.models import list_models

    return list_models(as_json=options.json)


def _model_pull(options: argparse.Namespace) -> int:
    from logician_graph.commands.models import pull_model

    return pull_model(options.id, if_needed=options.if_needed)


def _model_verify(options: argparse.Namespace) -> int:
    from logician_graph.commands.models import verify_models

    return verify_models(options.id)


def _modes() -> Any:
    from logician_graph.settings import PermissionMode

    return PermissionMode


def _positive(text: str) -> int:
    return _number(text, 1, None)


def _port(text: str) -> int:
    return _number(text, 0, 65535)


def _number(text: str, least: int, most: int | None) -> int:
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least or (most is not None and number > most):
        limits = f"from {least} to {most}" if most is not None else f"of at least {least}"
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number {limits}")
    return number
