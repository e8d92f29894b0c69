"""The child process that holds the weights: ``python -m logician_graph.inference.llama_child``.

It reads one line of JSON from stdin (:class:`ChildOptions`; the key never appears in argv or the environment), starts
llama.cpp's server on a free loopback port, answers with one line of JSON on stdout, ``{"port": …}`` or
``{"error": …}``, and serves until stdin ends or its parent dies. Everything else that it or llama.cpp prints goes to
stderr, which the parent points at a log file.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import signal
import sys
import threading
import time
from dataclasses import asdict, dataclass
from typing import Any, TextIO

_PR_SET_PDEATHSIG = 1
_PARENT_CHECK_S = 1.0
_PROMPT_CACHE_MIB = 512
"""Idle conversations whose state is kept in memory; llama.cpp's default is 8 GiB."""
_SLEEP_AFTER_S = 900
"""Seconds without a request after which llama.cpp frees the weights; the next request loads them again."""
_WARNINGS = 2


@dataclass(frozen=True, slots=True)
class ChildOptions:
    """What the child serves and with how much of the machine."""

    model_path: str
    api_key: str
    alias: str
    n_ctx: int
    """Tokens of context in all, split evenly over the slots."""
    n_parallel: int
    n_threads: int
    """For writing, token by token."""
    n_threads_prompt: int
    """For reading the prompt, hundreds of tokens at a time."""
    seed: int = 0

    def to_line(self) -> str:
        """The line that goes to the child's stdin."""
        return json.dumps(asdict(self)) + "\n"


def main() -> None:
    """Serve until the parent goes away."""
    parent = os.getppid()
    _die_with_parent()
    answers = _keep_stdout_for_answers()
    options = ChildOptions(**json.loads(sys.stdin.readline()))
    threading.Thread(target=_watch_parent, args=(parent,), daemon=True).start()
    try:
        server = _serve(options)
        port = int(str(server.listening_address).rpartition(":")[2].strip("/"))
    except Exception as error:  # noqa: BLE001 - whatever llama.cpp raised is the answer; the parent ends the start
        _answer(answers, {"error": f"{type(error).__name__}: {error}"})
        os._exit(1)
    _answer(answers, {"port": port})
    sys.stdin.read()
    os._exit(0)


def _serve(options: ChildOptions) -> Any:
    xllamacpp: Any = importlib.import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = options.model_path
    params.model_alias = {options.alias}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [options.api_key]
    params.n_ctx = options.n_ctx
    params.n_parallel = options.n_parallel
    params.cpuparams.n_threads = options.n_threads
    params.cpuparams_batch.n_threads = options.n_threads_prompt
    params.use_jinja = True
    params.cache_prompt = True
    params.cache_ram_mib = _PROMPT_CACHE_MIB
    params.sleep_idle_seconds = _SLEEP_AFTER_S
    params.ctx_shift = False
    params.verbosity = _WARNINGS
    params.ui = False
    params.endpoint_slots = False
    params.sampling.seed = options.seed
    return xllamacpp.Server(params)


def _keep_stdout_for_answers() -> TextIO:
    """The real stdout for answers; descriptor 1 becomes stderr, for llama.cpp prints there too."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return answers


def _answer(answers: TextIO, message: dict[str, Any]) -> None:
    answers.write(json.dumps(message) + "\n")
    answers.close()


def _die_with_parent() -> None:
    """Linux: the kernel kills this process when the parent's thread ends. Elsewhere stdin and the watch must do."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _watch_parent(parent: int) -> None:
    """stdin does not end while another child of the parent has inherited it, so the parent's id is watched too."""
    while os.getppid() == parent:
        time.sleep(_PARENT_CHECK_S)
    os._exit(1)


if __name__ == "__main__":
    main()
