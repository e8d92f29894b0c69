"""Finding a formula behind points: the heuristic sees the places, the values stay outside, the error is measured."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray


def load(raw: Any) -> list[dict[str, Any]]:
    """Instances ``{"x": array, "y": array}`` from ``{"instances": [{"x": [number, …], "y": [number, …]}, …]}``."""
    instances: Any = cast("dict[str, Any]", raw).get("instances") if isinstance(raw, dict) else None
    if not isinstance(instances, list) or not instances:
        raise ValueError('expected {"instances": [{"x": [number, …], "y": [number, …]}, …]}')
    return [_points(points, number) for number, points in enumerate(cast("list[Any]", instances))]


def visible(instance: dict[str, Any]) -> dict[str, Any]:
    """The places alone: values that the candidate does not hold, it cannot hand back."""
    return {"x": instance["x"]}


def solve(heuristic: Callable[..., Any], visible: dict[str, Any]) -> Any:
    """The values that the heuristic gives for all places at once."""
    places: NDArray[np.float64] = np.array(visible["x"], dtype=np.float64)
    with np.errstate(all="ignore"):
        return np.asarray(heuristic(places))


def measure(solution: Any, instance: dict[str, Any]) -> float:
    """Root mean square of the differences."""
    values = np.asarray(solution)
    if values.shape != instance["y"].shape or values.dtype.kind not in "biuf":
        raise ValueError(f"gave an array of shape {values.shape}, {instance['y'].shape} numbers were expected")
    with np.errstate(all="ignore"):
        difference: NDArray[np.float64] = values.astype(np.float64) - instance["y"]
        error = math.sqrt(float(np.square(difference).mean()))
    if not math.isfinite(error):
        raise ValueError("gave values that are not finite")
    return error


def _points(raw: Any, number: int) -> dict[str, Any]:
    points: dict[str, Any] = cast("dict[str, Any]", raw) if isinstance(raw, dict) else {}
    arrays: dict[str, NDArray[np.float64]] = {}
    for key in ("x", "y"):
        values: Any = points.get(key)
        try:
            arrays[key] = np.array(values, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"instance {number}: a list of numbers was expected under {key!r}") from None
        if arrays[key].ndim != 1 or not arrays[key].size or not np.isfinite(arrays[key]).all():
            raise ValueError(f"instance {number}: a list of finite numbers was expected under {key!r}")
    if len(arrays["x"]) != len(arrays["y"]):
        raise ValueError(f"instance {number}: {len(arrays['x'])} numbers under 'x', {len(arrays['y'])} under 'y'")
    return dict(arrays)
