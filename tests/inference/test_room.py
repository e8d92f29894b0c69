"""The room's door: names, import cost, configuration, prices, and small pure pieces."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

import logician_graph.inference as room
from logician_graph.errors import SettingsError
from logician_graph.inference import (
    LOCAL,
    EmbeddedLlama,
    OpenAICompatible,
    Prices,
    ProviderConfig,
    Usage,
    build_provider,
    cost_usd,
    estimate_tokens,
)
from logician_graph.inference.machine import threads_for, usable_cpus
from logician_graph.inference.openai_compatible import context_window, model_names

ROOT = Path(__file__).parents[2]


def test_public_names_are_sorted_and_there() -> None:
    assert room.__all__ == sorted(room.__all__, key=lambda name: (not name.isupper(), name))
    assert [name for name in room.__all__ if not hasattr(room, name)] == []
    with pytest.raises(AttributeError, match="no attribute 'nope'"):
        _ = room.nope  # type: ignore[attr-defined]


def test_importing_the_room_imports_no_sdk() -> None:
    script = (
        "import sys, logician_graph.inference\n"
        "print([name for name in ('langchain_core', 'langchain_openai', 'openai', 'httpx', 'xllamacpp', 'filelock')"
        " if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_build_provider(tmp_path: Path) -> None:
    key = SecretStr("sk-canary")
    endpoint = ProviderConfig("openai", "m", base_url="https://example.org/v1", api_key=key, context_window=4096)
    provider = build_provider(endpoint, tmp_path)
    assert isinstance(provider, OpenAICompatible)
    assert provider.name == "openai"
    assert "sk-canary" not in repr(provider) + repr(endpoint)
    assert isinstance(build_provider(ProviderConfig("embedded", "smollm2-135m"), tmp_path), EmbeddedLlama)
    with pytest.raises(SettingsError, match="LOGICIAN_BASE_URL"):
        build_provider(ProviderConfig("openai", "m"), tmp_path)


def test_prices() -> None:
    prices = Prices(input=2.0, output=10.0, cached=0.5)
    assert cost_usd(Usage(1_000_000, 100_000, 400_000), prices) == pytest.approx(0.6 * 2 + 0.4 * 0.5 + 0.1 * 10)
    assert cost_usd(Usage(1_000_000, 0, 400_000), Prices(2.0, 10.0)) == pytest.approx(2.0)
    assert cost_usd(Usage(10, 10), None) is None
    assert cost_usd(Usage(None, 10), prices) is None
    assert cost_usd(Usage(None, None), LOCAL) == 0.0
    assert ProviderConfig("embedded", "m").effective_prices == LOCAL
    assert ProviderConfig("openai", "m").effective_prices is None


@given(st.text(), st.text())
def test_estimates_add_up(one: str, other: str) -> None:
    both = estimate_tokens(one + other)
    assert abs(both - estimate_tokens(one) - estimate_tokens(other)) <= 1
    assert estimate_tokens("") == 0


def test_estimates_take_lone_surrogates() -> None:
    assert estimate_tokens("\ud800" * 10) > 0


def test_cpus_are_bounded_by_the_container(tmp_path: Path) -> None:
    quota = tmp_path / "cpu.max"
    everything = usable_cpus(tmp_path / "missing")
    assert everything >= 1
    quota.write_text("50000 100000\n", encoding="ascii")
    assert usable_cpus(quota) == 1
    quota.write_text("max 100000\n", encoding="ascii")
    assert usable_cpus(quota) == everything


@pytest.mark.parametrize(("cpus", "writing"), [(1, 1), (2, 1), (4, 3), (16, 15)])
def test_a_cpu_is_left_to_the_others(cpus: int, writing: int) -> None:
    assert threads_for(cpus) == (writing, cpus)


@pytest.mark.parametrize("field", ["max_model_len", "context_length", "max_context_length", "context_window"])
def test_windows_of_several_servers(field: str) -> None:
    listing = {"data": [{"id": "other", field: 1}, {"id": "m", field: 32_768}]}
    assert context_window(listing, "m") == 32_768
    assert context_window(listing, "unknown") is None
    assert model_names(listing) == ("other", "m")


def test_the_window_that_llama_serves() -> None:
    assert context_window({"data": [{"id": "m", "meta": {"n_ctx": 8192, "n_ctx_train": 32_768}}]}, "m") == 8192


@pytest.mark.parametrize("listing", [None, [], {}, {"data": None}, {"data": ["x"]}, {"data": [{"id": "m"}]}])
def test_odd_listings_tell_nothing(listing: object) -> None:
    assert context_window(listing, "m") is None
