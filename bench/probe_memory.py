"""Rank a memory map and print, as JSON, how far anonymous memory grew. Run in a new process."""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path
from typing import Literal, cast

import numpy as np

import truerank as tr


def resident() -> dict[str, int]:
    """Bytes that the kernel counts as resident, by kind."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    fields = (line.split(":", 1) for line in lines if line.startswith(("Rss", "VmHWM")))
    return {name: int(value.split()[0]) * 1024 for name, value in fields}


class Watch(threading.Thread):
    """Sample the resident memory about every millisecond and keep the peaks."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.anonymous = self.file = 0
        self.done = threading.Event()

    def sample(self) -> None:
        now = resident()
        self.anonymous = max(self.anonymous, now["RssAnon"])
        self.file = max(self.file, now["RssFile"])

    def run(self) -> None:
        while not self.done.wait(0.001):
            self.sample()


def main(path: str, rows: int, columns: int, order: Literal["C", "F"]) -> dict[str, object]:
    """Rank `path` as a float32 matrix whose targets alone differ from zero."""
    shape = (rows, columns)
    targets = np.arange(rows) * 7 % columns
    writable = np.memmap(path, np.float32, "r+", shape=shape, order=order)
    some = np.unique(np.linspace(0, rows - 1, 100).astype(int))
    writable[some, targets[some]] = -1
    writable.flush()
    del writable
    scores = np.memmap(path, np.float32, "r", shape=shape, order=order)
    watch = Watch()
    watch.start()
    time.sleep(0.01)
    before = resident()["RssAnon"]
    start = time.perf_counter()
    ranks = tr.rank(scores, targets)
    seconds = time.perf_counter() - start
    watch.sample()
    watch.done.set()
    watch.join()
    above = np.zeros(rows, np.int64)
    above[some] = columns - 1
    tied = np.where(above > 0, 1, columns)
    return {
        "bytes": scores.nbytes,
        "seconds": seconds,
        "anonymous": watch.anonymous - before,
        "file": watch.file,
        "resident": resident()["VmHWM"],  # ru_maxrss would include the parent's before the exec
        "right": bool((ranks.above == above).all() and (ranks.tied == tied).all()),
    }


if __name__ == "__main__":
    _, file_name, row_count, column_count, layout = sys.argv
    found = main(file_name, int(row_count), int(column_count), cast(Literal["C", "F"], layout))
    print(json.dumps(found))
