"""How one sample comes about: ask, read, measure, and show the model its error once."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from random import Random
from typing import Any

from logician_graph.eoh.asking import Asker, fingerprint
from logician_graph.eoh.code import code_key
from logician_graph.eoh.desk import StudyDesk
from logician_graph.eoh.evaluator import Evaluator
from logician_graph.eoh.operators import Parent, Prompt, Task, build_prompt, build_repair, has_thought
from logician_graph.eoh.plan import RULES, Proposal
from logician_graph.eoh.reply import Reply, ReplyFailure, parse_reply
from logician_graph.eoh.types import Evaluation
from logician_graph.errors import ContextOverflow, ModelNotReady, ProviderUnavailable, RequestRejected
from storage import Exchange, Sample, now

FIRST_WAIT_S, LONGEST_WAIT_S = 5.0, 60.0
"""How long to wait for a provider that is away."""
_MENDABLE = frozenset({"failed", "rejected", "infeasible"})
_NOT_ITS_FAULT = frozenset({"crashed", "cancelled"})


def task_of(desk: StudyDesk) -> Task:
    """What the model is told about the problem."""
    problem = desk.problem
    return Task(
        function=problem.signature.name,
        arguments=tuple(problem.signature.arguments),
        description=problem.description,
        returns=problem.returns,
        imports=problem.imports,
        example=problem.seed or "",
    )


class Sampler:
    """Makes samples of one study. Many may be under way."""

    def __init__(
        self, desk: StudyDesk, asker: Asker, evaluator: Evaluator, bar: Callable[[str, int], float | None]
    ) -> None:
        self._desk, self._asker, self._evaluator, self._bar = desk, asker, evaluator, bar
        self._task = task_of(desk)
        self._calls = asyncio.Semaphore(desk.options.calls)
        self._known = {(each.n, each.attempt): each for each in desk.store.exchanges(desk.study.id)}
        """Exchanges of samples that are not recorded yet, from before an interruption."""
        self._measured: dict[str, int] = {}
        for sample in desk.samples.values():
            self.remember(sample)

    def remember(self, sample: Sample) -> None:
        """Let a recorded sample's measurement serve for later ones with the same code."""
        if sample.phase == "recorded" and sample.code_key and sample.same_as is None and sample.outcome != "crashed":
            self._measured.setdefault(sample.code_key, sample.n)

    async def make(self, proposal: Proposal, sample: Sample) -> None:
        """Fill ``sample`` as far as it is not: its code, then its measurement. Raises ProviderError, UsageError."""
        rules = RULES[self._desk.options.schedule]
        if sample.code is None or sample.phase == "proposed":
            sample.tries = 0
            sample.input_tokens = sample.output_tokens = sample.cost_usd = None
            sample.model_seconds = 0.0
            await self._written(proposal, sample, rules.reply_tries, rules.duplicate_tries)
            if sample.code is None or sample.outcome is not None:
                return
            sample.phase = "replied"
            self._desk.write(rows=[sample])
        await self._measure(sample)
        if self._desk.options.repairs and sample.outcome in _MENDABLE and sample.tries < rules.reply_tries + 1:
            await self._mended(proposal, sample)

    async def _written(self, proposal: Proposal, sample: Sample, tries: int, again: int) -> None:
        parents = [Parent(each.thought, each.code) for each in map(self._desk.individual, proposal.parents)]
        first = prompt = build_prompt(proposal.operator, self._task, parents)
        failures = 0
        while True:
            found = await self._asked(proposal, sample, prompt)
            if isinstance(found, Reply):
                self._take(sample, proposal, found)
                if not (again and self._in_population(found.code)):
                    return
                again -= 1
                prompt = first
                continue
            failures += 1
            sample.outcome, sample.error = "generation_failed", found.message
            if failures >= tries:
                sample.code, sample.thought = found.code, found.thought
                return
            thought = has_thought(proposal.operator)
            prompt = build_repair(self._task, found.code, found.message, thought=thought)

    async def _mended(self, proposal: Proposal, sample: Sample) -> None:
        """One request that shows what went wrong; a better end replaces the first one, a worse does not."""
        before = sample.model_copy()
        prompt = build_repair(self._task, sample.code, sample.error or "", thought=has_thought(proposal.operator))
        found = await self._asked(proposal, sample, prompt)
        if isinstance(found, ReplyFailure):
            return
        self._take(sample, proposal, found)
        sample.notes = [f"repaired once, after: {before.error}", *(sample.notes or [])]
        await self._measure(sample)
        if sample.outcome not in ("valid", "cut"):
            for name in ("code", "thought", "outcome", "error", "objective", "per_instance", "code_key", "same_as"):
                setattr(sample, name, getattr(before, name))

    def _take(self, sample: Sample, proposal: Proposal, found: Reply) -> None:
        sample.outcome = sample.error = None
        sample.code, sample.code_key = found.code, code_key(found.code)
        sample.notes = list(found.notes) or None
        kept = self._desk.samples[int(proposal.parents[0])].thought if proposal.operator == "M3" else ""
        sample.thought = found.thought or kept

    def _in_population(self, code: str) -> bool:
        return any(
            sample.code == code and sample.verdict == "entered" and sample.left_record is None
            for sample in self._desk.samples.values()
        )

    async def _asked(self, proposal: Proposal, sample: Sample, prompt: Prompt) -> Reply | ReplyFailure:
        options = self._desk.options
        attempt = sample.tries
        seed = Random(f"reply/{options.seed}/{sample.n}/{attempt}").getrandbits(31)  # noqa: S311 - reproducible
        request: dict[str, Any] = {
            "system": prompt.system,
            "user": prompt.user,
            "temperature": options.temperature_of(proposal.operator),
            "max_output_tokens": options.max_output_tokens,
            "seed": seed,
        }
        known = self._known.pop((sample.n, attempt), None)
        if known is not None and known.request_sha256 == fingerprint(request) and known.model == sample.model:
            exchange = known  # asked before an interruption; its cost was counted then
            sample.tries += 1
        else:
            try:
                exchange = await self._answered(sample, attempt, request)
            except (RequestRejected, ContextOverflow) as error:
                sample.tries += 1
                return ReplyFailure("no_code", f"The model refused the request: {error}")
            exchange.study_id = self._desk.study.id
            self._desk.account(sample, exchange)
            self._desk.write(rows=[exchange, sample])
        signature = self._desk.problem.signature
        found = parse_reply(
            exchange.reply, signature.name, list(signature.arguments), imports=self._desk.problem.imports
        )
        if isinstance(found, ReplyFailure) and exchange.finish_reason == "length":
            words = f"the reply was cut at {options.max_output_tokens} tokens; {found.message}"
            return ReplyFailure(found.kind, words, found.line, None, found.thought)
        return found

    async def _answered(self, sample: Sample, attempt: int, request: dict[str, Any]) -> Exchange:
        """Ask until the provider answers: one that is away is waited for, and the study says so."""
        wait = FIRST_WAIT_S
        while True:
            try:
                async with self._calls:
                    return await self._asker.ask(sample.model or "", sample.n, attempt, request)
            except (ProviderUnavailable, ModelNotReady) as error:
                event = {"n": sample.n, "model": sample.model, "error": str(error), "wait_s": wait}
                self._desk.write([("study.waiting", event)])
                await asyncio.sleep(wait)
                wait = min(wait * 2, LONGEST_WAIT_S)

    async def _measure(self, sample: Sample) -> None:
        code, key = sample.code or "", sample.code_key or ""
        earlier = self._desk.samples.get(self._measured.get(key, -10_000_000))
        if earlier is not None and earlier.n != sample.n:
            sample.same_as = earlier.n
            for name in ("outcome", "objective", "per_instance", "error", "output"):
                setattr(sample, name, getattr(earlier, name))
            return
        bar = self._bar(code, sample.island) if self._desk.options.cuts else None
        found = await self._evaluator.evaluate(code, cut_above=bar)
        if found.status in _NOT_ITS_FAULT:
            found = await self._evaluator.evaluate(code, cut_above=bar)
        write_evaluation(sample, found)


def write_evaluation(sample: Sample, found: Evaluation) -> None:
    """Put what was measured into a sample."""
    sample.per_instance = [value if value is None or math.isfinite(value) else None for value in found.per_instance]
    sample.objective, sample.error = found.objective, found.error
    sample.outcome = "cut" if found.stage == "cut" else found.status
    sample.output = found.output
    sample.seconds = round(sample.seconds + found.seconds, 4)
    sample.cpu_seconds = round(sample.cpu_seconds + found.cpu_seconds, 4)
    if sample.outcome == "valid" and (found.objective is None or not math.isfinite(found.objective)):
        sample.outcome, sample.objective = "failed", None
        sample.error = f"its objective is {found.objective}, not a number"


def fresh(study_id: str, proposal: Proposal, model: str | None) -> Sample:
    """The row of a proposal."""
    return Sample(
        study_id=study_id,
        n=proposal.index,
        operator=proposal.operator,
        generation=proposal.generation,
        island=proposal.island,
        parents=[int(name) for name in proposal.parents],
        model=model,
        proposed_at=now(),
    )
