"""Rank files up to one larger than memory from the command line: time, memory, killed and resumed.

    python bench/studies/larger_than_memory.py FOLDER [--gigabytes 1 4 30] [--output FOLDER]

Makes each file in FOLDER, ranks it with a cold page cache, with `--io map` and `--io read`, and
compares every count with the expected one. The last file is ranked once more in a process that is
killed halfway and resumed, and once within a limit on its memory, including all of its mappings.
Linux only. Writes larger_than_memory.md; all other files are removed.
"""

from __future__ import annotations

import os
import platform
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))  # for the harness

import numpy as np
from numpy.typing import NDArray
from pages import arguments, format_page, markdown_table

from harness.memory import resident_memory

HERE = Path(__file__).parent
COLUMNS = 2_500_000  # a row is 10 MB
ROWS = 100  # of a gigabyte
POOL = 1 << 24  # scores, 64 MB; every row is a window of them
SMALLEST = 0.01  # gigabytes, one row: what a process takes at least
LIMIT = 1 << 30  # bytes of address space
MODES = ("map", "read")
Lines = list[tuple[object, ...]]


class Run(NamedTuple):
    """Seconds and bytes that one process took, and how it ended."""

    seconds: float
    sizes: tuple[str, ...]  # peaks of anonymous memory, of files, of both
    code: int
    errors: str


class ScoreFile:
    """A file with a random window of a pool in each row, and its counts by numpy."""

    def __init__(self, folder: Path, gigabytes: float) -> None:
        self.folder = folder
        self.name = f"{gigabytes:g} GB"
        self.path = folder / "scores.npy"
        self.targets = folder / "targets.npy"
        rng = np.random.default_rng(0)
        pool = rng.random(POOL, np.float32)  # 2 ** 24 values: some tie
        rows = max(1, round(gigabytes * ROWS))
        starts, targets = (rng.integers(0, n, rows) for n in (POOL - COLUMNS, COLUMNS))
        self.counts: NDArray[Any] = np.zeros((2, rows), np.int64)
        header = {"descr": "<f4", "fortran_order": False, "shape": (rows, COLUMNS)}
        with self.path.open("wb") as file:
            np.lib.format.write_array_header_1_0(file, header)
            for i, (start, target) in enumerate(zip(starts, targets, strict=True)):
                row = pool[start : start + COLUMNS]
                file.write(row)
                self.counts[:, i] = (row > row[target]).sum(), (row == row[target]).sum()
            file.flush()
            os.fsync(file.fileno())
        np.save(self.targets, targets)

    def drop(self) -> None:
        """Drop the pages of the file from the cache."""
        with self.path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    def rate(self, seconds: float) -> str:
        return f"{self.path.stat().st_size / 1e9 / seconds:.2f}"

    def plain_read(self) -> float:
        """Return the seconds that dd takes to read the cold file."""
        self.drop()
        start = time.perf_counter()
        command = ["dd", f"if={self.path}", "of=/dev/null", "bs=16M", "status=none"]
        subprocess.run(command, check=True)
        return time.perf_counter() - start

    def run(
        self,
        name: str,
        mode: str,
        before: Callable[[], None] | None = None,
        kill_after: float = float("inf"),
    ) -> Run:
        """Evaluate the cold file in a new process, sampled every 5 ms, perhaps killed."""
        self.drop()
        ranks = self.folder / f"{name}-{mode}.npz"
        command = [sys.executable, "-m", "truerank", "evaluate", self.path, self.targets]
        command += ["--save", ranks, "--metrics", "mrr", "--io", mode]
        pipes: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
        start = time.perf_counter()
        peaks = dict.fromkeys(("RssAnon", "RssFile", "VmHWM"), 0)
        with subprocess.Popen(command, text=True, preexec_fn=before, **pipes) as process:
            while process.poll() is None:
                now = resident_memory(process.pid)
                peaks = {name: max(peak, now.get(name, 0)) for name, peak in peaks.items()}
                if time.perf_counter() - start > kill_after:
                    process.kill()
                    break
                time.sleep(0.005)
            errors = (process.communicate()[1] or "").strip()
        sizes = tuple(f"{size / 1e6:.0f} MB" for size in peaks.values())
        return Run(time.perf_counter() - start, sizes, process.returncode, errors)

    def whole(self, name: str, mode: str, before: Callable[[], None] | None = None) -> Run:
        """Evaluate the file, and compare the counts with numpy's and those of the first run."""
        run = self.run(name, mode, before)
        if run.code:
            raise RuntimeError(f"exit code {run.code}: {run.errors}")
        content = (self.folder / f"{name}-{mode}.npz").read_bytes()
        with np.load(self.folder / f"{name}-{mode}.npz") as saved:
            if not np.array_equal([saved["above"], saved["tied"]], self.counts):
                raise ValueError(f"{name}: not the counts of {self.path}")
        if content != (self.folder / f"ranks-{mode}.npz").read_bytes():
            raise ValueError(f"{name}: not the file of the first run")
        return run


