"""`rank`: dtypes, layouts, rows, selections, rules and errors against the definition."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from doors.asking import ask
from doors.odd_values import ODD_ARGUMENTS, Maker
from fuzz.check import Fault, check
from oracles.counting import count, count_large
from strategies.count_problems import Problem
from support.outcomes import check as compare
from support.problems import LAYOUTS, dtype_keyword, pool

CORE = True
TESTS = ("counting/test_ranking.py",)


# Rows, columns and tasks beyond what is packed, cached, counted or sorted at a time.
LARGE = [(1, 1_200_000, 3), (3, 300_000, 12), (40, 20_000, 60), (3000, 700, 600), (300_000, 4, 900)]


@st.composite
def large_problems(draw: st.DrawFn) -> Problem:
    """Draw large matrices and lists, with sizes that shrink."""
    rows, columns, tasks = (draw(st.integers(1, n)) for n in draw(st.sampled_from(LARGE)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    kind = draw(st.sampled_from(["float16", "bfloat16", "float32", "float64", "int8", "uint64"]))
    values = rng.choice(pool(kind), draw(st.sampled_from([2, 30])))
    layout = draw(st.sampled_from(["C", "Fortran", "steps", "negative both", "byte-swapped"]))
    scores = LAYOUTS[layout](values[rng.integers(0, len(values), (rows, columns))])
    targets = rng.integers(0, columns, tasks)
    keywords: dict[str, Any] = {"rows": rng.integers(0, rows, tasks).tolist()}
    most = draw(st.sampled_from([0, 10, columns // 3, 2 * columns]))
    if draw(st.booleans()):
        lists = [rng.integers(0, columns, rng.integers(0, most + 1)) for _ in range(3)]
        keywords["filter"] = [lists[i] for i in rng.integers(0, 3, tasks)]
        keywords["filter_form"] = draw(st.sampled_from(["csr int32", "csr int64", "lists int64"]))
    if draw(st.booleans()):
        chosen = np.concatenate([rng.integers(0, columns, most), targets])
        keywords["candidates"] = [chosen] * tasks
        keywords["candidates_form"] = "shared int64"
    keywords["nan"] = draw(st.sampled_from(["raise", "worst", "omit"]))
    keywords["order"] = draw(st.sampled_from(["descending", "ascending"]))
    keywords["audit"] = draw(st.booleans())
    keywords["threads"] = draw(st.sampled_from([1, 2, 4]))
    return Problem(scores, targets.tolist(), keywords | {"dtype": dtype_keyword(kind)})


@check(large_problems(), inputs=5)
def counts_beyond_a_chunk(problem: Problem) -> None:
    compare(count_large, problem.scores, problem.targets, **problem.keywords)


@check(
    st.tuples(st.integers(0, 5), st.integers(1, 70)),
    st.tuples(st.integers(-40, 40), st.integers(-40, 40)),
    st.sampled_from(["<f4", ">f4", "<f8", "<f2", "i1", "<i8", ">u2"]),
    st.sampled_from(["worst", "omit", "raise"]),
    st.integers(0, 2**32),
)
def strides(
    shape: tuple[int, int], steps: tuple[int, int], dtype: str, nan: str, seed: int
) -> None:
    """Scores may lie anywhere: at odd addresses, over each other, all in one place."""
    rng = np.random.default_rng(seed)
    reach = [(n - 1) * step for n, step in zip(shape, steps, strict=True)]
    before = -sum(min(0, r) for r in reach)
    size = before + sum(max(0, r) for r in reach) + np.dtype(dtype).itemsize
    # Few bytes, so that scores tie; they are next to NaN, and to the largest numbers.
    memory = rng.choice(np.array([0, 1, 0x7F, 0x80, 0xFF], np.uint8), max(0, size) + 7)
    scores: Any = np.ndarray(shape, dtype, memory.data, before, steps)
    targets = rng.integers(0, shape[1], shape[0]).tolist()
    compare(count, scores, targets, nan=nan, audit=True)


@check(ODD_ARGUMENTS, inputs=200)
def hostile(odd: list[tuple[int, Maker]]) -> None:
    ask("rank", odd)


FAULTS = [
    Fault(
        "an off-by-one in a filter",
        "cpp/engine/selection.cpp",
        "std::sort(first, first + n);",
        "std::sort(first, first + n - 1);",
    ),
    Fault(
        "a bound made too tight",
        "cpp/bind/calls.cpp",
        "return v < least || v >= bound; });",
        "return v < least || v >= bound - 1; });",
    ),
    Fault(
        "a checked size left out",
        "python/truerank/inputs/selection.py",
        "if indptr[0] != 0 or indptr[-1] != entries or",
        "if indptr[0] != 0 or",
    ),
]
