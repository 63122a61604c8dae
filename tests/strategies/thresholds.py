"""Thresholds drawn by hypothesis, in every form, and the same as Python numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
from hypothesis import event
from hypothesis import strategies as st

from oracles.counting import Refused, exact
from support.outcomes import are_refused, attempt

# Neighbours of what floats of 16 to 64 bits can be, and of the limits of integers.
ODD: list[Any] = [0.1, -0.1, 1 / 3, 0.5, -0.0, 2.5, 65519.9, 65520.0, 3.39e38, 3.5e38, -3.5e38]
ODD += [1e300, -1e300, 1e-45, 7e-46, -7e-46, 5e-324, -5e-324, 6e-8, 2e-8, float("inf")]
ODD += [-float("inf"), 1 + 2**-23, 1 + 2**-24, 1 - 2**-53, 16777217.0, 2.0**63, -(2.0**63), 1e19]
ODD += [0, 1, -1, 127, 128, -128, -129, 255, 256, 2**24 + 1, 2**53 + 1, -(2**53) - 1]
ODD += [2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 2**64 - 1, 2**64, 10**30, -(10**400), 10**400]

FORMS: dict[str, Callable[[Any], Any]] = {
    "python": lambda x: x,
    "float64": lambda x: np.array(x, np.float64),
    "big-endian": lambda x: np.array(x, ">f8"),
    "float32": lambda x: np.array(x, np.float32),
    "float16": lambda x: np.array(x, np.float16),
    "bfloat16": lambda x: np.array(x, np.float64).astype(ml_dtypes.bfloat16),
    "int64": lambda x: np.array(x, np.int64),
    "uint64": lambda x: np.array(x, np.uint64),
    "int8 steps": lambda x: np.repeat(np.array(x, np.int8), 2, axis=0)[::2],
}
# What each form can hold; others are drawn again as its nearest number.
BOUNDS = {"int64": (-(2**63), 2**63 - 1), "uint64": (0, 2**64 - 1), "int8 steps": (-128, 127)}


class Thresholds(NamedTuple):
    given: Any
    plain: Any  # as Python numbers


def within_doubles(x: Any) -> float:
    """Return a float as it is, and an integer as one that is finite."""
    if isinstance(x, float):
        return x
    return float(min(max(x, -1e300), 1e300))


@st.composite
def thresholds(draw: st.DrawFn, scores: Any, dtype: str | None, tasks: int) -> Thresholds:
    """Draw one threshold for all tasks, one for each, or several for each."""
    own = [x for row in exact(scores, dtype) for x in row[:20] if x == x]
    value = st.sampled_from(own + ODD)
    number = draw(st.sampled_from(["one", "each", "each", "several", "several", "none"]))
    shape = {"one": (), "each": (tasks,), "none": (tasks, 0)}.get(number)
    if shape is None:
        shape = (tasks, draw(st.integers(1, 9)))
    form = draw(st.sampled_from(list(FORMS)))
    size = int(np.prod(shape, dtype=int))
    numbers = draw(st.lists(value, min_size=size, max_size=size))
    if form in BOUNDS:
        least, most = BOUNDS[form]
        numbers = [int(min(max(x, least), most)) for x in numbers]
    elif form != "python":
        numbers = [within_doubles(x) for x in numbers]
    table: Any = numbers
    if number == "one":
        table = numbers[0]
    elif len(shape) == 2:
        table = [numbers[i * shape[1] : (i + 1) * shape[1]] for i in range(tasks)]
    if form == "python" and size:
        return Thresholds(table, table)
    if form == "python":
        form = "float64"
    with np.errstate(over="ignore"):
        array = FORMS[form](table).reshape(shape)
    plain = array
    if form == "bfloat16":
        plain = array.astype(np.float64)
    return Thresholds(array, plain.tolist())


def compare(
    call: Callable[[], Any],
    definition: Callable[[], Any],
    shape: tuple[int, ...],
    assert_refused: Callable[[Exception, Refused], None] | None,
) -> None:
    """Compare counts, or refusals, with the definition; None: an error may name another place."""
    expected = attempt(definition)
    got = attempt(call)
    if are_refused(got, expected):
        event("refused")
        if assert_refused is not None:
            assert_refused(got, expected)
        return
    for one, other in zip(got, expected, strict=True):
        np.testing.assert_array_equal(one, other.reshape(shape), strict=True)
