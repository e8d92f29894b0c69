"""Followers see every event once, in order, however late they come; many runs at once do not disturb each other."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

from logician_graph.orchestrator import TRANSIENT, fold
from logician_graph.settings import Settings
from storage import Change, Database, Run, RunLedger
from tests.orchestrator.harness import Harness

SCRIPT = 'call count {"text": "a"}; slow {"seconds": 0.2}\nsay slow 0.02 one two three four five six seven eight'


async def collect(h: Harness, run: Run, after: int = 0) -> list[dict[str, Any]]:
    return [item async for item in h.engine.follow(run.id, after)]


def settled(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [event for event in events if event["type"] not in TRANSIENT]


def test_two_followers_see_the_same_from_the_first_event(h: Harness) -> None:
    async def go() -> tuple[Run, list[list[dict[str, Any]]]]:
        run = h.ask(SCRIPT)
        return run, await asyncio.gather(collect(h, run), collect(h, run))

    run, (one, two) = asyncio.run(go())
    assert one == two
    assert [event["seq"] for event in one] == list(range(1, len(one) + 1))
    assert (one[0]["type"], one[-1]["type"]) == ("run.queued", "run.finished")
    assert {"text.delta", "tool.output"} <= {event["type"] for event in one}
    text = "".join(event["data"]["text"] for event in one if event["type"] == "text.delta")
    assert text == "one two three four five six seven eight"
    assert settled(one) == h.events(run)


def test_who_comes_late_sees_the_text_from_its_first_word(h: Harness) -> None:
    async def go() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        run = h.ask("say slow 0.05 one two three four five six seven eight nine ten")
        early = asyncio.create_task(collect(h, run))
        await asyncio.to_thread(h.event, run, "text.delta", 3)
        return await collect(h, run), await early

    late, early = asyncio.run(go())
    assert late == early


def test_following_goes_on_after_a_number(h: Harness) -> None:
    async def go() -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[dict[str, Any]]]:
        run = h.ask(SCRIPT)
        whole = await collect(h, run)
        return whole, await collect(h, run, after=3), await collect(h, run, after=whole[-1]["seq"])

    whole, rest, nothing = asyncio.run(go())
    assert rest == [event for event in settled(whole) if event["seq"] > 3]
    assert nothing == []


def test_a_follower_that_leaves_and_comes_back_misses_nothing(h: Harness) -> None:
    async def go() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        run = h.ask("say slow 0.05 one two three four five six seven eight nine ten")
        whole = asyncio.create_task(collect(h, run))
        seen: list[dict[str, Any]] = []
        while not seen or seen[-1]["type"] != "run.finished":
            stream = h.engine.follow(run.id, seen[-1]["seq"] if seen else 0)
            taken = 0
            async for item in stream:
                seen.append(item)
                taken += 1
                if taken == 3:
                    break
            await stream.aclose()  # type: ignore[attr-defined]
        return seen, await whole

    seen, whole = asyncio.run(go())
    assert seen == whole


def test_a_run_that_is_not_there_has_no_events(h: Harness) -> None:
    assert asyncio.run(collect(h, Run(id="nothing", options={}, usage={}, created_at=0.0))) == []


def test_a_run_that_waits_is_followed_over_the_wait(h: Harness) -> None:
    async def go() -> tuple[Run, list[dict[str, Any]]]:
        run = h.ask('call deploy {"text": "a"}\nsay after')
        following = asyncio.create_task(collect(h, run))
        (ask,) = await asyncio.to_thread(h.asks, run)
        await asyncio.to_thread(h.engine.answer_approval, ask.id, "allow")
        return run, await following

    run, seen = asyncio.run(go())
    assert [event["seq"] for event in seen] == list(range(1, len(seen) + 1))
    assert settled(seen) == h.events(run)


def test_what_another_process_writes_is_not_missed(h: Harness) -> None:
    """Events of another engine or command on the same database are not published here: the gap is noticed and read."""

    async def go() -> list[dict[str, Any]]:
        run = h.ask("say slow 0.1 " + " ".join(map(str, range(60))))
        following = asyncio.create_task(collect(h, run))
        await asyncio.to_thread(h.event, run, "text.delta", 2)
        database = Database(Settings.load().database_url)
        elsewhere = RunLedger(database)
        await asyncio.to_thread(elsewhere.commit, run.id, Change(events=[("note", {"from": "elsewhere"})]), owner=None)
        await asyncio.to_thread(h.event, run, "text.delta", 6)
        await asyncio.to_thread(elsewhere.request_cancel, run.id)
        database.close()
        return await following

    seen = asyncio.run(go())
    assert [event["seq"] for event in seen] == list(range(1, len(seen) + 1))
    kinds = [event["type"] for event in seen]
    assert {"note", "run.cancel_requested"} <= set(kinds)
    assert seen[-1]["data"]["outcome"] == "cancelled"


def test_envelopes_need_nothing_else_to_be_read(h: Harness) -> None:
    run = h.run(SCRIPT)
    for event in h.events(run):
        assert set(event) == {"v", "seq", "at", "type", "run_id", "data"}
        assert (event["v"], event["run_id"]) == (1, run.id)
        if event["type"] == "message.added":
            assert event["data"]["message"]["text"] == h.engine.threads.message(event["data"]["message_id"]).text  # type: ignore[union-attr]


def test_twenty_runs_at_once_lose_and_mix_nothing(h: Harness) -> None:
    scripts = [
        f'call count {{"text": "run {n}"}}; single {{"text": "run {n}"}}\nsay slow 0.02 run {n} says a b c d e f'
        for n in range(20)
    ]

    async def go() -> tuple[list[Run], list[list[dict[str, Any]]]]:
        runs = [h.ask(script) for script in scripts]
        return runs, await asyncio.gather(*(collect(h, run) for run in runs))

    written = h.engine.hub.events_written
    runs, seen = asyncio.run(go())
    total = 0
    for number, (run, events) in enumerate(zip(runs, seen, strict=True)):
        assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
        assert {event["run_id"] for event in events} == {run.id}
        assert settled(events) == h.events(run)
        total += len(events)
        done = h.done(run)
        assert (done.outcome, h.answer(run)) == ("completed", f"run {number} says a b c d e f")
        assert sorted(h.results(run).values()) == [f"count got run {number}", f"single got run {number}"]
        assert h.branch(run.thread_id)[0].text == scripts[number]
        h.check_thread(run.thread_id)
        assert fold(run.id, events).steps == fold(run.id, settled(events)).steps
    assert h.engine.hub.events_written - written == total
    assert Counter(call["text"] for call in h.count.calls) == Counter(f"run {n}" for n in range(20))
    assert h.engine.ledger.count_by_status() == {"done": 20}


def test_no_more_runs_than_allowed_work_at_once(h: Harness) -> None:
    h.engine.save_settings({"max_concurrent_runs": 2})
    runs = [h.ask('call slow {"seconds": 0.15}\nsay done') for _ in range(6)]
    for run in runs:
        assert h.done(run).outcome == "completed"
    moments = sorted([(start, 1) for start, _ in h.slow.spans] + [(end, -1) for _, end in h.slow.spans])
    running = most = 0
    for _, change in moments:
        running += change
        most = max(most, running)
    assert most == 2
