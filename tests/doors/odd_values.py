"""Values that people hand over by mistake, and one meaning in many forms.

`ODD` are wrong nearly everywhere, and legal here and there. Each is made anew for each call, since
some can be read only once.
"""

from __future__ import annotations

import array
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import numpy as np
from hypothesis import strategies as st

Maker = Callable[[], Any]
HUGE = 1 << 50  # entries that are declared and that no memory holds


def made_by(library: str, values: dict[str, Callable[[Any], Any]]) -> dict[str, Maker]:
    """Return values that a library makes, which is imported when they are; none without it."""

    def maker(make: Callable[[Any], Any]) -> Maker:
        return lambda: make(import_module(library))

    name = library.partition(".")[0]
    if find_spec(name) is None:
        return {}
    return {f"{name}: {text}": maker(make) for text, make in values.items()}


def _recursive() -> list[Any]:
    values: list[Any] = []
    values.append(values)
    return values


PLAIN: dict[str, Maker] = {
    "None": lambda: None,
    "True": lambda: True,
    "a float": lambda: 0.5,
    "a whole float": lambda: 1.0,
    "NaN": lambda: math.nan,
    "a negative integer": lambda: -1,
    "an integer of 63 bits": lambda: 1 << 62,
    "an integer of 64 bits": lambda: 1 << 63,
    "an integer beyond 64 bits": lambda: 1 << 70,
    "infinity": lambda: -math.inf,
    "the least float": lambda: 5e-324,
    "a fraction": lambda: Fraction(1, 3),
    "a complex number": lambda: 1j,
    "a word": lambda: "nothing-of-that-name",
    "no letters": lambda: "",
    "a NUL": lambda: "\0",
    "half of a pair of surrogates": lambda: "\udcff",
    "a metric": lambda: "mr",
    "a cutoff of 5,000 digits": lambda: "hits@" + "9" * 5000,
    "bytes": lambda: b"bytes",
    "a path that is not there": lambda: Path("not") / "there.tsv",
    "an empty list": list,
    "an empty tuple": tuple,
    "an empty dict": dict,
    "a dict": lambda: {"a": 1},
    "a dict of lists": lambda: {0: [1, 2]},
    "a set": lambda: {0, 1},
    "a generator": lambda: (number for number in (0, 1)),
    "a range": lambda: range(3),
    "a huge range": lambda: range(1 << 62),
    "a list that contains itself": _recursive,
    "a view of memory": lambda: memoryview(b"\0\1\2"),
    "an array of the standard library": lambda: array.array("q", [0, 1, 2]),
    "a type of numpy": lambda: np.dtype("f4"),
    "rows of unequal length": lambda: [[0, 1], [2]],
    "None in a list": lambda: [None, None],
    "labels in a list": lambda: ["a", "b"],
    "integers and labels": lambda: [0, "a"],
    "integers beyond 64 bits": lambda: [1 << 70, 1],
    "integers and floats that round": lambda: [[(1 << 53) + 1, 2.0**53], [1, 2]],
    "an object": lambda: object(),
    "a class": lambda: Mock,  # which takes whatever it is called with
    "a function": lambda: repr,  # takes a Progress, too
    "a module": lambda: math,
    "an object with attributes": lambda: SimpleNamespace(shape=3, dtype="int64"),
}

ARRAYS: dict[str, Maker] = {
    "a 0-d array": lambda: np.array(1),
    "an empty array": lambda: np.zeros(0),
    "an empty matrix": lambda: np.zeros((0, 3)),
    "three dimensions": lambda: np.zeros((2, 2, 2)),
    "floats that are whole": lambda: np.array([0.0, 1.0, 2.0]),
    "floats with NaN": lambda: np.array([0.5, math.nan, 0.1]),
    "negative integers": lambda: np.array([-1, -5]),
    "integers of 64 bits": lambda: np.array([1 << 63, 1], dtype=np.uint64),
    "booleans": lambda: np.array([True, False, True]),
    "a mask of integers": lambda: np.array([0, 1, 1, 1]),
    "numbers as objects": lambda: np.array([1, 2], dtype=object),
    "numbers that overflow in a sum": lambda: np.array([1e308, 1e308]),
    "33 dimensions": lambda: np.zeros((1,) * 33, np.int64),
    "a matrix of numpy": lambda: np.array([[0, 1, 2]]).view(np.matrix),
    "bytes of three": lambda: np.zeros((3, 4), "S3"),
    "raw bits": lambda: np.zeros((3, 4), "V3"),
    "complex numbers": lambda: np.array([1j, 2.0, 3.0]),
    "labels as objects": lambda: np.array(["a", "b", "c"], dtype=object),
    "labels as a matrix": lambda: np.array([["a", "b", "c"]]),
    "None as objects": lambda: np.array([None, None, None], dtype=object),
    "dates": lambda: np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]"),
    "a structured array": lambda: np.zeros(3, dtype=[("id", int), ("score", float)]),
    "masked integers": lambda: np.ma.masked_array([0, 1, 2], mask=[0, 1, 0]),
    "masked floats": lambda: np.ma.masked_array([0.5, 0.25, 1.0], mask=[0, 1, 0]),
    "an array that declares 2**50 entries": lambda: np.broadcast_to(np.int64(0), (HUGE,)),
    "a matrix that declares 2**50 columns": lambda: np.broadcast_to(np.float32(0), (3, HUGE)),
}