def limit_memory() -> None:
    """Limit the whole address space of this process: anonymous memory, libraries, files."""
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))


def measure(
    file: ScoreFile, mode: str, last: bool, plain: Lines, resumed: Lines, bound: Lines
) -> None:
    """Add a line to the first table, and with the last file one to each of the others."""
    read = file.plain_read()  # right before, as the speed of the disk varies
    run = file.whole("ranks", mode)
    times = f"{run.seconds:.1f} s", file.rate(run.seconds), file.rate(read)
    plain.append((file.name, mode, *times, *run.sizes))
    print(*plain[-1], flush=True)
    if not last:
        return
    stopped = file.run("resumed", mode, kill_after=run.seconds / 2)
    if stopped.code != -signal.SIGKILL or (file.folder / f"resumed-{mode}.npz").exists():
        raise RuntimeError(f"not killed: {stopped}")
    again = file.whole("resumed", mode)
    left = list(file.folder.glob(f"resumed-{mode}*"))
    if len(left) > 1:
        raise RuntimeError(f"files are left: {left}")
    counted = re.search(r"Resumed: (.+) of .+ had been counted", again.errors)
    times = tuple(f"{one.seconds:.1f} s" for one in (run, stopped, again))
    saved = "nothing"
    if counted:
        saved = counted[1]
    resumed.append((file.name, mode, *times[:2], saved, times[2], again.sizes[0], "yes"))
    limited = file.whole("limited", mode, limit_memory)
    bound.append((file.name, mode, f"{limited.seconds:.1f} s", *limited.sizes, "yes"))


def main(folder: Path, gigabytes: list[float], output: Path) -> None:
    """Measure and write the page."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    plain, resumed, bound = tables = ([], [], [])
    sizes = [SMALLEST]
    sizes += gigabytes
    for size in sizes:
        with tempfile.TemporaryDirectory(dir=folder) as place:
            file = ScoreFile(Path(place), size)
            for mode in MODES:
                measure(file, mode, size == gigabytes[-1], *tables)
    start = "file | --io | "
    ends = "peak anonymous | peak of files | peak of both"
    resuming = "uninterrupted | killed after | saved | resumed | anonymous | same ranks"
    page = TEXT.format(
        python=platform.python_version(),
        numpy=np.__version__,
        memory=f"{memory / 1e9:.0f}",
        limit=f"{LIMIT / 1e9:.2f}",
        cores=len(os.sched_getaffinity(0)),
        plain=markdown_table(f"{start}time | GB/s | dd, GB/s | {ends}", plain, 2),
        resumed=markdown_table(start + resuming, resumed, 2),
        bounded=markdown_table(f"{start}time | {ends} | same ranks", bound, 2),
    )
    (output / "larger_than_memory.md").write_text(format_page(page), encoding="utf-8")


TEXT = """# Files larger than memory

Made by `python bench/studies/larger_than_memory.py FOLDER`, with Python {python} and numpy {numpy},
on a machine with {memory} GB of memory and {cores} cores.

A gigabyte is 100 rows of 2,500,000 float32 scores. Each file is ranked by a process of its own,
`python -m truerank evaluate scores.npy targets.npy --save ranks.npz`, after its pages are dropped
from the cache; dd reads the same cold file right before. Every count of every run (above and tied)
is compared with the one that numpy computed while the file was written.

## Time and memory

{plain}

The time is that of the whole process, including the start of the interpreter (the file of 0.01 GB
takes little more than that). Anonymous memory is what the process allocates (RssAnon, sampled every
5 ms): Python, numpy and truerank themselves, and buffers. The kernel can take back pages of files.

## Killed and resumed

A run of the largest file is killed (SIGKILL) at half its time, and the same command is run again,
which goes on from what the killed run had saved every two seconds. The file of ranks must equal
that of an uninterrupted run, bit for bit.

{resumed}

## Within a limit

RLIMIT_AS, set to {limit} GB before the process starts, limits the whole address space: anonymous
memory, libraries and mapped files together. An allocation or a mapping beyond it fails. It does not
limit the page cache; a control group would count that as well.

{bounded}
"""


if __name__ == "__main__":
    main(**arguments(__doc__, "folder", gigabytes=[1.0, 4.0, 30.0], output=HERE))
