"""Problems large enough for several threads: one to four give the same counts and errors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import truerank as tr
from oracles.counting import count_large
from support.problems import Array, as_dtype, check, csr, index_lists

pytestmark = pytest.mark.threads

Run = Callable[..., str]

SHAPES = {
    "tall": (240_000, 25, "float32"),
    "square": (3_500, 3_501, "float32"),
    "wide": (3, 4_000_001, "float32"),
    "one row": (1, 6_000_001, "float32"),
    "one row of bytes": (1, 20_000_001, "int8"),
    "wide doubles": (2, 3_000_001, "float64"),
    "square halves": (2_000, 5_003, "float16"),
    "tall brain floats": (100_000, 77, "bfloat16"),
}


def parallel_problem(name: str) -> tuple[Array, Array, Array]:
    """Return enough scores for several threads, with ties, and a target for each row."""
    height, width, dtype = SHAPES[name]
    rng = np.random.default_rng(9)
    scores = rng.integers(-100, 100, (height, width), np.int8)
    if dtype != "int8":
        scores = scores.astype(as_dtype(dtype))
    return scores, rng.integers(0, width, height), rng.integers(0, width, (height, 3))


def plain(
    scores: Array, targets: Array, filters: Array | None = None
) -> tuple[Array, Array, Array]:
    """Count by textbook expressions, for one task per row with equally many filter entries."""
    above, tied, size = [], [], []
    step = max(1, 2**22 // scores.shape[1])
    for start in range(0, len(scores), step):
        block = scores[start : start + step]
        if block.dtype.name in ("float16", "bfloat16"):
            block = block.astype(np.float32)
        target = targets[start : start + step, np.newaxis]
        true_scores = np.take_along_axis(block, target, axis=1)
        left = np.ones(block.shape, bool)
        if filters is not None:
            np.put_along_axis(left, filters[start : start + step], False, axis=1)
            np.put_along_axis(left, target, True, axis=1)
        above.append((left & (block > true_scores)).sum(1))
        tied.append((left & (block == true_scores)).sum(1))
        size.append(left.sum(1))
    return np.concatenate(above), np.concatenate(tied), np.concatenate(size)


@pytest.mark.parametrize("name", list(SHAPES))
def test_thread_counts_change_nothing(name: str) -> None:
    scores, targets, filters = parallel_problem(name)
    for selection, columns in ((None, None), (csr(filters), filters)):
        expected = plain(scores, targets, columns)
        first = None
        for threads in (1, 2, 3, 4, None):
            ranks = tr.rank(scores, targets, filter=selection, threads=threads, audit=True)
            for got, counts in zip(
                (ranks.above, ranks.tied, ranks.candidates), expected, strict=True
            ):
                np.testing.assert_array_equal(got, counts)
            first = first or ranks
            assert ranks == first
    # the same in Fortran order, with as many threads
    turned = tr.rank(np.asfortranarray(scores), targets, filter=csr(filters), audit=True)
    assert turned == first


@pytest.mark.parametrize("name", ["square", "wide", "one row", "tall brain floats"])
def test_several_tasks_a_row_in_threads(name: str) -> None:
    scores, _, _ = parallel_problem(name)
    height, width = scores.shape
    rng = np.random.default_rng(10)
    tasks = 60 if width < 100_000 else 9
    rows = np.sort(rng.integers(0, min(height, 20), tasks))
    targets = rng.integers(0, width, tasks).tolist()
    filters = index_lists(rng, tasks, width, 50)
    for threads in (2, 3):
        check(count_large, scores, targets, rows=rows, threads=threads, audit=threads == 2)
    check(count_large, scores, targets, rows=rows, filter=filters, threads=2, audit=True)


@pytest.mark.parametrize("name", ["tall", "square", "wide", "one row"])
def test_the_first_nan_is_named_for_any_thread_count(name: str) -> None:
    scores, targets, _ = parallel_problem(name)
    height, width = scores.shape
    row, column = height // 2, width // 2
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
