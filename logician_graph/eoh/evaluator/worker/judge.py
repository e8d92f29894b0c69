"""Watching one candidate: its time, its solutions as they come, what they measure, and when to stop it.

This is where a score comes from. The candidate's process only hands in solutions; they are measured here, in a process
that it cannot reach. Time spent measuring is not the candidate's.
"""

from __future__ import annotations

import json
import math
import os
import select
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from logician_graph.eoh.evaluator.worker import candidate, wire
from logician_graph.eoh.evaluator.worker.nursery import Ended, Nursery
from logician_graph.eoh.problem_code import ProblemCode

MAX_OUTPUT = 4096
"""Bytes of output that are kept; what comes after is read and forgotten, so that nobody waits for it."""
_MAX_TEXT = 1000
_CHUNK = 1 << 18
_CUT_TOLERANCE = 1e-9
"""Relative; a bound and an objective are summed in different orders, and a tie must not be cut."""


class Outcome(NamedTuple):
    """Why a candidate is done."""

    status: str
    error: str | None = None
    stage: str = "full"


class Judge:
    """One candidate after the other on the instances of one problem."""

    def __init__(self, code: ProblemCode, nursery: Nursery, control: int, *, maximise: bool) -> None:
        self._code = code
        self._nursery = nursery
        self._control = control
        self._maximise = maximise
        self._sets: dict[str, list[Any]] = {}
        self._calls: dict[str, int | None] = {}

    def keep(self, name: str, instances: list[Any]) -> int:
        """Take a set of instances; candidates get what the problem lets them see. Returns how many there are."""
        visible = [self._code.visible(instance) for instance in instances]
        self._nursery.keep(name, visible)
        self._sets[name] = instances
        self._calls[name] = sum(map(self._code.calls, visible)) if self._code.calls else None
        return len(instances)

    def evaluate(self, task: candidate.Task, set_name: str, cut_above: float | None) -> dict[str, Any]:
        """The fields of an Evaluation. Raises EOFError when the server is gone."""
        instances = self._sets[set_name]
        cut = None if cut_above is None else self._cut(instances, cut_above)
        watch = _Watch(instances, self._code.measure, cut)
        result, result_there = os.pipe()
        output, output_there = os.pipe()
        started = time.monotonic()
        self._nursery.run(replace(task, calls=self._calls[set_name]), set_name, result_there, output_there)
        os.close(result_there)
        os.close(output_there)
        outcome: Outcome | None = Outcome("cancelled")
        try:
            outcome = watch.follow(result, output, self._control, started + task.seconds)
        finally:
            ended = self._nursery.end(expected=outcome is None)
        seconds = time.monotonic() - started
        watch.last_words(output)
        os.close(result)
        os.close(output)
        outcome = outcome or _death(ended)
        objective = None
        if outcome.status == "valid" and outcome.stage == "full":
            outcome, objective = self._objective(watch.values, instances)
        return {
            "status": outcome.status,
            "objective": objective,
            "per_instance": [*watch.values, *[None] * (len(instances) - len(watch.values))],
            "seconds": seconds,
            "cpu_seconds": ended.cpu_seconds,
            "error": None if outcome.error is None else _printable(outcome.error),
            "stage": outcome.stage,
            "output": _printable(watch.output.decode(errors="replace"), MAX_OUTPUT),
        }

    def _objective(self, values: list[float], instances: list[Any]) -> tuple[Outcome, float | None]:
        try:
            objective = float(self._code.objective(values, instances))
        except Exception as error:  # noqa: BLE001 -- the problem's own code; told with the candidate
            return Outcome("failed", f"the objective cannot be computed: {type(error).__name__}: {error}"), None
        if not math.isfinite(objective):
            return Outcome("failed", f"the objective is {objective}, a finite number was expected"), None
        return Outcome("valid"), objective

    def _cut(self, instances: list[Any], limit: float) -> Callable[[list[float]], bool] | None:
        bound = self._code.partial_bound
        if bound is None:
            return None
        margin = _CUT_TOLERANCE * max(1.0, abs(limit))

        def hopeless(values: list[float]) -> bool:
            reached = bound(list(values), instances)
            return reached < limit - margin if self._maximise else reached > limit + margin

        return hopeless


