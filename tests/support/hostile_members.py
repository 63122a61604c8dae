"""Saved files in which one member is of any other kind."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from support.environment import SANITIZED
from support.examples import some
from truerank import InputError

HEADER = "truerank"  # This member holds the description, in JSON.
BOUNDS = (2**64 - 1, 2**62, -1, -(2**63))
JSON = (None, True, -1, 2**64, float("nan"), "", [], {"a": 1}, 10**400)


def arrays_like(array: Any) -> Iterator[Any]:
    """Give arrays of the same shape with other values and dtypes, and of other shapes."""
    shape = array.shape
    for bound in BOUNDS:
        mixed = np.full(shape, bound, np.uint64 if bound >= 2**63 else np.int64)
        yield mixed
        if array.size > 1:
            mixed = mixed.copy()
            mixed.flat[:-1] = 0
            yield from (mixed, np.roll(mixed, 1))
    for dtype in (np.uint64, np.float64, np.bool_, "U3", ">i8"):
        yield from (np.zeros(shape, dtype), np.ones(shape, dtype))
    yield from (np.full(shape, value) for value in (np.nan, np.inf, -np.inf, 1e300))
    yield from (
        np.zeros(other, array.dtype) for other in ((), (0,), (1,), (*shape, 1), (1, *shape))
    )
    if array.dtype == np.int64:
        yield np.arange(array.size).reshape(shape)
        yield array[:-1] if array.ndim else array[None]
        yield np.concatenate([array, array]) if array.ndim else array


def values_like(value: Any) -> Iterator[Any]:
    """Give other values of JSON, also within objects and arrays, and objects without a name."""
    yield from JSON
    if isinstance(value, dict):
        for name, inner in value.items():
            yield {key: other for key, other in value.items() if key != name}
            yield from (value | {name: other} for other in values_like(inner))
    elif isinstance(value, list):
        yield value + value
        yield from ([other, *value[1:]] for other in JSON)


def text_array(value: Any) -> Any:
    """Return a value as an array of JSON, as headers are."""
    return np.frombuffer(json.dumps(value).encode(), np.uint8)


def rewrite(path: Path, **changes: Any) -> None:
    """Replace members of a file; None removes one. A dict replaces fields of the header."""
    with np.load(path) as archive:
        members = dict(archive)
    if isinstance(changes.get(HEADER), dict):
        changes[HEADER] = text_array(json.loads(members[HEADER].tobytes()) | changes[HEADER])
    with path.open("wb") as file:
        np.savez(file, **{k: v for k, v in (members | changes).items() if v is not None})


def hostile_files(path: Path) -> Iterator[str]:
    """Replace each member of the file in turn, by everything else; give the member's name.

    Under a sanitizer, the header is not replaced by other JSON: Python alone reads it.
    """
    whole = path.read_bytes()
    with np.load(path) as archive:
        members = dict(archive)
    for name, array in members.items():
        others = [None, *arrays_like(array)]
        if name == HEADER:
            others += [np.frombuffer(word, np.uint8) for word in (b"[" * 99_999, b"\xff\xfe", b"")]
            if not SANITIZED:
                others += map(text_array, values_like(json.loads(array.tobytes())))
        # The first one, None, leaves the member out, which must be refused.
        for other in some(others):
            path.write_bytes(whole)
            rewrite(path, **{name: other})
            yield name


def check_refusal(error: Exception, path: Path) -> None:
    """Check that an error is one of ours, in one line, and names the file."""
    assert isinstance(error, InputError)
    assert isinstance(error, ValueError)
    text = str(error)
    assert str(path) in text
    assert "\n" not in text
    for leak in ("ufunc", "numpy.", "__init__", "constructor", "unhashable", "operand"):
        assert leak not in text
