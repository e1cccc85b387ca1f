"""The only form in which data crosses the sandbox's wall: JSON, and raw numeric arrays behind it.

Plain data is None, bool, int, float, str, list, dict with str keys, numpy arrays of numbers. `decode` is handed hostile
bytes: it checks every size, dtype, shape, tag and depth before it makes anything, and raises `NotPlainError` otherwise.

Layout: four bytes length of the JSON, the JSON, the arrays' bytes one after the other. In the JSON a list is
`["l", ...]`, a dict `["d", {...}]`, an array `["a", dtype, shape]`, so that no value can pass for a tag.
"""

from __future__ import annotations

import json
import math
import struct
from typing import Any

import numpy as np

MAX_BYTES = 16 << 20
MAX_DEPTH = 32
MAX_ITEMS = 200_000
MAX_DIMENSIONS = 16
DTYPES = frozenset(
    np.dtype(code).str for code in ("?", "b", "B", "h", "H", "i", "I", "l", "L", "q", "Q", "e", "f", "d", "F", "D")
)


class NotPlainError(ValueError):
    """The data is no plain data, or larger than it may be."""


def encode(data: Any) -> bytes:
    """The bytes of plain data. NotPlainError for anything else.

    >>> decode(encode({"grad": np.ones(2), "name": None}))
    {'grad': array([1., 1.]), 'name': None}
    """
    arrays: list[bytes] = []
    text = json.dumps(_tag(data, arrays, 0)).encode()
    whole = struct.pack("<I", len(text)) + text + b"".join(arrays)
    if len(whole) > MAX_BYTES:
        raise NotPlainError(f"{len(whole):,} bytes; {MAX_BYTES:,} are the most")
    return whole


def _tag(data: Any, arrays: list[bytes], depth: int) -> Any:
    kind = type(data)
    if data is None or kind in (bool, int, float, str):
        return data
    if depth >= MAX_DEPTH:
        raise NotPlainError(f"nested deeper than {MAX_DEPTH}")
    if isinstance(data, dict):
        if not all(type(key) is str for key in data):
            raise NotPlainError("a dict with keys that are no str")
        return ["d", {key: _tag(value, arrays, depth + 1) for key, value in data.items()}]
    if isinstance(data, list):
        return ["l", *(_tag(value, arrays, depth + 1) for value in data)]
    if isinstance(data, np.ndarray) and data.dtype.newbyteorder("=").str in DTYPES:
        if data.nbytes > MAX_BYTES:
            raise NotPlainError(f"an array of {data.nbytes:,} bytes; {MAX_BYTES:,} are the most")
        native = np.asarray(data, dtype=data.dtype.newbyteorder("="))
        arrays.append(native.tobytes())
        return ["a", native.dtype.str, list(native.shape)]
    raise NotPlainError(f"{kind.__name__} is no plain data")


def decode(whole: bytes) -> Any:
    """Plain data from hostile bytes. NotPlainError when anything about them is not exactly right.

    >>> decode(b"four score")
    Traceback (most recent call last):
    gradlab.grading.plain.NotPlainError: the JSON's length is wrong
    """
    if len(whole) > MAX_BYTES:
        raise NotPlainError(f"{len(whole):,} bytes; {MAX_BYTES:,} are the most")
    if len(whole) < 4:
        raise NotPlainError("too short")
    (length,) = struct.unpack_from("<I", whole)
    if length > len(whole) - 4:
        raise NotPlainError("the JSON's length is wrong")
    try:
        tagged = json.loads(whole[4 : 4 + length].decode("utf-8"), parse_int=_integer)
    except NotPlainError:
        raise
    except (ValueError, RecursionError) as error:
        raise NotPlainError(f"no JSON: {type(error).__name__}") from None
    reader = _Reader(whole, 4 + length)
    data = reader.untag(tagged, 0)
    if reader.position != len(whole):
        raise NotPlainError("bytes are left over")
    return data


def _integer(digits: str) -> int:
    if len(digits) > 40:
        raise NotPlainError("an integer of more than 40 digits")
    return int(digits)


class _Reader:
    """Turns the tagged JSON back into data, taking the arrays' bytes in order."""

    def __init__(self, whole: bytes, position: int) -> None:
        self.whole, self.position, self.items = whole, position, 0

    def untag(self, tagged: Any, depth: int) -> Any:
        self.items += 1
        if self.items > MAX_ITEMS or depth > MAX_DEPTH:
            raise NotPlainError("too many items, or nested too deep")
        if isinstance(tagged, str):
            return _text(tagged)
        if not isinstance(tagged, (list, dict)):
            return tagged
        if isinstance(tagged, dict) or not tagged:
            raise NotPlainError("a value without a tag")
        tag, *rest = tagged
        if tag == "l":
            return [self.untag(value, depth + 1) for value in rest]
        if tag == "d" and len(rest) == 1 and isinstance(rest[0], dict):
            return {_text(key): self.untag(value, depth + 1) for key, value in rest[0].items()}
        if tag == "a" and len(rest) == 2:
            return self._array(*rest)
        raise NotPlainError("an unknown tag")

    def _array(self, dtype: Any, shape: Any) -> np.ndarray:
        if not isinstance(dtype, str) or dtype not in DTYPES:
            raise NotPlainError("an array of an unknown dtype")
        if not isinstance(shape, list) or len(shape) > MAX_DIMENSIONS:
            raise NotPlainError("an array of an unknown shape")
        if not all(type(size) is int and 0 <= size <= MAX_BYTES for size in shape):
            raise NotPlainError("an array with an impossible size")
        count = math.prod(shape)
        size = count * np.dtype(dtype).itemsize
        if size > len(self.whole) - self.position:
            raise NotPlainError("an array longer than its bytes")
        try:
            array = np.frombuffer(self.whole, dtype, count, self.position).reshape(shape)
        except ValueError:
            raise NotPlainError("an array with an impossible size") from None
        self.position += size
        return np.asarray(array.view(np.uint8) != 0) if dtype == "|b1" else array.copy()


def _text(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
