"""The catalogue's data, a person's additions, and the state of files."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

from logician_graph.errors import NotFound, SettingsError
from logician_graph.inference import Catalogue

DATA = b"GGUF" + bytes(range(256)) * 40


def entry(data: bytes = DATA, **changes: Any) -> dict[str, Any]:
    return {
        "id": "tiny",
        "title": "Tiny",
        "file": "tiny.gguf",
        "bytes": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
        "licence": "MIT",
        "context_window": 1024,
        "sources": [{"kind": "url", "url": "https://example.org/tiny.gguf"}],
        **changes,
    }


def home_with(tmp_path: Path, *entries: dict[str, Any], default: str | None = None) -> Path:
    folder = tmp_path / "models"
    folder.mkdir(exist_ok=True)
    own = {"models": list(entries)} | ({"default": default} if default else {})
    (folder / "catalogue.json").write_text(json.dumps(own), encoding="utf-8")
    return tmp_path


def test_the_built_in_models(tmp_path: Path) -> None:
    catalogue = Catalogue.load(tmp_path)
    assert catalogue.default_id == "qwen2.5-coder-1.5b"
    known = {model.id: (model.bytes, model.sha256[:8]) for model in catalogue.models}
    assert known == {
        "qwen2.5-coder-1.5b": (1_117_320_768, "cc324af0"),
        "qwen2.5-coder-0.5b": (491_400_064, "1d961463"),
        "smollm2-135m": (98_362_432, "b179c952"),
    }
    parts = [len(source.packages) for model in catalogue.models for source in model.sources if source.kind != "url"]
    assert parts == [22, 6, 1]
    assert [catalogue.state(model.id) for model in catalogue.models] == ["absent"] * 3


def test_additions_and_their_default(tmp_path: Path) -> None:
    catalogue = Catalogue.load(home_with(tmp_path, entry(), default="tiny"))
    assert catalogue.default_id == "tiny"
    assert catalogue.get("tiny").title == "Tiny"
    assert len(catalogue.models) == 4


def test_an_unknown_id_names_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"'nope'.*smollm2-135m"):
        Catalogue.load(tmp_path).get("nope")


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"file": "../evil.gguf"}, "file"),
        ({"file": "/etc/passwd"}, "file"),
        ({"sha256": "short"}, "sha256"),
        ({"bytes": -1}, "bytes"),
        ({"sources": []}, "sources"),
        ({"sources": [{"kind": "url", "url": "file:///etc/passwd"}]}, "url"),
        ({"surprise": 1}, "surprise"),
    ],
)
def test_an_unusable_addition_is_told_with_its_place(tmp_path: Path, change: dict[str, Any], place: str) -> None:
    with pytest.raises(SettingsError, match=rf"catalogue\.json.*{place}"):
        Catalogue.load(home_with(tmp_path, entry(**change)))


def test_additions_that_are_no_json(tmp_path: Path) -> None:
    home = home_with(tmp_path)
    (home / "models" / "catalogue.json").write_text("{", encoding="utf-8")
    with pytest.raises(SettingsError, match=r"catalogue\.json"):
        Catalogue.load(home)


def test_a_file_is_ready_only_after_its_bytes_were_read(tmp_path: Path) -> None:
    catalogue = Catalogue.load(home_with(tmp_path, entry()))
    path = catalogue.path("tiny")
    path.write_bytes(DATA)
    assert catalogue.state("tiny") == "unverified"
    seen: list[int] = []
    assert catalogue.verify("tiny", seen.append) == "ready"
    assert seen[-1] == len(DATA)
    assert catalogue.state("tiny") == "ready"
    os.utime(path, ns=(1, 1))
    assert catalogue.state("tiny") == "unverified"


def test_damaged_files(tmp_path: Path) -> None:
    catalogue = Catalogue.load(home_with(tmp_path, entry()))
    path = catalogue.path("tiny")
    path.write_bytes(DATA[:-1])
    assert catalogue.state("tiny") == "corrupt"
    assert catalogue.verify("tiny") == "corrupt"
    path.write_bytes(b"<htm" + DATA[4:])
    assert catalogue.state("tiny") == "corrupt"
    path.write_bytes(DATA[:-1] + b"x")
    assert catalogue.state("tiny") == "unverified"
    assert catalogue.verify("tiny") == "corrupt"
    assert catalogue.state("tiny") == "corrupt"