# Selections, and what is amiss with their starts.
STARTS = ([0, 1, 2, 9], [0, 2, 1, 3], [1, 2, 3, 3], [0, -1, 2, 3], [0, 2**63 - 1, -(2**63), 3], [0])
SELECTIONS: dict[str, Maker] = {
    f"a selection that starts at {starts}": lambda starts=starts: (np.array(starts), np.arange(3))
    for starts in STARTS
}
SELECTIONS["a selection with lists"] = lambda: (np.array([0, 3]), np.arange(3), np.array([0, 0, 1]))

PANDAS: dict[str, Callable[[Any], Any]] = {
    "a Series": lambda pd: pd.Series([0, 1, 2]),
    "a Series with an index": lambda pd: pd.Series([0, 1, 2], index=[7, 8, 9]),
    "a Series backwards": lambda pd: pd.Series([0, 1, 2]).iloc[::-1],
    "a frame of named rows": lambda pd: pd.DataFrame(np.eye(3), index=["a", "b", None]),
    "a frame of tuples": lambda pd: pd.DataFrame({("a", 0): [0.5], ("b", 1): [0.25]}),
    "an integer Series with gaps": lambda pd: pd.Series([0, None, 2], dtype="Int64"),
    "categories": lambda pd: pd.Series(["a", "b", "a"], dtype="category"),
    "a frame": lambda pd: pd.DataFrame({"query": ["a", "b"], "score": [0.5, 0.25]}),
    "an empty frame": lambda pd: pd.DataFrame(),
    "two Series": lambda pd: (pd.Series([0, 1]), pd.Series([1, 2])),
}

POLARS: dict[str, Callable[[Any], Any]] = {
    "a Series": lambda pl: pl.Series("ids", [0, 1, 2]),
    "a Series with nulls": lambda pl: pl.Series("ids", [0, None, 2]),
    "a frame": lambda pl: pl.DataFrame({"query": ["a", "b"], "score": [0.5, 0.25]}),
}

ARROW: dict[str, Callable[[Any], Any]] = {
    "an array": lambda pa: pa.array([0, 1, 2]),
    "an array with nulls": lambda pa: pa.array([0, None, 2]),
    "a table": lambda pa: pa.table({"query": ["a", "b"], "score": [0.5, 0.25]}),
}

SPARSE: dict[str, Callable[[Any], Any]] = {
    "a damaged one": lambda sparse: sparse.csr_array(([1.0], [-7], [0, 1, 1, 1]), (3, 4)),
    "a matrix without entries": lambda sparse: sparse.csr_matrix((9, 9)),
    "a matrix in COO": lambda sparse: sparse.coo_matrix(np.eye(3)),
    "an array in LIL": lambda sparse: sparse.lil_array(np.eye(2, 3)),
}

TORCH: dict[str, Callable[[Any], Any]] = {
    "integers": lambda torch: torch.tensor([0, 1, 2]),
    "with a gradient": lambda torch: torch.tensor([0.5, 0.25, 1.0], requires_grad=True),
    "a sparse one": lambda torch: torch.eye(3).to_sparse(),
    "on no device": lambda torch: torch.zeros(3, device="meta"),
    "of no dimensions": lambda torch: torch.tensor(1),
}

ODD = PLAIN | ARRAYS | SELECTIONS | made_by("pandas", PANDAS) | made_by("scipy.sparse", SPARSE)
# What the README's test line does not install.
ODD_OF_TOOLKITS = made_by("polars", POLARS) | made_by("pyarrow", ARROW) | made_by("torch", TORCH)


def containers(members: st.SearchStrategy[Maker]) -> st.SearchStrategy[Maker]:
    """Draw what makes a list, a tuple or a dict of what others make."""
    few = st.lists(members, min_size=1, max_size=3)
    kinds = st.sampled_from(
        [list, tuple, lambda x: dict(enumerate(x)), lambda x: dict(zip("aqt", x, strict=False))]
    )
    return st.builds(lambda kind, made: lambda: kind([make() for make in made]), kinds, few)


# Several odd values, each with a number that chooses an argument.
MAKERS = st.recursive(st.sampled_from(list(ODD.values())), containers, max_leaves=4)
ODD_ARGUMENTS = st.lists(st.tuples(st.integers(0, 20), MAKERS), max_size=3)


def in_other_forms(values: Any) -> Iterator[tuple[str, Any]]:
    """Yield what a list or an array says in the containers of numpy and of installed libraries."""
    array = np.asarray(values)
    yield "an array", array.copy()
    yield "an array in the other order", np.asfortranarray(array)
    yield "an array of objects", array.astype(object)
    yield "lists", array.tolist()
    yield "every second entry of a longer array", np.repeat(array, 2, axis=-1)[..., ::2]
    if find_spec("pandas") is not None:
        pandas = import_module("pandas")
        kinds = {1: pandas.Series, 2: pandas.DataFrame}
        yield "pandas", kinds[array.ndim](array)
    if find_spec("polars") is not None and array.ndim == 1:
        yield "polars", import_module("polars").Series(array)
    if find_spec("pyarrow") is not None and array.ndim == 1:
        yield "pyarrow", import_module("pyarrow").array(array)
    if find_spec("torch") is not None and array.dtype.kind in "if":
        yield "torch", import_module("torch").tensor(array)
