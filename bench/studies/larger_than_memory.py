"""Rank files up to one larger than memory from the command line: time, memory, killed and resumed.

    python bench/studies/larger_than_memory.py FOLDER [--gigabytes 1 4 30] [--output FOLDER]

Makes each file in FOLDER, ranks it with a cold page cache, with `--io map` and `--io read`, and
compares every count with the expected one. The last file is ranked once more in a process that is
killed halfway and resumed, and once within a limit on its memory, including all of its mappings.
Linux only. Writes larger_than_memory.md; all other files are removed.
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
from embeddings_memory import resident_memory
from numpy.typing import NDArray
from pages import markdown_table

Array = NDArray[Any]

HERE = Path(__file__).parent
COLUMNS = 2_500_000  # a row is 10 MB
ROWS = 100  # of a gigabyte
POOL = 1 << 24  # scores, 64 MB; every row is a window of them
SMALLEST = 0.01  # gigabytes, one row: what a process takes at least
LIMIT = 1 << 30  # bytes of address space
MODES = ("map", "read")


class ScoreFile(NamedTuple):
    """A file of scores, and its expected counts."""

    gigabytes: float
    scores: Path
    targets: Path
    above: Array
    tied: Array


class Run(NamedTuple):
    """Seconds and bytes that one process took."""

    seconds: float
    anonymous: int
    file: int
    total: int
    code: int
    errors: str


def write_scores(folder: Path, gigabytes: float) -> ScoreFile:
    """Write a file with a random window of a pool in each row; count with numpy too."""
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
            true_score = row[targets[i]]
            above[i] = np.count_nonzero(row > true_score)
            tied[i] = np.count_nonzero(row == true_score)
        file.flush()
        os.fsync(file.fileno())
    np.save(paths[1], targets)
    return ScoreFile(gigabytes, *paths, above, tied)


def drop_from_cache(path: Path) -> None:
    """Drop a file's pages from the cache."""
    with path.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def plain_read(path: Path) -> float:
    """Return the seconds that dd takes to read the cold file."""
    drop_from_cache(path)
    start = time.perf_counter()
    subprocess.run(["dd", f"if={path}", "of=/dev/null", "bs=16M", "status=none"], check=True)
    return time.perf_counter() - start


# -- a run -----------------------------------------------------------------------------------------


def limit_memory() -> None:
    """Limit the whole address space of this process: anonymous memory, libraries, files."""
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))


def rank(
    score_file: ScoreFile,
    ranks: Path,
    *options: str,
    before: Callable[[], None] | None = None,
    kill_after: float = float("inf"),
) -> Run:
    """Evaluate a cold file in a new process, sampled every 5 ms and killed after `kill_after` s."""
    drop_from_cache(score_file.scores)
    command = [sys.executable, "-m", "truerank", "evaluate", score_file.scores, score_file.targets]
    command += ["--save", ranks, "--metrics", "mrr", *options]
    start = time.perf_counter()
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, preexec_fn=before
    ) as process:
        peaks = dict.fromkeys(("RssAnon", "RssFile", "VmHWM"), 0)
        while process.poll() is None:
            now = resident_memory(process.pid)
            peaks = {name: max(peak, now.get(name, 0)) for name, peak in peaks.items()}
            if time.perf_counter() - start > kill_after:
                process.kill()
                break
            time.sleep(0.005)
        errors = (process.communicate()[1] or "").strip()
    return Run(time.perf_counter() - start, *peaks.values(), process.returncode, errors)


def check(score_file: ScoreFile, ranks: Path) -> None:
    """Compare saved counts with the expected ones."""
    with np.load(ranks) as saved:
        for name in ("above", "tied"):
            if not np.array_equal(saved[name], getattr(score_file, name)):
                raise ValueError(f"{ranks}: {name} is not what is in {score_file.scores}")


def are_equal(one: Path, other: Path) -> bool:
    """Return whether two files of ranks have the same arrays, bit for bit."""
    with np.load(one) as a, np.load(other) as b:
        return a.files == b.files and all(a[name].tobytes() == b[name].tobytes() for name in a)


def require_success(run: Run) -> Run:
    """Return the run if its exit code is 0."""
    if run.code:
        raise RuntimeError(f"exit code {run.code}: {run.errors}")
    return run


# -- measurements ----------------------------------------------------------------------------------

Row = Sequence[object]


