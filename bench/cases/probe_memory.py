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

# How the file is opened; each function takes its path and the targets.
OPENINGS: dict[str, Callable[[str, Any], tr.Ranks]] = {
    "io=map": lambda path, targets: tr.rank(path, targets),
    "io=read": lambda path, targets: tr.rank(path, targets, io="read"),
    "np.memmap": lambda path, targets: tr.rank(np.load(path, mmap_mode="r"), targets),
}
CHANGED = 100  # rows whose true score is not one of the zeros of a sparse file


def main(path: str, opening: str) -> dict[str, object]:
    """Rank `path`, a .npy of zeros, once some true scores are made the lowest of their rows."""
    writable = np.lib.format.open_memmap(path, mode="r+")
    rows, columns = writable.shape
    targets = np.arange(rows) * 7 % columns
    changed = np.unique(np.linspace(0, rows - 1, CHANGED).astype(int))
    writable[changed, targets[changed]] = -1
    writable.flush()
    nbytes = writable.nbytes
    del writable
    watcher = MemoryWatcher()
    watcher.start()
    time.sleep(0.01)
    before = resident_memory()["RssAnon"]
    start = time.perf_counter()
    ranks = OPENINGS[opening](path, targets)
    seconds = time.perf_counter() - start
    watcher.sample()
    watcher.done.set()
    watcher.join()
    above = np.zeros(rows, np.int64)
    above[changed] = columns - 1
    tied = np.where(above > 0, 1, columns)
    return {
        "bytes": nbytes,
        "seconds": seconds,
        "anonymous": watcher.anonymous - before,
        "file": watcher.file,
        "resident": resident_memory()["VmHWM"],  # ru_maxrss would include the parent's
        "correct": bool((ranks.above == above).all() and (ranks.tied == tied).all()),
    }


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