class _Watch:
    """Reads what one candidate writes until there is an outcome."""

    def __init__(
        self, instances: list[Any], measure: Callable[[Any, Any], float], cut: Callable[[list[float]], bool] | None
    ) -> None:
        self._instances = instances
        self._measure = measure
        self._cut = cut
        self._pending = bytearray()
        self._measuring = 0.0
        self.values: list[float] = []
        self.output = bytearray()

    def follow(self, result: int, output: int, control: int, deadline: float) -> Outcome | None:
        """None: its process ended without a word."""
        poll = select.poll()
        for descriptor in (result, output, control):
            poll.register(descriptor, select.POLLIN)
        while True:
            left = deadline + self._measuring - time.monotonic()
            if left <= 0:
                return Outcome("timeout", "it did not end within its time limit")
            ready = [descriptor for descriptor, _ in poll.poll(left * 1000 + 1)]
            if control in ready:
                wire.receive_message(control)
                return Outcome("cancelled")
            if output in ready and not self._listen(output):
                poll.unregister(output)
            if result in ready:
                data = os.read(result, _CHUNK)
                if not data:
                    return None
                self._pending += data
                if (outcome := self._read()) is not None:
                    return outcome

    def last_words(self, output: int) -> None:
        """What is left in the pipe when nobody writes to it any more."""
        os.set_blocking(output, False)
        try:
            while len(self.output) < MAX_OUTPUT and self._listen(output):
                pass
        except BlockingIOError:
            return

    def _listen(self, output: int) -> bool:
        data = os.read(output, _CHUNK)
        self.output += data[: MAX_OUTPUT - len(self.output)]
        return bool(data)

    def _read(self) -> Outcome | None:
        """Take every whole frame from what has come."""
        header = wire.HEADER.size
        while len(self._pending) >= header:
            kind, text_size, raw_size = wire.HEADER.unpack_from(self._pending)
            if text_size > wire.MAX_JSON or raw_size > wire.MAX_RAW:
                return Outcome("failed", f"the solution is too large: {text_size + raw_size} bytes")
            end = header + text_size + raw_size
            if len(self._pending) < end:
                return None
            text = bytes(self._pending[header : header + text_size])
            raw = bytes(self._pending[header + text_size : end])
            del self._pending[:end]
            if (outcome := self._take(kind, text, raw)) is not None:
                return outcome
        return None

    def _take(self, kind: bytes, text: bytes, raw: bytes) -> Outcome | None:
        if kind == wire.FAILURE:
            return _failure(text)
        complete = len(self.values) == len(self._instances)
        if kind == wire.DONE and complete:
            return Outcome("valid")
        if kind != wire.SOLUTION or complete:
            return Outcome("failed", "it handed in something that is no solution")
        started = time.monotonic()
        try:
            return self._measured(text, raw)
        finally:
            self._measuring += time.monotonic() - started

    def _measured(self, text: bytes, raw: bytes) -> Outcome | None:
        number = len(self.values)
        try:
            value = float(self._measure(wire.decode(text, raw), self._instances[number]))
        except ValueError as error:
            return Outcome("infeasible", f"instance {number}: {error}")
        except Exception as error:  # noqa: BLE001 -- a solution of any form may reach the problem's own code
            return Outcome(
                "failed", f"instance {number}: its solution cannot be measured: {type(error).__name__}: {error}"
            )
        if not math.isfinite(value):
            return Outcome("failed", f"instance {number}: its measure is {value}, a finite number was expected")
        self.values.append(value)
        last = len(self.values) == len(self._instances)
        return Outcome("valid", stage="cut") if self._cut and not last and self._cut(self.values) else None


def _failure(text: bytes) -> Outcome:
    """What the candidate's process says about itself: a status it may claim, and words."""
    try:
        said = json.loads(text)
        status, error = said["status"], said["error"]
    except (ValueError, RecursionError, TypeError, KeyError):
        status, error = "failed", "it gave no reason"
    if status not in {"failed", "rejected", "memory", "timeout"} or not isinstance(error, str):
        status, error = "failed", "it gave no reason"
    return Outcome(status, error)


def _death(ended: Ended) -> Outcome:
    if ended.stopped:
        return Outcome("crashed", "its process went on without a way to hand in its solutions")
    if ended.code is None:
        return Outcome("crashed", "its process could not be started: the system has no room for another")
    if ended.code == -signal.SIGXCPU:
        return Outcome("timeout", "it did not end within its time limit")
    if ended.code == -signal.SIGKILL:
        return Outcome("crashed", "its process was killed from outside, most likely because memory ran out")
    if ended.code < 0:
        return Outcome("crashed", f"its process died of {signal.Signals(-ended.code).name}")
    return Outcome("crashed", "its process ended before it handed in its solutions")


def _printable(text: str, limit: int = _MAX_TEXT) -> str:
    """Without what could move a terminal's cursor or break a log line; layout stays."""
    kept = "".join(one if one.isprintable() or one in "\n\t" else "\ufffd" for one in text[: limit + 1])
    return kept if len(kept) <= limit else f"{kept[:limit]}…"
