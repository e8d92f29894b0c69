"""The evolution page in real Chromium: a study of 10,000 candidates is opened, and each of its tabs.

    python -m benchmarks.evolution_page [--candidates 10000] [--repeats 5] [--json]

A real server process. *Open*: from navigation to the chart drawn; first in a new browser on a server that never showed
the study, then the median of the repeats. *New browser*: what the study needs is known to the server, nothing to the
browser. *Inside*: from a click on the study in the list to the chart drawn. Each tab: from the click on it to its
content drawn, the first time and the median of the repeats.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.browser.server import Server

_POINT = ".js-plotly-plot .point"
TABS = {
    "Genealogy": _POINT,
    "Population": "table[aria-label='Population'] tbody tr",
    "Operators": "table[aria-label='Operators'] tbody tr",
    "Failures": "table[aria-label='Failures'] tbody tr",
    "Held-out": "table[aria-label='Held-out'] tbody tr",
    "Behaviour": _POINT,
    "Log": "table[aria-label='Samples'] tbody tr",
}


def _seed(home: Path, candidates: int) -> str:
    from logician_graph.eoh import template
    from storage import Database, default_url, upgrade
    from tests.browser.study_seed import many_samples

    home.mkdir()
    template("knapsack", home / "problems")
    database = Database(default_url(home))
    upgrade(database)
    study_id = many_samples(database, candidates)
    database.close()
    return study_id


def _timed(step: Callable[[], object]) -> float:
    began = time.perf_counter()
    step()
    return time.perf_counter() - began


def _told(times: list[float]) -> dict[str, float]:
    rest = times[1:] or times
    return {"first_s": round(times[0], 2), "median_s": round(statistics.median(rest), 2)}


def measure(candidates: int, repeats: int) -> dict[str, Any]:
    """Seed, open, click."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        study_id = _seed(home, candidates)
        none = {"LOGICIAN_BASE_URL": "http://127.0.0.1:9/v1", "LOGICIAN_MODEL": "none", "LOGICIAN_API_KEY": "k"}
        server = Server(home, none).start()
        try:
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(
                    executable_path="/usr/bin/chromium",
                    args=["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
                )
                page = browser.new_page(viewport={"width": 1280, "height": 800})
                page.set_default_timeout(60_000)
                at_rest = '[data-testid="stApp"][data-test-script-state="notRunning"]'

                def opened() -> None:
                    page.goto(f"{server.url}/evolution?study={study_id}")
                    page.locator(_POINT).first.wait_for()

                def inside() -> None:
                    page.locator(f"tr[data-id='{study_id}'] a").click()
                    page.locator(_POINT).first.wait_for()

                opens = [_timed(opened) for _ in range(repeats + 1)]
                other = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
                other.set_default_timeout(60_000)

                def elsewhere() -> None:
                    other.goto(f"{server.url}/evolution?study={study_id}")
                    other.locator(_POINT).first.wait_for()

                anew = _timed(elsewhere)
                other.close()
                clicks: list[float] = []
                for _ in range(repeats + 1):
                    page.get_by_test_id("stMain").get_by_text("All studies").click()
                    page.locator(f"tr[data-id='{study_id}'] a").wait_for()
                    page.wait_for_selector(at_rest)
                    clicks.append(_timed(inside))
                tabs: dict[str, list[float]] = {name: [] for name in TABS}
                for _ in range(repeats + 1):
                    for name, sign in TABS.items():
                        page.wait_for_selector(at_rest)
                        page.get_by_role("tab", name="Progress").click()
                        page.get_by_text("Failed ones are the ticks").wait_for()
                        page.wait_for_selector(at_rest)
                        page.wait_for_timeout(300)
                        panel = page.get_by_role("tabpanel", name=name, exact=True)

                        def switch(name: str = name, sign: str = sign, panel: Any = panel) -> None:
                            page.get_by_role("tab", name=name, exact=True).click()
                            panel.locator(sign).first.wait_for()

                        tabs[name].append(_timed(switch))
                browser.close()
        finally:
            server.stop()
    return {
        "candidates": candidates,
        "open": _told(opens),
        "new_browser_s": round(anew, 2),
        "inside": _told(clicks),
        "tabs": {name: _told(times) for name, times in tabs.items()},
    }


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--candidates", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    found = measure(arguments.candidates, arguments.repeats)
    print(json.dumps(found, indent=None if arguments.json else 2))


if __name__ == "__main__":
    main()
