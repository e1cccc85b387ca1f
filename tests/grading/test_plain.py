"""The decoder of what comes out of the sandbox: exactly plain data, or NotPlainError."""

import contextlib
import json
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gradlab.grading import plain

numbers = st.sampled_from(sorted(plain.DTYPES)).flatmap(
    lambda dtype: hnp.arrays(np.dtype(dtype), hnp.array_shapes(min_dims=0))
)
data = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**38), 10**38) | st.floats() | st.text() | numbers,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def same(a, b):
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.dtype == b.dtype and a.tobytes() == b.tobytes() and a.shape == b.shape
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    return type(a) is type(b) and (a == b or (a != a and b != b))


@given(data)
def test_plain_data_comes_back_as_it_was(value):
    assert same(value, plain.decode(plain.encode(value)))


@given(st.binary(max_size=200))
def test_any_bytes_give_data_or_an_error(whole):
    with contextlib.suppress(plain.NotPlainError):
        plain.decode(whole)


@given(data, st.integers(0), st.integers(0, 255))
def test_a_changed_byte_gives_data_or_an_error(value, place, byte):
    whole = bytearray(plain.encode(value))
    whole[place % len(whole)] = byte
    with contextlib.suppress(plain.NotPlainError):
        plain.decode(bytes(whole))


def message(tagged, blob=b""):
    text = json.dumps(tagged).encode()
    return struct.pack("<I", len(text)) + text + blob


@pytest.mark.parametrize(
    "whole",
    [
        message({"untagged": 1}),
        message([]),
        message(["z", 1]),
        message(["d", [1]]),
        message(["a", "O", [1]], bytes(8)),
        message(["a", "<f8", [2]], bytes(8)),
        message(["a", "<f8", [1]], bytes(16)),
        message(["a", "<f8", [-1]]),
        message(["a", "<f8", [2**62, 2**62]]),
        message(["a", "<f8", [0, 2**24, 2**24, 2**24]]),
        message(["a", "<f8", [1.0]], bytes(8)),
        message(["a", ["<f8"], [1]], bytes(8)),
        message(["a", "|V8", [1]], bytes(8)),
        message(["l"] + [1] * 300_000),
        b"\xff\xff\xff\xff",
        struct.pack("<I", 3) + b"9" * 3 + b"x",
        struct.pack("<I", 5000) + b"9" * 5000,
        struct.pack("<I", 100_000) + b"[" * 100_000,
        bytes(plain.MAX_BYTES + 1),
    ],
)
def test_what_is_not_exactly_right_is_refused(whole):
    with pytest.raises(plain.NotPlainError):
        plain.decode(whole)


def test_booleans_are_booleans_whatever_their_bytes():
    array = plain.decode(message(["a", "|b1", [3]], b"\x00\x02\xff"))
    assert array.view(np.uint8).tolist() == [0, 1, 1]


def test_objects_are_no_plain_data():
    deep = []
    for _ in range(50):
        deep = [deep]
    for value in (object(), {1: 2}, (1, 2), np.array([None]), np.float64(1), type("Int", (int,), {})(1), deep, {1}):
        with pytest.raises(plain.NotPlainError):
            plain.encode(value)


def test_lone_surrogates_do_not_get_through():
    plain.decode(message("\ud800")).encode()
