"""Many threads and several engines on one database: nothing is done twice, lost or numbered wrongly."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from storage import Change, Database, LostOwnership, RunLedger, StorageError, ThreadStore
from tests.storage import rows


@pytest.fixture
def engines(url: str) -> Iterator[list[RunLedger]]:
    """Four ledgers that share nothing but the database, as four processes would."""
    databases = [Database(url) for _ in range(4)]
    yield [RunLedger(database) for database in databases]
    for database in databases:
        database.close()


def together(*jobs: Callable[[], object]) -> list[object]:
    """Run jobs at the same moment, each in a thread of its own; results or errors in their order."""
    start = threading.Barrier(len(jobs))
    results: list[object] = [None] * len(jobs)

    def go(place: int, job: Callable[[], object]) -> None:
        start.wait()
        try:
            results[place] = job()
        except Exception as error:  # noqa: BLE001 - what it raised is what the test looks at
            results[place] = error

    workers = [threading.Thread(target=go, args=item) for item in enumerate(jobs)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
        assert not worker.is_alive()
    return results


def test_each_run_is_claimed_by_one(engines: list[RunLedger], threads: ThreadStore) -> None:
    works = {rows.asked(engines[0], threads).id for _ in range(24)}

    def claimer(number: int) -> Callable[[], list[str]]:
        def job() -> list[str]:
            mine: list[str] = []
            while (run := engines[number % 4].claim(f"engine-{number}")) is not None:
                mine.append(run.id)
            return mine

        return job

    results = together(*(claimer(number) for number in range(8)))
    claims = [run_id for mine in results for run_id in mine]  # type: ignore[attr-defined]
    assert Counter(claims) == Counter(works)
    for number, mine in enumerate(results):
        for run_id in mine:  # type: ignore[attr-defined]
            stored = engines[0].get(run_id)
            assert stored is not None and (stored.owner, stored.attempt) == (f"engine-{number}", 1)


def test_sequence_numbers_have_no_gap_under_eight_writers(engines: list[RunLedger], threads: ThreadStore) -> None:
    work = rows.claimed(engines[0], threads)
    heard: list[tuple[str, int]] = []
    engines[0].listen(lambda run_id, events, _: heard.extend((run_id, event.seq) for event in events))

    def writer(number: int) -> Callable[[], list[int]]:
        def job() -> list[int]:
            seqs: list[int] = []
            for step in range(15):
                events = [("e", {"by": number, "step": step, "part": part}) for part in range(1 + step % 3)]
                written = engines[number % 4].commit(work.id, Change(events=events), owner="me")
                seqs += [event.seq for event in written]
            return seqs

        return job

    results = together(*(writer(number) for number in range(8)))
    for seqs in results:
        assert isinstance(seqs, list) and seqs == sorted(seqs)
    stored = engines[1].events(work.id)
    assert [event.seq for event in stored] == list(range(1, len(stored) + 1))
    assert len(stored) == 1 + 8 * 15 * 2
    by_writer: dict[int, list[tuple[int, int]]] = {}
    for event in stored[1:]:
        by_writer.setdefault(event.data["by"], []).append((event.data["step"], event.data["part"]))
    assert all(steps == sorted(steps) for steps in by_writer.values())
    assert heard == [(work.id, event.seq) for event in stored[1:] if event.data["by"] % 4 == 0]


def test_one_of_many_answers_counts(engines: list[RunLedger], threads: ThreadStore) -> None:
    work, (ask,) = rows.waiting(engines[0], threads, "call-1")
    results = together(*(lambda n=n: engines[n % 4].answer(ask.id, {"text": str(n)}) for n in range(8)))
    won = [result for result in results if not isinstance(result, Exception)]
    assert len(won) == 1
    assert all(isinstance(r, StorageError) for r in results if isinstance(r, Exception))
    assert engines[0].approval(ask.id).answer == won[0].answer  # type: ignore[union-attr, attr-defined]
    assert rows.types(engines[0], work.id).count("approval.answered") == 1


def test_two_tabs_cannot_start_two_runs_in_a_thread(engines: list[RunLedger], threads: ThreadStore) -> None:
    for _ in range(5):
        thread = threads.create()

        def ask(number: int, thread=thread) -> Callable[[], bool]:  # type: ignore[no-untyped-def]  # noqa: ANN001
            question = rows.message(thread, text=str(number))
            work = rows.run(thread, input_message_id=question.id)
            return lambda: engines[number].create(work, [question], leaf_id=question.id)

        results = together(*(ask(number) for number in range(4)))
        assert sorted(map(str, results)) == ["False", "False", "False", "True"]
        assert len(threads.all_messages(thread.id)) == 1


def test_a_stop_and_a_claim_at_the_same_moment_agree(engines: list[RunLedger], threads: ThreadStore) -> None:
    """Either the run ended before it began, or it runs and was asked to stop: never both, never neither."""
    for _ in range(10):
        work = rows.asked(engines[0], threads)
        claimed, _ = together(lambda: engines[1].claim("me"), lambda work=work: engines[2].request_cancel(work.id))
        stored = engines[0].get(work.id)
        assert stored is not None and stored.cancel_requested
        if claimed is None:
            assert (stored.status, stored.outcome, stored.owner) == ("done", "cancelled", None)
        else:
            assert (stored.status, stored.outcome, stored.owner) == ("running", None, "me")
            assert "run.finished" not in rows.types(engines[0], work.id)
            engines[1].commit(work.id, Change(run={"status": "done"}), owner="me")


def test_a_stop_and_an_answer_at_the_same_moment_both_count(engines: list[RunLedger], threads: ThreadStore) -> None:
    for _ in range(10):
        work, (ask,) = rows.waiting(engines[0], threads, "call-1")
        together(
            lambda ask=ask: engines[1].answer(ask.id, {"text": "x"}),
            lambda work=work: engines[2].request_cancel(work.id),
        )
        stored = engines[0].get(work.id)
        assert stored is not None and (stored.status, stored.cancel_requested) == ("queued", True)
        kinds = rows.types(engines[0], work.id)
        assert sorted(kinds[-2:]) == ["approval.answered", "run.cancel_requested"]
        taken = engines[3].claim("me")
        assert taken is not None and taken.id == work.id
        engines[3].commit(work.id, Change(run={"status": "done"}), owner="me")


def test_who_writes_while_the_run_changes_hands_knows_it(engines: list[RunLedger], threads: ThreadStore) -> None:
    work = rows.claimed(engines[0], threads, owner="old")
    stop = threading.Event()

    def old() -> str:
        number = 0
        while not stop.is_set():
            try:
                engines[1].commit(work.id, Change(events=[("old", {"n": number})]), owner="old")
            except LostOwnership:
                return "lost"
            number += 1
        return "never"

    def new() -> object:
        stop.wait(random.uniform(0.01, 0.05))
        assert engines[2].requeue(work.id, [("handover", {})], statuses=("running",), crashed=True)
        return engines[3].claim("new")

    try:
        results = together(old, new)
    finally:
        stop.set()
    assert results[0] == "lost"
    kinds = rows.types(engines[0], work.id)
    assert "old" not in kinds[kinds.index("handover") :]


def test_a_blob_that_two_write_at_once_is_kept_once(engines: list[RunLedger], threads: ThreadStore) -> None:
    works = [rows.claimed(engines[0], threads) for _ in range(8)]
    for round_ in range(5):
        sha = f"{round_:064d}"

        def writer(number: int, sha: str = sha) -> Callable[[], object]:
            change = Change(events=[("e", {})], blobs={sha: "the text"})
            return lambda: engines[number % 4].commit(works[number].id, change, owner="me")

        results = together(*(writer(number) for number in range(8)))
        assert [result for result in results if isinstance(result, Exception)] == []
        assert threads.blobs([sha]) == {sha: "the text"}


def test_a_blob_put_twice_at_once_is_no_error(engines: list[RunLedger]) -> None:
    stores = [ThreadStore(engine.database) for engine in engines]
    for round_ in range(5):
        sha = f"{round_:064x}"
        results = together(*(lambda store=store, sha=sha: store.put_blob(sha, "x") for store in stores))
        assert results == [None] * 4
