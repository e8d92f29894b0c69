"""A fake OpenAI-compatible endpoint without latency, in a process of its own, for benchmarks.

Every second question is answered by a ``read_file`` call first, the others at once with about 900 characters. A
question that starts with "stream" is answered by sixty words, one every 20 ms.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from tests.fakes.openai_replies import Reply
from tests.fakes.openai_server import FakeOpenAI

ANSWER = (
    "Item {n} is in good order. Its two neighbours were looked at as well: the first has not changed since the last "
    "time, the second was renamed and carries a new date. Nothing else in the list is affected by this, and no action "
    "is needed now. I compared the stored state with the one from the previous turn and found the same checksum for "
    "all entries but the one named above, which is what you expected when you asked about it earlier.\n\n"
    "- checked: item {n}, its predecessor and its successor\n- changed: the successor's name and date\n"
    "- unchanged: size, owner and checksum of the others\n\nIf you want me to follow the rename through the other "
    "lists as well, say so; I would look at every list that mentions the old name, show you the places, and change "
    "them only when you have seen them. Until then I leave everything as it is."
)


def reply(body: Any) -> Reply:
    """The reply to a request body."""
    last = body["messages"][-1]
    number = sum(1 for message in body["messages"] if message["role"] == "user")
    if last["role"] == "user" and "stream " in str(last["content"]):
        return Reply(" ".join(f"word{word}" for word in range(60)), delay_s=0.02)
    if last["role"] == "user" and number % 2 == 0:
        return Reply(tool_calls=[("read_file", {"path": "item.txt"})])
    return Reply(ANSWER.format(n=number))


@contextmanager
def endpoint_process() -> Generator[str]:
    """Base URL of an endpoint that lives as long as the block."""
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.fake_endpoint"], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait(10)


if __name__ == "__main__":
    with FakeOpenAI(reply) as server:
        print(server.base_url, flush=True)
        while sys.stdin.read(1) != "":
            time.sleep(0.1)
