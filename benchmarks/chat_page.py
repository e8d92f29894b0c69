"""The chat page in real Chromium: a thread of 1,000 messages opens and sends, and how late a token is on screen.

    python -m benchmarks.chat_page [--turns 500] [--repeats 5] [--json]

A real server process and a fake endpoint. *Open*: from navigation to the last answer visible and the input ready.
*Send*: from Enter to one's own message visible. *Lateness of a token*: from the commit of its event (``at``) to its
text being in the page, both on this machine's clock, for sixty words at one every 20 ms.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from benchmarks.fake_endpoint import endpoint_process
from benchmarks.turn_overhead import logician
from tests.browser.chat import Chat
from tests.browser.server import Server

WATCH = """
() => {
  window.seen = {}
  const find = (root) => {
    const found = root.querySelector(".live .text")
    if (found) return found
    for (const host of root.querySelectorAll("*")) {
      const inside = host.shadowRoot && find(host.shadowRoot)
      if (inside) return inside
    }
    return null
  }
  let text = null
  setInterval(() => {
    if (!text?.isConnected) text = find(document)
    const now = Date.now()
    for (const word of text?.textContent.match(/word\\d+/g) ?? []) window.seen[word] ??= now
  }, 10)
}
"""


def _thread(base_url: str, home: Path, turns: int) -> str:
    async def build() -> str:
        turn, close = await logician(base_url, home)
        for number in range(1, turns + 1):
            await turn(number)
        await close()
        from storage import Database, ThreadStore, default_url

        database = Database(default_url(home))
        thread_id = ThreadStore(database).search(limit=1)[0].id
        database.close()
        return thread_id

    return asyncio.run(build())


def _words_of(server: Server, thread_id: str, known: set[str], committed: dict[str, float]) -> None:
    """Commit times of the words, read from the newest run's event stream."""
    import httpx

    from storage import Database, RunLedger, default_url

    database = Database(default_url(server.home))
    ledger = RunLedger(database)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        fresh = [run for run in ledger.of_thread(thread_id) if run.id not in known]
        if fresh:
            break
        time.sleep(0.02)
    else:
        return
    text = ""
    with httpx.stream("GET", f"{server.url}/api/runs/{fresh[0].id}/events", timeout=60) as reply:
        for line in reply.iter_lines():
            if line.startswith("data:") and '"text.delta"' in line:
                event = json.loads(line[5:])
                text += event["data"]["text"]
                for word in text.split():
                    committed.setdefault(word, event["at"])
            if '"run.finished"' in line:
                break
    database.close()


def _settled(chat: Chat, server: Server, thread_id: str) -> None:
    """Wait until no run of the thread works and the page says so."""
    from playwright.sync_api import expect

    from storage import Database, RunLedger, default_url

    database = Database(default_url(server.home))
    ledger = RunLedger(database)
    while ledger.unfinished(thread_id):
        time.sleep(0.05)
    database.close()
    expect(chat.stop).to_have_count(0)
    expect(chat.box).to_be_enabled()


def _lateness(chat: Chat, server: Server, thread_id: str) -> dict[str, Any]:
    from storage import Database, RunLedger, default_url

    database = Database(default_url(server.home))
    known = {run.id for run in RunLedger(database).of_thread(thread_id)}
    database.close()
    committed: dict[str, float] = {}
    reader = threading.Thread(target=_words_of, args=(server, thread_id, known, committed))
    from playwright.sync_api import expect

    chat.page.evaluate(WATCH)
    reader.start()
    chat.box.fill("stream sixty words")
    chat.box.press("Enter")
    expect(chat.stop).to_have_count(1)
    _settled(chat, server, thread_id)
    reader.join(60)
    seen: dict[str, float] = chat.page.evaluate("window.seen")
    late = sorted(seen[word] / 1000 - at for word, at in committed.items() if word in seen)
    if not late:
        return {"words": 0}
    return {
        "words": len(late),
        "median_ms": round(statistics.median(late) * 1000),
        "p95_ms": round(late[int(len(late) * 0.95)] * 1000),
    }


def measure(turns: int, repeats: int) -> dict[str, Any]:
    """Build, open, send, stream."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=60_000)

    with tempfile.TemporaryDirectory() as folder, endpoint_process() as base_url:
        home = Path(folder) / "home"
        home.mkdir()
        thread_id = _thread(base_url, home, turns)
        server = Server(
            home, {"LOGICIAN_BASE_URL": base_url, "LOGICIAN_MODEL": "fake", "LOGICIAN_API_KEY": "k"}
        ).start()
        try:
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(
                    executable_path="/usr/bin/chromium",
                    args=["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
                )
                page = browser.new_page(viewport={"width": 1280, "height": 800})
                chat = Chat(page, server)
                opened, sent = [], []
                for _ in range(repeats):
                    began = time.perf_counter()
                    chat.open_thread(thread_id)
                    chat.answer.wait_for()
                    opened.append(time.perf_counter() - began)
                for number in range(repeats):
                    chat.box.wait_for()
                    chat.box.fill(f"How is item {number}?")
                    began = time.perf_counter()
                    chat.box.press("Enter")
                    page.get_by_text(f"How is item {number}?").first.wait_for()
                    sent.append(time.perf_counter() - began)
                    _settled(chat, server, thread_id)
                late = _lateness(chat, server, thread_id)
                browser.close()
        finally:
            server.stop()
    return {
        "messages": turns * 2,
        "open_s": {"min": round(min(opened), 2), "median": round(statistics.median(opened), 2)},
        "send_s": {"min": round(min(sent), 2), "median": round(statistics.median(sent), 2)},
        "token_lateness": late,
    }


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--turns", type=int, default=500)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    print(json.dumps(measure(arguments.turns, arguments.repeats), indent=None if arguments.json else 2))


if __name__ == "__main__":
    main()
