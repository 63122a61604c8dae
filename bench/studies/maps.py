"""Time and memory of counting maps of files, up to one larger than memory, beside a pread loop.

    python bench/studies/maps.py FOLDER [--warm 12] [--cold 12 40] [--rounds 2] [--output FOLDER]

Makes files in FOLDER, of so many gigabytes, and counts each as a path, as a numpy.memmap and in a
store that is opened, in a process of its own: with a warm page cache, or a cold one. Every count is
compared with the expected one. Linux only. Writes maps.md; all other files are removed.
"""

from __future__ import annotations

import json
import mmap
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from larger_than_memory import COLUMNS, ROWS, ScoreFile
from pages import arguments, format_page, markdown_table

import truerank as tr

HERE = Path(__file__).parent
READ_BYTES = 1 << 20
WRITTEN = 1 << 24


class RepeatedRows(ScoreFile):
    """A file whose first gigabyte is repeated, and its counts by numpy.

    It is written past the page cache, which is fast, and leaves it to others.
    """

    def __init__(self, folder: Path, gigabytes: float) -> None:
        self.folder = folder
        self.name = f"{gigabytes:g} GB"
        self.path = folder / "scores.npy"
        self.targets = folder / "targets.npy"
        rows = round(gigabytes * ROWS)
        rng = np.random.default_rng(0)
        buffer = mmap.mmap(-1, ROWS * COLUMNS * 4)  # on a page's start, as such writes need
        block = np.frombuffer(buffer, np.float32).reshape(ROWS, COLUMNS)
        for row in block:
            rng.random(out=row, dtype=np.float32)
        targets = rng.integers(0, COLUMNS, ROWS)
        above = [(row > row[target]).sum() for row, target in zip(block, targets, strict=True)]
        tied = [(row == row[target]).sum() for row, target in zip(block, targets, strict=True)]
        self.counts = np.resize([above, tied], (rows // ROWS, 2, ROWS)).swapaxes(0, 1)
        self.counts = self.counts.reshape(2, rows)
        header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {COLUMNS}), }}"
        size = mmap.PAGESIZE - 10
        start = mmap.mmap(-1, mmap.PAGESIZE)
        start.write(b"\x93NUMPY\x01\x00" + size.to_bytes(2, "little"))
        start.write(header.ljust(size - 1).encode() + b"\n")
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_DIRECT)
        os.write(descriptor, start)
        whole = memoryview(buffer)
        left = rows * COLUMNS * 4
        while left > 0:
            for first in range(0, len(whole), WRITTEN):
                left -= os.write(descriptor, whole[first : min(first + WRITTEN, first + left)])
                if left <= 0:
                    break
        os.close(descriptor)
        np.save(self.targets, np.resize(targets, rows))


def pread_loop(path: str) -> None:
    """Read a file from its start."""
    buffer = bytearray(READ_BYTES)
    descriptor = os.open(path, os.O_RDONLY)
    for offset in range(0, os.fstat(descriptor).st_size, READ_BYTES):
        os.preadv(descriptor, [buffer], offset)
    os.close(descriptor)


def opened(path: str, form: str) -> Any:
    """Return a file as it is handed over to `rank`."""
    if form == "np.memmap":
        return np.load(path, mmap_mode="r")
    if form == "open_scores":
        return tr.open_scores(path)
    return path


def measure(path: str, targets: str, form: str) -> dict[str, Any]:
    """Count a file in this process."""
    counts: list[list[int]] = []
    columns = np.load(targets)
    scores = opened(path, form)
    start = time.perf_counter()
    if form == "pread":
        pread_loop(path)
    else:
        ranks = tr.rank(scores, columns)
        counts = [ranks.above.tolist(), ranks.tied.tolist()]
    seconds = time.perf_counter() - start
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    peak = next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))
    used = time.process_time()
    return {"seconds": seconds, "used": used, "peak": int(peak) * 1024, "counts": counts}


def best_of(file: ScoreFile, forms: tuple[str, ...], cold: bool, rounds: int) -> list[list[object]]:
    """Return a row for each form: seconds, GB/s, seconds of processors, peak of memory."""
    results: dict[str, list[dict[str, Any]]] = {form: [] for form in forms}
    for _ in range(rounds):
        for form in forms:
            if cold:
                file.drop()
            command = [sys.executable, __file__, str(file.path), "--form", form]
            text = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
            result = json.loads(text)
            if form != "pread" and not np.array_equal(result["counts"], file.counts):
                raise ValueError(f"{form}: other counts than numpy's")
            results[form].append(result)
    rows = []
    for form, measured in results.items():
        seconds = min(result["seconds"] for result in measured)
        used = min(result["used"] for result in measured)
        peak = max(result["peak"] for result in measured)
        state = "cold" if cold else "warm"
        row = [file.name, state, form, f"{seconds:.1f} s", file.rate(seconds)]
        rows.append([*row, f"{used:.1f} s", f"{peak / 1e6:,.0f} MB"])
        print(*rows[-1], flush=True)
    return rows


def main(
    folder: Path, warm: list[float], cold: list[float], rounds: int, output: Path, form: str
) -> None:
    """Measure and write the page."""
    if form:
        print(json.dumps(measure(str(folder), str(folder.with_name("targets.npy")), form)))
        return
    forms = ("pread", "a path", "np.memmap", "open_scores")
    rows = []
    for size in sorted({*warm, *cold}):
        with tempfile.TemporaryDirectory(dir=folder) as place:
            file = RepeatedRows(Path(place), size)
            if size in cold:
                rows += best_of(file, forms, True, rounds)
            if size in warm:
                pread_loop(str(file.path))
                rows += best_of(file, forms, False, rounds)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    heading = "file | page cache | as | time | GB/s | processors | peak of memory"
    page = TEXT.format(
        python=platform.python_version(),
        numpy=np.__version__,
        memory=f"{memory / 1e9:.0f}",
        cores=len(os.sched_getaffinity(0)),
        rounds=rounds,
        table=markdown_table(heading, rows, 3),
    )
    (output / "maps.md").write_text(format_page(page), encoding="utf-8")


TEXT = """# Maps of large files

Made by `python bench/studies/maps.py FOLDER`, with Python {python} and numpy {numpy}, on a machine
with {memory} GB of memory and {cores} cores, which others used, too: best of {rounds}, in turn.

A gigabyte is 100 rows of 2,500,000 float32 scores, which larger files repeat. Each file is counted
by `rank` in a process of its own; every count is compared with numpy's. The time is that of the
call, processors are those of the whole process, and its peak of memory counts pages of the file
that are mapped (VmHWM).

{table}

Maps of more than an eighth of the memory, the user's own and those of stores, are read tile by
tile: each tile is mapped from the file alone, so that at most a tile of it is resident.
"""


if __name__ == "__main__":
    main(
        **arguments(
            __doc__, "folder", warm=[12.0], cold=[12.0, 40.0], rounds=2, output=HERE, form=""
        )
    )
