"""Problems large enough for several threads: one to four give the same counts and errors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import truerank as tr
from support.problems import Array, as_dtype, csr

pytestmark = pytest.mark.threads

Run = Callable[..., str]

SHAPES = {
    "tall": (120_000, 25, "float32"),
    "square": (2_000, 2_001, "float32"),
    "wide": (3, 1_500_001, "float32"),
    "one row": (1, 4_000_001, "float32"),
    "one row of bytes": (1, 10_000_001, "int8"),
    "wide doubles": (2, 1_500_001, "float64"),
    "square halves": (1_500, 3_003, "float16"),
    "tall brain floats": (60_000, 77, "bfloat16"),
}


def parallel_problem(name: str) -> tuple[Array, Array, Array]:
    """Return enough scores for several threads, with ties, and a target for each row."""
    height, width, dtype = SHAPES[name]
    rng = np.random.default_rng(9)
    scores = rng.integers(-100, 100, (height, width), np.int8)
    if dtype != "int8":
        scores = scores.astype(as_dtype(dtype))
    return scores, rng.integers(0, width, height), rng.integers(0, width, (height, 3))


@pytest.mark.parametrize("name", list(SHAPES))
def test_thread_counts_change_nothing(name: str) -> None:
    scores, targets, filters = parallel_problem(name)
    selection = csr(filters)
    each = np.arange(len(scores))
    true_scores = scores[each, targets][:, np.newaxis]
    inside = np.ones(scores.shape, bool)
    for lists in (None, selection):
        if lists is not None:
            np.put_along_axis(inside, filters, False, axis=1)
            inside[each, targets] = True
        first = tr.rank(scores, targets, filter=lists, threads=1, audit=True)
        np.testing.assert_array_equal(first.above, ((scores > true_scores) & inside).sum(1))
        np.testing.assert_array_equal(first.tied, ((scores == true_scores) & inside).sum(1))
        np.testing.assert_array_equal(first.candidates, inside.sum(1))
        for threads in (2, 3, 4, None):
            assert tr.rank(scores, targets, filter=lists, threads=threads, audit=True) == first
    # the same in Fortran order, with as many threads
    turned = tr.rank(np.asfortranarray(scores), targets, filter=selection, audit=True)
    assert turned == first


@pytest.mark.parametrize("name", ["tall", "square", "wide", "one row"])
def test_the_first_nan_is_named_for_any_thread_count(name: str) -> None:
    scores, targets, _ = parallel_problem(name)
    height, width = scores.shape
    row = height // 2
    column = width // 2
    where = [(height - 1, width - 1), (row, width - 1), (row, column), (height - 1, column + 1)]
    for r, c in where:
        scores[r, c] = np.nan
        expected = min(where[: where.index((r, c)) + 1])
        for threads in (1, 2, 4):
            with pytest.raises(ValueError, match=rf"row {expected[0]}\b.*column {expected[1]}\b"):
                tr.rank(scores, targets, threads=threads)


def test_a_daemon_thread_in_a_count_does_not_end_the_process(run_python: Run) -> None:
    """The interpreter shuts down while a thread is inside `rank`."""
    script = """
import threading, time
import numpy as np, truerank as tr
row = np.arange(100_000, dtype=np.float32)
scores = np.broadcast_to(row, (50_000, 100_000))
for _ in range(3):
    threading.Thread(target=tr.rank, args=(scores, 0), daemon=True).start()
time.sleep(0.2)
print("the main thread ends")
"""
    assert run_python(script).strip() == "the main thread ends"
