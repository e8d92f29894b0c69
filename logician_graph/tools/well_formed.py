"""Whether a file that was just written can be read by what its name says it is for. Pure; nothing is run.

A model that wrote something malformed hears of it with the result of its call, where it can still mend it.
"""

from __future__ import annotations

import json
import tomllib
import warnings
from pathlib import PurePosixPath

_LARGEST = {".json": 500_000, ".py": 100_000, ".toml": 20_000}
"""Characters; a longer file is not checked: the readers take quadratic time for some hostile ones."""


def flaw(path: str, text: str) -> str | None:
    """What is wrong with ``text`` as the content of ``path``, in words; None when nothing is."""
    kind = PurePosixPath(path).suffix.lower()
    if kind not in _LARGEST or len(text) > _LARGEST[kind] or not text.strip():
        return None
    try:
        match kind:
            case ".json":
                json.loads(text)
            case ".toml":
                tomllib.loads(text)
            case _:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    compile(text, path, "exec", dont_inherit=True)
    except json.JSONDecodeError as error:
        return _asked("JSON", f"{error.msg} at line {error.lineno}, column {error.colno}")
    except tomllib.TOMLDecodeError as error:
        return _asked("TOML", str(error))
    except SyntaxError as error:
        line = (error.text or "").strip()[:120]
        return _asked("Python", f"{error.msg} at line {error.lineno or 1}" + (f": {line}" if line else ""))
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        return f"But it cannot be read: {str(error) or type(error).__name__}."
    return None


def _asked(language: str, why: str) -> str:
    return f"But it is not valid {language} ({why}). Mend that now."
