from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from logician_graph.eoh.evaluator.worker import wire

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5) | st.integers(), inner, max_size=4),
    max_leaves=20,
)
DTYPES = arrays.boolean_dtypes() | arrays.integer_dtypes() | arrays.floating_dtypes() | arrays.complex_number_dtypes()


def through(value: Any) -> Any:
    text, raw = wire.encode(value)
    return wire.decode(text, b"".join(part.tobytes() for part in raw))


@given(PLAIN)
def test_plain_data_arrives_as_it_was(value: Any) -> None:
    assert through(value) == value


@given(arrays.arrays(DTYPES, arrays.array_shapes(min_dims=0, min_side=0, max_side=4)))
def test_arrays_arrive_as_they_were(value: Any) -> None:
    got = through({"a": [value, value]})["a"][1]
    assert got.dtype == value.dtype and got.shape == value.shape
    assert np.array_equal(got, value, equal_nan=value.dtype.kind in "fc")


def test_views_with_any_layout_arrive() -> None:
    for value in (np.arange(12).reshape(3, 4).T[::-1, ::2], np.asfortranarray(np.eye(3)), np.broadcast_to(1.5, (2, 2))):
        assert np.array_equal(through(value), value)


@given(st.binary(max_size=200), st.binary(max_size=50))
def test_any_bytes_are_a_solution_or_a_value_error(text: bytes, raw: bytes) -> None:
    try:
        wire.decode(text, raw)
    except ValueError:
        return


@pytest.mark.parametrize(
    "forged",
    [
        ["<f8", [2], 0], ["<f8", [-1], 0], ["<f8", [1], -8], ["<f8", [1], 8], ["|O", [1], 0], ["<U2", [1], 0],
        ["<f8", [2**40, 2**40], 0], ["<f8", [True], 0], ["<f8", [0] * 65, 0], ["<f8", 3, 0], ["<f8", [1.0], 0],
        ["M8", [1], 0], [7, [1], 0], ["<f8", [1]], ["<f3", [1], 0], ["", [1], 0],
    ],
)  # fmt: skip
def test_a_forged_array_is_refused(forged: Any) -> None:
    with pytest.raises(ValueError):
        wire.decode(json.dumps({"array": forged}).encode(), bytes(8))


def test_a_forged_truth_value_counts_once() -> None:
    got = wire.decode(json.dumps({"array": ["|b1", [2], 0]}).encode(), bytes([2, 0]))
    assert got.sum() == 1


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"map": 3}', '{"map": [[1]]}', '{"other": 1}', "{}", '{"map": [[{}, 1]]}', "9" * 5000]
)
def test_forged_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        wire.decode(text.encode(), b"")


def test_subclasses_bring_no_methods_of_their_own() -> None:
    class Sly(list[int]):
        def __len__(self) -> int:
            raise AssertionError

    with pytest.raises(TypeError):
        wire.encode(Sly())
