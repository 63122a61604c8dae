"""`rank`: dtypes, layouts, rows, selections, rules and errors against the definition."""

from __future__ import annotations

import array
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse
from hypothesis import strategies as st

import truerank as tr
from fuzz.check import Fault, check
from oracles.counting import count, count_large
from strategies.count_problems import Problem
from support.outcomes import check as compare
from support.problems import LAYOUTS, csr, dtype_keyword, pool
from support.refusals import is_of_kind

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


def outcome_of(call: Callable[[], tr.Ranks]) -> tr.Ranks | Exception:
    try:
        return call()
    except (ValueError, TypeError) as error:
        return error


def damaged_csr() -> Any:
    found = scipy.sparse.csr_array(([1.0], ([0], [3])), (3, 4))
    found.indices[0] = -7
    return found


SCORES = np.array([[0.1, 0.9, 0.5, 0.5], [0.7, 0.2, 0.2, 0.3], [0, 0, 1, 1]])
RECURSIVE: list[Any] = []
RECURSIVE.append(RECURSIVE)
ENDLESS = np.broadcast_to(np.int64(0), (2**59,))
ENDLESS_ROWS = np.broadcast_to(np.float32(0), (2**60, 1))
STARTS = ([0, 1, 2, 9], [0, 2, 1, 3], [1, 2, 3, 3], [0, -1, 2, 3], [0, 2**63 - 1, -(2**63), 3])
HOSTILE: list[Any] = [
    None,
    True,
    3,
    -1,
    3.5,
    float("nan"),
    1j,
    "",
    "text",
    "\0",
    "\udcff",
    b"\0\1\2",
    object(),
]
HOSTILE += [2**n for n in (31, 32, 62, 63, 64, 200)]
HOSTILE += [-(2**n) for n in (31, 63, 64)]
HOSTILE += [[], [[]], [[0], [1, 2], []], [[[[0]]]], RECURSIVE, [None] * 3, ["0", "1", "2"]]
HOSTILE += [
    [2**63, 0, 2**64],
    [0.0, 1.0, 2.0],
    [0, 1.0, True],
    [True, False, True],
    {0: 1},
    {0, 1, 2},
]
HOSTILE += [int, len, range(3), memoryview(b"\0\1\2"), array.array("q", [0, 1, 2]), np.dtype("f4")]
HOSTILE += [
    np.ma.masked_array([0, 1, 2], [True, False, True]),
    np.array([[0, 1, 2]]).view(np.matrix),
]
HOSTILE += [np.array([0, None, "x"], object), np.array([0, 1, 2], object), np.int8(2), np.array(1)]
HOSTILE += [np.zeros((1, 3, 4)), np.zeros((1,) * 33, np.int64), np.zeros((0, 4)), np.zeros((3, 0))]
HOSTILE += [np.zeros(3, name) for name in ("?", "f2", "c8", "M8[s]", "i4,f4")]
HOSTILE += [np.zeros((3, 4), name) for name in ("m8", "S3", "U3", "V3")]
HOSTILE += [ENDLESS, ENDLESS_ROWS, csr([[0], [1], [2]]), ([0], [0], [0], [0]), ([0, 1, 2, 3],)]
HOSTILE += [(np.array(starts), np.arange(3)) for starts in STARTS]
HOSTILE += [
    (np.array([0, 1, 2, 2**64 - 1], np.uint64), np.arange(3)),
    (np.array([0, 3]), np.array([0, 1, 2]), np.array([0, 0, 1])),
    (np.array([0]), np.array([], np.int64), np.array([0, 0, 0])),
]
HOSTILE += [scipy.sparse.coo_array(([1.0], ([0], [3])), (3, 4)), scipy.sparse.csr_matrix((9, 9))]
HOSTILE += [damaged_csr()]
ARGUMENTS = ("scores", "targets", "rows", "filter", "candidates", "order", "nan", "dtype")
ARGUMENTS += ("threads", "audit", "io", "progress", "checkpoint")
VALUES = st.sampled_from(HOSTILE) | st.builds(lambda: (n for n in range(3)))


@check(st.dictionaries(st.sampled_from(ARGUMENTS), VALUES, max_size=2), inputs=200)
def hostile(given: dict[str, Any]) -> None:
    """Whatever the arguments are, there are ranks, or an error of the package's own."""
    # It would take years to count these, or they are called and then raise errors of their own.
    if given.get("scores") is ENDLESS or callable(given.get("progress")):
        return
    try:
        got = outcome_of(lambda: tr.rank(**{"scores": SCORES, "targets": [2, 1, 0]} | given))
    except OSError:
        # A text, or one in a list, is the path of a file.
        assert {"scores", "checkpoint"} & set(given)
        return
    except MemoryError:
        assert any(value is ENDLESS or value is ENDLESS_ROWS for value in given.values())
        return
    if isinstance(got, Exception):
        assert is_of_kind(got, ValueError) or is_of_kind(got, TypeError), repr(got)
        assert type(got) not in (ValueError, TypeError), repr(got)
        return
    assert (got.tied >= 1).all()
    assert (got.above + got.tied <= got.candidates).all()


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
