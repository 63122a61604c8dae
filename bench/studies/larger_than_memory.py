"""Rank files up to one larger than memory from the command line: time, memory, killed and resumed.

    python bench/studies/larger_than_memory.py FOLDER [--gigabytes 1 4 30] [--output FOLDER]

Makes each file in FOLDER, ranks it with a cold page cache, with `--io map` and `--io read`, and
compares every count with the one that the file was made with. The last file is ranked once more in
a process that is killed half way and resumed, and once within a limit of its memory, all of its
mappings counted. Linux only. Writes larger_than_memory.md; all other files are removed.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

HERE = Path(__file__).parent
COLUMNS = 2_500_000  # a row is 10 MB
ROWS = 100  # of a gigabyte
POOL = 1 << 24  # scores that every row is a window of: 64 MB
SMALLEST = 0.01  # of one row: what a process takes at least
LIMIT = 1 << 30  # bytes of address space
WAYS = ("map", "read")


class Made(NamedTuple):
    """A file of scores, and what is to be counted in it."""

    gigabytes: float
    scores: Path
    targets: Path
    above: Array
    tied: Array


class Run(NamedTuple):
    """What one process took, in seconds and bytes."""

    seconds: float
    anonymous: int
    file: int
    total: int
    code: int
    errors: str


def make(folder: Path, gigabytes: float) -> Made:
    """Write a file, a random window of a pool in each row, and count with numpy as it goes."""
    rng = np.random.default_rng(0)
    pool = rng.random(POOL, np.float32)  # 2 ** 24 values: some tie
    rows = max(1, round(gigabytes * ROWS))
    starts = rng.integers(0, POOL - COLUMNS, rows)
    targets = rng.integers(0, COLUMNS, rows)
    above, tied = np.zeros((2, rows), np.int64)
    paths = folder / f"scores-{gigabytes:g}.npy", folder / f"targets-{gigabytes:g}.npy"
    header = {"descr": "<f4", "fortran_order": False, "shape": (rows, COLUMNS)}
    with paths[0].open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        for i, start in enumerate(starts):
            row = pool[start : start + COLUMNS]
            file.write(row)
            truth = row[targets[i]]
            above[i], tied[i] = np.count_nonzero(row > truth), np.count_nonzero(row == truth)
        file.flush()
        os.fsync(file.fileno())
    np.save(paths[1], targets)
    return Made(gigabytes, *paths, above, tied)


def cool(path: Path) -> None:
    """Drop a file's pages from the cache."""
    with path.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def plain_read(path: Path) -> float:
    """Seconds that dd takes for the cold file."""
    cool(path)
    start = time.perf_counter()
    subprocess.run(["dd", f"if={path}", "of=/dev/null", "bs=16M", "status=none"], check=True)
    return time.perf_counter() - start


# -- a run -----------------------------------------------------------------------------------------


def resident(process: int) -> dict[str, int]:
    """Bytes of a process by kind: anonymous, of files, the peak; nothing once it is over."""
    lines = Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines()
    fields = (line.split(":", 1) for line in lines if line.startswith(("Rss", "VmHWM")))
    return {name: int(value.split()[0]) * 1024 for name, value in fields}


def limit_memory() -> None:
    """Bound the whole address space of this process: anonymous memory, libraries, files."""
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))


def rank(
    made: Made,
    ranks: Path,
    *options: str,
    before: Callable[[], None] | None = None,
    kill_after: float = float("inf"),
) -> Run:
    """Evaluate a cold file in a new process, sampled every 5 ms, killed after some seconds."""
    cool(made.scores)
    command = [sys.executable, "-m", "truerank", "evaluate", made.scores, made.targets]
    command += ["--save", ranks, "--metrics", "mrr", *options]
    start = time.perf_counter()
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, preexec_fn=before
    ) as process:
        peaks = dict.fromkeys(("RssAnon", "RssFile", "VmHWM"), 0)
        while process.poll() is None:
            found = resident(process.pid)
            peaks = {name: max(peak, found.get(name, 0)) for name, peak in peaks.items()}
            if time.perf_counter() - start > kill_after:
                process.kill()
                break
            time.sleep(0.005)
        errors = (process.communicate()[1] or "").strip()
    return Run(time.perf_counter() - start, *peaks.values(), process.returncode, errors)


def check(made: Made, ranks: Path) -> None:
    """Compare saved counts with those that the file was made with."""
    with np.load(ranks) as saved:
        for name in ("above", "tied"):
            if not np.array_equal(saved[name], getattr(made, name)):
                raise ValueError(f"{ranks}: {name} is not what is in {made.scores}")


def same(one: Path, other: Path) -> bool:
    """Whether two files of ranks hold the same arrays, bit for bit."""
    with np.load(one) as a, np.load(other) as b:
        return a.files == b.files and all(a[name].tobytes() == b[name].tobytes() for name in a)


def finished(run: Run) -> Run:
    """The run, if it ended well."""
    if run.code:
        raise RuntimeError(f"exit code {run.code}: {run.errors}")
    return run


