"""The access token: made once, private, masked in logs; and the lines that print it."""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from logician_graph.errors import SettingsError
from logician_graph.gateway import AccessToken, banner, obtain_token, read_token
from logician_graph.redaction import redact


def _value(home: Path) -> str:
    return obtain_token(home).value


def test_a_token_is_made_once_and_private(tmp_path: Path) -> None:
    first = obtain_token(tmp_path)

    assert len(first.value) >= 40
    assert (tmp_path / "token").stat().st_mode & 0o777 == 0o600
    assert obtain_token(tmp_path).value == first.value
    assert sorted(path.name for path in tmp_path.iterdir()) == ["token"]


def test_processes_that_start_at_once_agree(tmp_path: Path) -> None:
    with ProcessPoolExecutor(4, mp_context=get_context("spawn")) as pool:
        assert len(set(pool.map(_value, [tmp_path] * 8))) == 1


def test_a_chosen_token_is_used_and_not_kept(tmp_path: Path) -> None:
    assert obtain_token(tmp_path, "chosen-by-the-person").value == "chosen-by-the-person"
    assert read_token(tmp_path) is None


def test_a_token_and_its_cookie_are_masked_and_never_shown(tmp_path: Path) -> None:
    token = obtain_token(tmp_path)
    assert redact(f"GET /?token={token.value} {token.cookie_value}") == "GET /?token=[secret] [secret]"
    assert token.value not in repr(token)


def test_the_cookie_tells_neither_token_nor_port(tmp_path: Path) -> None:
    one, other = AccessToken("a" * 20), AccessToken("b" * 20)
    assert one.cookie_name != other.cookie_name
    assert one.matches_cookie(one.cookie_value)
    assert not one.matches_cookie(other.cookie_value)
    assert not one.matches("")
    assert not one.matches("é")


def test_an_empty_token_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("\n")
    with pytest.raises(SettingsError, match="is empty; delete it"):
        obtain_token(tmp_path)


def test_a_home_that_takes_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be kept"):
        obtain_token(tmp_path / "missing")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_token_of_somebody_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("x")
    (tmp_path / "token").chmod(0)
    with pytest.raises(SettingsError, match="cannot be read"):
        obtain_token(tmp_path)


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", "http://localhost:8501/"),
        ("::1", "http://localhost:8501/"),
        ("0.0.0.0", "http://localhost:8501/"),
        ("192.168.1.7", "http://192.168.1.7:8501/"),
        ("fd00::7", "http://[fd00::7]:8501/"),
    ],
)
def test_the_banner_says_where_to_go(host: str, address: str) -> None:
    assert f"  Logician is at  {address}\n" in banner(host, 8501, Path("/data"), None)
    token = AccessToken("the-token")
    assert f"  Logician is at  {address}?token=the-token\n" in banner(host, 8501, Path("/data"), token)
