"""Lists of runs with filters, orders and sums."""

from __future__ import annotations

from typing import Any

import pytest

from storage import Change, Database, Run, RunFilter, RunLedger, RunOverview, ThreadStore, new_id
from storage.ids import first_id
from tests.storage import rows


@pytest.fixture
def overview(database: Database) -> RunOverview:
    return RunOverview(database)


def done(ledger: RunLedger, threads: ThreadStore, usage: dict[str, Any], **values: Any) -> Run:
    work = rows.claimed(ledger, threads)
    ledger.commit(work.id, Change(run={"status": "done", "outcome": "completed", "usage": usage, **values}), owner="me")
    return work


def test_filters_by_state_and_text(ledger: RunLedger, threads: ThreadStore, overview: RunOverview) -> None:
    failed = done(ledger, threads, {}, outcome="failed", options={"model": "endpoint:big_one"})
    finished = done(ledger, threads, {}, options={"model": "local:small"})
    queued = rows.asked(ledger, threads)
    threads.update(queued.thread_id or "", title="Grow 100% tomatoes")
    threads.update(failed.thread_id or "", deleted_at=1.0)

    def found(**wanted: Any) -> list[str]:
        page = [row.run.id for row in overview.page(RunFilter(**wanted))]
        assert overview.count(RunFilter(**wanted)) == len(page)
        return page

    assert found() == sorted([failed.id, finished.id, queued.id], reverse=True)
    assert found(states=["failed"]) == [failed.id]
    assert found(states=["queued", "completed"]) == sorted([queued.id, finished.id], reverse=True)
    assert found(text="TOMATO") == [queued.id]
    assert found(text="100%") == [queued.id]
    assert found(text="big_one") == [failed.id]
    assert found(text="bigXone") == []
    assert found(text=finished.id) == [finished.id]
    assert found(states=["running"]) == []
    by_id = {row.run.id: row for row in overview.page(RunFilter())}
    assert by_id[failed.id].deleted and not by_id[queued.id].deleted
    assert by_id[queued.id].title == "Grow 100% tomatoes"


def test_orders_and_pages(ledger: RunLedger, threads: ThreadStore, overview: RunOverview) -> None:
    made = [
        done(ledger, threads, {"seconds": 2.5, "input_tokens": 10, "output_tokens": 1, "cost_usd": 0.5}),
        done(ledger, threads, {"seconds": 100.0, "input_tokens": None, "output_tokens": None, "cost_usd": None}),
        done(ledger, threads, {"seconds": 30.0, "input_tokens": 900, "output_tokens": 90, "cost_usd": 0.25}),
    ]
    short, long, many = (work.id for work in made)

    def ids(order: Any) -> list[str]:
        return [row.run.id for row in overview.page(RunFilter(), order=order)]

    assert ids("longest") == [long, many, short]
    assert ids("tokens") == [many, short, long]
    assert ids("cost") == [short, many, long]
    assert ids("oldest") == sorted(ids("oldest"))
    assert ids("newest") == ids("oldest")[::-1]
    assert [row.run.id for row in overview.page(RunFilter(), limit=1, offset=1)] == ids("newest")[1:2]


def test_sums_say_what_they_lack(ledger: RunLedger, threads: ThreadStore, overview: RunOverview) -> None:
    empty = overview.usage_since(0.0)
    assert (empty.runs, empty.input_tokens, empty.cost_usd, empty.unknown_tokens) == (0, 0, 0.0, 0)
    known = {"model_calls": 2, "unreported_calls": 0, "input_tokens": 10, "output_tokens": 5, "cost_usd": 0.5}
    done(ledger, threads, known)
    done(ledger, threads, {**known, "unreported_calls": 1, "cost_usd": None})
    done(ledger, threads, {"model_calls": 0, "input_tokens": None, "output_tokens": None, "cost_usd": None})
    total = overview.usage_since(0.0)
    assert (total.runs, total.input_tokens, total.output_tokens) == (3, 20, 10)
    assert (total.cost_usd, total.unknown_tokens, total.unknown_cost) == (0.5, 1, 1)
    assert overview.usage_since(4_000_000_000.0).runs == 0


def test_what_waits_and_what_waited(ledger: RunLedger, threads: ThreadStore, overview: RunOverview) -> None:
    work, (one, two) = rows.waiting(ledger, threads, "call-1", "call-2")
    threads.update(work.thread_id or "", title="T")
    ledger.answer(one.id, {"text": "x"})
    assert [row.approval.id for row in overview.approvals(answered=False)] == [two.id]
    assert [(row.approval.id, row.title) for row in overview.approvals(answered=True)] == [(one.id, "T")]
    assert (overview.count_approvals(answered=False), overview.count_approvals(answered=True)) == (1, 1)


def test_the_first_id_of_a_moment_comes_before_all_its_ids() -> None:
    import time

    before = time.time()
    made = new_id()
    assert first_id(before) <= made < first_id(time.time() + 0.002)
