"""How the chat looks: light and dark, with realistic content. Also writes the pictures of the README."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chat import Chat
from tests.browser.server import ROOT, Server
from tests.fakes.openai_prompts import script_and_step
from tests.fakes.openai_server import FakeOpenAI, Reply, Usage

PICTURES = os.environ.get("LOGICIAN_SCREENSHOTS") == "1"
TASK = "Write primes.py that prints the first 20 primes, run it and show the output"
PROGRAM = """\
def primes(count):
    found = []
    number = 2
    while len(found) < count:
        if all(number % prime for prime in found):
            found.append(number)
        number += 1
    return found


if __name__ == "__main__":
    print(*primes(20))
"""
ANSWER = """\
`primes.py` prints the first 20 primes; it ran without an error:

```
2 3 5 7 11 13 17 19 23 29 31 37 41 43 47 53 59 61 67 71
```

It tests each number against the **primes found so far** only, so no number is divided more often than needed."""
MARKDOWN = """\
## Heading

Some **bold**, *slanted* and `code` words, a [link](https://example.org) and 5 * 3 * 2.

1. one
2. two
   - nested
   - points

> quoted

| name | value |
|------|------:|
| beta | 22 |

```python
found = [2, 3]
```

The last words."""
EARLIER = {
    "Sum up notes.txt in one sentence": "The moon drifts away from the earth by 3.8 cm a year.",
    "Total and best month of sales.csv?": "The total is **375**; the best month is **March** with 160.",
    "Why does test_parse_date fail?": "It expects UTC, but the helper reads the machine's own zone.",
}


def _model(body: Mapping[str, Any]) -> Reply:
    """What a real model would say, by the question and the step."""
    question, step = script_and_step(body["messages"])
    if question in EARLIER:
        return Reply(EARLIER[question], usage=_usage(812, 41))
    if question != TASK:
        return Reply(MARKDOWN, delay_s=0.03)
    return (
        Reply("I write the program first.", tool_calls=[("write_file", {"path": "primes.py", "content": PROGRAM})]),
        Reply(tool_calls=[("bash", {"command": "python3 primes.py"})], usage=_usage(1102, 26, 812)),
        Reply(ANSWER, usage=_usage(1197, 118, 1102)),
    )[step]


def _usage(prompt: int, completion: int, cached: int = 0) -> Usage:
    return Usage(prompt=prompt, completion=completion, cached=cached)


@pytest.fixture(scope="module")
def workbench(make_server: Callable[..., Server]) -> Iterator[Server]:
    """A server whose model answers what a real one would."""
    with FakeOpenAI(_model, models=("qwen2.5-coder-32b",), context_window=32_768) as fake:
        server = make_server(
            LOGICIAN_BASE_URL=fake.base_url,
            LOGICIAN_MODEL="qwen2.5-coder-32b",
            LOGICIAN_PRICE_INPUT_PER_MTOK="0.08",
            LOGICIAN_PRICE_OUTPUT_PER_MTOK="0.18",
        )
        yield server


def test_live_text_is_formatted_like_the_finished_one(new_page: Callable[..., Page], workbench: Server) -> None:
    chat = Chat(new_page(), workbench).open()
    chat.send("What does your text look like?")
    expect(chat.live).to_contain_text("found = [2, 3]")
    marks = (
        "h2",
        "strong",
        "em",
        "p code",
        "a[href='https://example.org']",
        "ol > li",
        "li li",
        "blockquote",
        "td",
        "pre",
    )
    seen = chat.live.evaluate(  # at one moment: the live text goes when the answer is there
        "(live, marks) => [live.innerText, marks.filter((mark) => !live.querySelector(mark))]", list(marks)
    )
    assert seen[1] == []
    live = _words(seen[0])
    chat.finished()
    answer = chat.answer.get_by_test_id("stMarkdown").first
    expect(answer).to_contain_text("The last words.")
    expect(answer.locator("pre")).to_contain_text("found = [2, 3]")  # code is drawn a moment after the text
    finished = _words(answer.inner_text())
    assert finished[: len(live)] == live
    for mark in marks:
        expect(answer.locator(mark).first).to_be_visible()


def _words(text: str) -> list[str]:
    return text.split()


def test_a_realistic_chat_in_light_and_dark(new_page: Callable[..., Page], workbench: Server, tmp_path: Path) -> None:
    chat = Chat(new_page(color_scheme="light"), workbench).open()
    for question, answer in EARLIER.items():
        chat.ask(question)
        expect(chat.answer).to_contain_text(answer.split("**")[0])
        chat.page.locator(".st-key-new_chat button:visible").click()
        expect(chat.page.get_by_text("Logician is a workbench")).to_be_visible()
    _picture(chat.page, tmp_path, "chat-empty.png", keep=False)
    chat.send(TASK)
    expect(chat.button("Allow once")).to_be_visible()
    _picture(chat.page, tmp_path, "chat-waiting.png", keep=False)
    chat.button("Allow once").click()
    chat.finished()
    expect(chat.answer).to_contain_text("primes found so far")
    expect(chat.answer).to_contain_text("$0.000")
    chat.work.click()
    expect(chat.steps("write_file primes.py")).to_be_visible()
    _picture(chat.page, tmp_path, "chat-light.png")

    dark = Chat(new_page(color_scheme="dark"), workbench).open_thread(chat.thread_id)
    expect(dark.answer).to_contain_text("primes found so far")
    dark.work.click()
    expect(dark.steps("write_file primes.py")).to_be_visible()
    dark.page.wait_for_timeout(600)  # a click while it still unfolds would scroll its first line away
    dark.steps("write_file primes.py").click()
    expect(dark.answer.get_by_test_id("stCode").first).to_contain_text("def primes(count):")
    background = dark.page.get_by_test_id("stApp").evaluate("(node) => getComputedStyle(node).backgroundColor")
    assert background == "rgb(18, 21, 28)"
    _picture(dark.page, tmp_path, "chat-dark.png")


def _picture(page: Page, folder: Path, name: str, *, keep: bool = True) -> None:
    page.mouse.move(640, 5)
    page.wait_for_timeout(700)
    page.screenshot(path=folder / name)
    assert (folder / name).stat().st_size > 20_000, "an empty page makes a small picture"
    if PICTURES and keep:
        images = ROOT / "docs" / "images"
        images.mkdir(parents=True, exist_ok=True)
        (images / name).write_bytes((folder / name).read_bytes())
