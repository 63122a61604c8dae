"""Rank a file and print, as JSON, how far anonymous memory grew; test_footprint.py runs it."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import truerank as tr

sys.path.insert(0, str(Path(__file__).parents[1]))  # for the harness
from harness.memory import MemoryWatcher, resident_memory

__all__ = ["WAYS"]

# How the file is handed over; each takes its path and the targets.
WAYS: dict[str, Callable[[str, Any], tr.Ranks]] = {
    "io=map": lambda path, targets: tr.rank(path, targets),
    "io=read": lambda path, targets: tr.rank(path, targets, io="read"),
    "np.memmap": lambda path, targets: tr.rank(np.load(path, mmap_mode="r"), targets),
}
SOME = 100  # rows whose target differs from the zeros of a sparse file


def main(path: str, way: str) -> dict[str, object]:
    """Rank `path`, a .npy of zeros, after some of its targets are made the worst of their row."""
    writable = np.lib.format.open_memmap(path, mode="r+")
    rows, columns = writable.shape
    targets = np.arange(rows) * 7 % columns
    some = np.unique(np.linspace(0, rows - 1, SOME).astype(int))
    writable[some, targets[some]] = -1
    writable.flush()
    nbytes = writable.nbytes
    del writable
    watch = MemoryWatcher()
    watch.start()
    time.sleep(0.01)
    before = resident_memory()["RssAnon"]
    start = time.perf_counter()
    ranks = WAYS[way](path, targets)
    seconds = time.perf_counter() - start
    watch.sample()
    watch.done.set()
    watch.join()
    above = np.zeros(rows, np.int64)
    above[some] = columns - 1
    tied = np.where(above > 0, 1, columns)
    return {
        "bytes": nbytes,
        "seconds": seconds,
        "anonymous": watch.anonymous - before,
        "file": watch.file,
        "resident": resident_memory()[
            "VmHWM"
        ],  # ru_maxrss would include the parent's before the exec
        "right": bool((ranks.above == above).all() and (ranks.tied == tied).all()),
    }


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