def measure(score_file: ScoreFile, modes: Iterable[str]) -> tuple[list[Row], dict[str, Run]]:
    """Return the rows of the first table, one for each `--io`, and their runs."""
    runs, rows = {}, []
    for mode in modes:
        read = plain_read(score_file.scores)  # right before, as the speed of the disk varies
        ranks = score_file.scores.with_name(f"ranks-{mode}.npz")
        run = runs[mode] = require_success(rank(score_file, ranks, "--io", mode))
        check(score_file, ranks)
        rate = score_file.scores.stat().st_size / 1e9
        rows.append(
            (
                f"{score_file.gigabytes:g} GB",
                mode,
                f"{run.seconds:.1f} s",
                f"{rate / run.seconds:.2f}",
                f"{rate / read:.2f}",
                megabytes(run.anonymous),
                megabytes(run.file),
                megabytes(run.total),
            )
        )
    return rows, runs


def kill_and_resume(score_file: ScoreFile, mode: str, whole: Run) -> Row:
    """Kill a run halfway, resume it, and compare its ranks with those of an uninterrupted run."""
    ranks = score_file.scores.with_name(f"resumed-{mode}.npz")
    ranks.unlink(missing_ok=True)
    stopped = rank(score_file, ranks, "--io", mode, kill_after=whole.seconds / 2)
    if stopped.code != -signal.SIGKILL or ranks.exists():
        raise RuntimeError(f"not killed: {stopped}")
    resumed = require_success(rank(score_file, ranks, "--io", mode))
    counted = re.search(r"Resumed: (.+) of .+ had been counted", resumed.errors)
    check(score_file, ranks)
    equal = are_equal(ranks, score_file.scores.with_name(f"ranks-{mode}.npz"))
    left = sorted(score_file.scores.parent.glob(f"{ranks.name}*"))
    if not equal or left != [ranks]:
        raise RuntimeError(f"resumed: {resumed}; equal: {equal}, files: {left}")
    times = [f"{run.seconds:.1f} s" for run in (whole, stopped, resumed)]
    times.insert(2, counted[1] if counted else "nothing")
    return f"{score_file.gigabytes:g} GB", mode, *times, megabytes(resumed.anonymous), "yes"


def rank_within_limit(score_file: ScoreFile, mode: str) -> Row:
    """Rank a file within the limit."""
    ranks = score_file.scores.with_name(f"limited-{mode}.npz")
    run = require_success(rank(score_file, ranks, "--io", mode, before=limit_memory))
    check(score_file, ranks)
    equal = are_equal(ranks, score_file.scores.with_name(f"ranks-{mode}.npz"))
    sizes = map(megabytes, (run.anonymous, run.file, run.total))
    return (
        f"{score_file.gigabytes:g} GB",
        mode,
        f"{run.seconds:.1f} s",
        *sizes,
        "yes" if equal else "no",
    )


def megabytes(size: int) -> str:
    return f"{size / 1e6:.0f} MB"


def main(folder: Path, gigabytes: list[float], output: Path) -> None:
    """Measure and write the page."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    plain, resumed, bounded = [], [], []
    for size in (SMALLEST, *gigabytes):
        with tempfile.TemporaryDirectory(dir=folder) as place:
            score_file = write_scores(Path(place), size)
            rows, runs = measure(score_file, MODES)
            plain += rows
            if size == gigabytes[-1]:
                resumed = [kill_and_resume(score_file, mode, runs[mode]) for mode in MODES]
                bounded = [rank_within_limit(score_file, mode) for mode in MODES]
        print(*rows, sep="\n", flush=True)
    numbers = {
        "plain": markdown_table(
            "file | --io | time | GB/s | dd, GB/s | peak anonymous | peak of files | peak of both",
            plain,
            text_columns=2,
        ),
        "resumed": markdown_table(
            "file | --io | uninterrupted | killed after | saved | resumed | anonymous | same ranks",
            resumed,
            text_columns=2,
        ),
        "bounded": markdown_table(
            "file | --io | time | peak anonymous | peak of files | peak of both | same ranks",
            bounded,
            text_columns=2,
        ),
    }
    page = TEXT.format(
        python=platform.python_version(),
        numpy=np.__version__,
        memory=f"{memory / 1e9:.0f}",
        limit=f"{LIMIT / 1e9:.2f}",
        cores=len(os.sched_getaffinity(0)),
        **numbers,
    )
    (output / "larger_than_memory.md").write_text(page, encoding="utf-8")
    print(page)


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
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--gigabytes", type=float, nargs="+", default=[1, 4, 30])
    parser.add_argument("--output", type=Path, default=HERE)
    main(**vars(parser.parse_args()))
