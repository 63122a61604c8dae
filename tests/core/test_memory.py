"""Memory: input is not modified, nothing outside of it is read, and counting allocates little."""

from __future__ import annotations

import ctypes
import mmap
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr
from support.environment import Run
from support.problems import DTYPES, Array, pool

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux")


def test_results_do_not_keep_input_alive() -> None:
    scores = np.random.default_rng(0).random((6, 300), np.float32)
    references = sys.getrefcount(scores)
    ranks = tr.rank(scores, 3, audit=True)
    assert sys.getrefcount(scores) == references
    expected = ranks.above.tolist()
    scores[...] = 0
    assert ranks.above.tolist() == expected


GUARDED_SHAPES = [(1, 1), (1, 3), (2, 5), (3, 17), (1, 31), (4, 63), (3, 65), (7, 130)]
GUARDED_SHAPES += [(33, 9), (129, 5), (300, 7), (1027, 3), (2, 4097), (5000, 2)]


def beside_guard_page(a: Array, *, order: str, at_end: bool) -> Array:
    """A copy whose last byte (or first, unless `at_end`) is next to a page that nobody may read."""
    page = mmap.PAGESIZE
    pages = -(-a.nbytes // page)
    memory = mmap.mmap(-1, (pages + 2) * page)
    start = page
    if at_end:
        start += pages * page - a.nbytes
    view: Array = np.ndarray(a.shape, a.dtype, memory, start, order=order)
    view[...] = a
    first = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for guard in (first, first + (pages + 1) * page):
        assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(guard), ctypes.c_size_t(page), 0) == 0
    return view


@linux
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("at_end", [False, True])
def test_nothing_is_read_beyond_the_scores(dtype: str, order: str, at_end: bool) -> None:
    """A read beyond the scores ends the process here, as at the end of a memory map."""
    rng = np.random.default_rng(0)
    for height, width in GUARDED_SHAPES:
        scores = pool(dtype)[rng.integers(0, len(pool(dtype)), (height, width))]
        view = beside_guard_page(scores, order=order, at_end=at_end)
        targets = rng.integers(0, width, height)
        rows = rng.integers(0, height, 12)
        columns = rng.integers(0, width, 12)
        for turned, plain in ((view, scores), (view[::-1], scores[::-1].copy())):
            for audit in (False, True):
                kw: dict[str, Any] = {"nan": "worst", "audit": audit}
                assert tr.rank(turned, targets, **kw) == tr.rank(plain, targets, **kw)
                kw |= {"rows": rows, "filter": [[0, width - 1]] * 12}
                assert tr.rank(turned, columns, **kw) == tr.rank(plain, columns, **kw)


PEAK = """
import sys, threading, time
import numpy as np
import truerank as tr

def anonymous():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("RssAnon")) / 1024
def peak(work):
    '''The most anonymous memory, in MB, that `work` adds to what was there before it.'''
    before, seen, done = anonymous(), [], threading.Event()
    def watch():
        while not done.is_set():
            seen.append(anonymous())
            time.sleep(0.0005)
    thread = threading.Thread(target=watch)
    thread.start()
    work()
    while len(seen) < 10:  # on a busy machine the watcher may miss short work
        work()
    seen.append(anonymous())
    done.set()
    thread.join()
    return max(seen) - before
path = sys.argv[1]
tr.rank(np.zeros((2, 3)), 0)  # the first call sets things up once
"""

# Every map in a plain call, and some in calls of other paths.
PLAIN = "tr.rank(scores, 0, dtype=dtype)"
PEAKS = [
    ("np.memmap(path, '<f4', 'r', shape=(100, 750_000))", PLAIN),
    ("np.memmap(path, '<f4', 'r', shape=(5_000, 15_000), order='F')", PLAIN),
    ("np.memmap(path, 'V2', 'r', shape=(100, 1_500_000))", PLAIN),
    ("np.memmap(path, '>f4', 'r', shape=(100, 750_000))", PLAIN),
    ("np.memmap(path, '<f4', 'r', offset=1, shape=(100, 749_999))", PLAIN),
    ("np.memmap(path, '<f4', 'r', shape=(100, 750_000))[::-1, ::-2]", PLAIN),
    ("np.memmap(path, 'i1', 'r', shape=(300_000_000,))[np.newaxis]", PLAIN),
    ("np.memmap(path, '>f4', 'r', shape=(750_000, 100), order='F')", PLAIN),
]
CALLS = [
    "rows=np.repeat(np.arange(min(100, len(scores))), 5)",
    "filter=([0, 3_000], np.arange(3_000) * 5, np.zeros(len(scores), int))",
    "candidates=np.arange(0, min(750_000, scores.shape[1]), 3)",
    "audit=True, nan='worst'",
]
PEAKS += [(PEAKS[i][0], f"tr.rank(scores, 0, {call})") for i in (0, 1, 5) for call in CALLS]


@linux
def test_peak_memory(run_python: Run, sanitized: bool, tmp_path: Path) -> None:
    if sanitized:
        pytest.skip("a sanitizer takes memory of its own")
    path = tmp_path / "scores.bin"
    with path.open("wb") as file:
        file.truncate(300_000_004)  # of zeros that take no space on disk
    script = "".join(
        f"""
scores = {scores}
dtype = "bfloat16" if scores.dtype.kind == "V" else None
result = []
print(peak(lambda: result.append({call})))
assert result[0].above.max() == 0
assert result[0].tied.max() <= scores.shape[1]
"""
        for scores, call in PEAKS
    )
    lines = run_python(PEAK + script, path, timeout=300).splitlines()
    peaks = zip(PEAKS, map(float, lines), strict=True)
    assert [(call, used) for call, used in peaks if used >= 50] == []


@linux
def test_repeated_counts_take_no_more_memory(run_python: Run, sanitized: bool) -> None:
    if sanitized:
        pytest.skip("a sanitizer keeps freed memory")
    script = """
scores = np.zeros((50, 2_000), np.float32)
def work():
    for place in [0, np.nan] * 500:
        scores[3, 3] = place
        try:
            tr.rank(scores, 0, filter=[[1, 2]] * 50, audit=True)
        except ValueError:
            pass
work()
print(peak(work))
"""
    assert float(run_python(PEAK + script, "")) < 10