# -- what is measured ------------------------------------------------------------------------------

Row = Sequence[object]


def measure(made: Made, ways: Iterable[str]) -> tuple[list[Row], dict[str, Run]]:
    """A row of the first table for each way of reading."""
    runs, rows = {}, []
    for way in ways:
        read = plain_read(made.scores)  # right before, for the disk is not always as fast
        ranks = made.scores.with_name(f"ranks-{way}.npz")
        run = runs[way] = finished(rank(made, ranks, "--io", way))
        check(made, ranks)
        rate = made.scores.stat().st_size / 1e9
        rows.append(
            (
                f"{made.gigabytes:g} GB",
                way,
                f"{run.seconds:.1f} s",
                f"{rate / run.seconds:.2f}",
                f"{rate / read:.2f}",
                megabytes(run.anonymous),
                megabytes(run.file),
                megabytes(run.total),
            )
        )
    return rows, runs


def killed_and_resumed(made: Made, way: str, whole: Run) -> Row:
    """Kill a run half way, resume it, compare its ranks with those of the run left alone."""
    ranks = made.scores.with_name(f"resumed-{way}.npz")
    ranks.unlink(missing_ok=True)
    stopped = rank(made, ranks, "--io", way, "--resume", kill_after=whole.seconds / 2)
    if stopped.code != -signal.SIGKILL or ranks.exists():
        raise RuntimeError(f"not killed: {stopped}")
    resumed = finished(rank(made, ranks, "--io", way, "--resume"))
    brought = re.search(r"Resumed: (.+) of .+ had been counted", resumed.errors)
    check(made, ranks)
    alike = same(ranks, made.scores.with_name(f"ranks-{way}.npz"))
    left = sorted(made.scores.parent.glob(f"{ranks.name}*"))
    if not alike or left != [ranks]:
        raise RuntimeError(f"resumed: {resumed}; alike: {alike}, files: {left}")
    times = [f"{run.seconds:.1f} s" for run in (whole, stopped, resumed)]
    times.insert(2, brought[1] if brought else "nothing")
    return f"{made.gigabytes:g} GB", way, *times, megabytes(resumed.anonymous), "yes"


def limited(made: Made, way: str) -> Row:
    """Rank within the limit."""
    ranks = made.scores.with_name(f"limited-{way}.npz")
    run = finished(rank(made, ranks, "--io", way, before=limit_memory))
    check(made, ranks)
    alike = same(ranks, made.scores.with_name(f"ranks-{way}.npz"))
    sizes = map(megabytes, (run.anonymous, run.file, run.total))
    return f"{made.gigabytes:g} GB", way, f"{run.seconds:.1f} s", *sizes, "yes" if alike else "no"


def megabytes(size: int) -> str:
    return f"{size / 1e6:.0f} MB"


def table(heading: str, rows: Iterable[Row]) -> str:
    """A pipe table."""
    names = heading.split(" | ")
    lines = [names, ["---", "---", *["---:"] * (len(names) - 2)], *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def main(folder: Path, gigabytes: list[float], output: Path) -> None:
    """Measure and write."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    plain, resumed, bounded = [], [], []
    for size in (SMALLEST, *gigabytes):
        with tempfile.TemporaryDirectory(dir=folder) as place:
            made = make(Path(place), size)
            rows, runs = measure(made, WAYS)
            plain += rows
            if size == gigabytes[-1]:
                resumed = [killed_and_resumed(made, way, runs[way]) for way in WAYS]
                bounded = [limited(made, way) for way in WAYS]
        print(*rows, sep="\n", flush=True)
    numbers = {
        "plain": table(
            "file | --io | time | GB/s | dd, GB/s | peak anonymous | peak of files | peak in all",
            plain,
        ),
        "resumed": table(
            "file | --io | left alone | killed after | kept | resumed | anonymous | same ranks",
            resumed,
        ),
        "bounded": table(
            "file | --io | time | peak anonymous | peak of files | peak in all | same ranks",
            bounded,
        ),
    }
    told = TEXT.format(
        python=platform.python_version(),
        numpy=np.__version__,
        memory=f"{memory / 1e9:.0f}",
        limit=f"{LIMIT / 1e9:.2f}",
        cores=len(os.sched_getaffinity(0)),
        **numbers,
    )
    (output / "larger_than_memory.md").write_text(told, encoding="utf-8")
    print(told)


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

A run of the largest file is killed (SIGKILL) at half its time, and the same command is run again
with `--resume`, from what the killed run had saved every two seconds. The file of ranks must equal
that of an uninterrupted run, bit for bit.

{resumed}

## Within a limit

RLIMIT_AS, set to {limit} GB before the process starts, limits the whole address space: anonymous
memory, libraries and mapped files together. An allocation or a mapping beyond it fails. It does not
limit the page cache; a control group would count that as well.

{bounded}
"""


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--gigabytes", type=float, nargs="+", default=[1, 4, 30])
    parser.add_argument("--output", type=Path, default=HERE)
    main(**vars(parser.parse_args()))
