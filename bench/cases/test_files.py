"""Scores in files: warm files against the same matrix in memory, cold ones against the disk."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

import truerank as tr
from baselines.files import ColdFile, pread_loop
from harness import Compare, Pair, Results, Team, Times
from harness.synthetic import Pool, Sizes, draw_targets

MAP = "truerank, io=map"
OPEN = "truerank, a store that is open"
READ = "truerank, io=read"
# Over in memory, with one thread and with all.
WARM_GOALS = {MAP: (0.85, 0.85), OPEN: (0.97, 0.97), READ: (0.5, 0.8)}
COLD_GOAL = 0.95
STEPS = {"at once": 1 << 30, "in 256 kB": 1 << 18}  # bytes that are written at a time
ROUNDS = 7  # of cold reads, each of which reads the disk


@pytest.fixture(scope="module")
def file(pool: Pool, sizes: Sizes) -> Iterator[ColdFile]:
    """A matrix of the pool in a temporary file; TMPDIR chooses the disk."""
    with tempfile.TemporaryDirectory() as directory:
        yield ColdFile(Path(directory, "scores.npy"), pool.matrix(sizes.file))


@pytest.mark.parametrize("written", ["at once", "in 256 kB"])
def test_warm_file(
    written: str,
    team: Team,
    compare: Compare,
    pool: Pool,
    sizes: Sizes,
    require_memory: Callable[[float], None],
) -> None:
    """A file in the page cache, mapped and read, against the same matrix in memory.

    Pages of the cache are as large as what was written at once, if the file system can do that.
    """
    scores = pool.matrix(sizes.file)
    targets = draw_targets(sizes.file)
    require_memory(scores.nbytes * 1.2)
    with tempfile.TemporaryDirectory() as directory:
        file = ColdFile(Path(directory, "scores.npy"), scores, STEPS[written])
        path = str(file.path)
        with tr.open_scores(path) as store:
            compare(
                f"warm file of {file.size / 1e9:.1g} GB, written {written}, {team}",
                {
                    MAP: lambda: tr.rank(path, targets, threads=team.argument),
                    OPEN: lambda: tr.rank(store, targets, threads=team.argument),
                    READ: lambda: tr.rank(path, targets, threads=team.argument, io="read"),
                    "in memory": lambda: tr.rank(scores, targets, threads=team.argument),
                },
                [
                    Pair(name, "in memory", goal=goals[team.threads > 1])
                    for name, goals in WARM_GOALS.items()
                ],
                nbytes=scores.nbytes,
                memory=False,
            )


def test_cold_file(
    team: Team, compare: Compare, results: Results, pool: Pool, sizes: Sizes, file: ColdFile
) -> None:
    """A file dropped from the page cache before each run, against plain loops that read it."""
    if not file.can_drop():
        results.add_remark("temporary files cannot be dropped from the page cache: no cold reads")
        pytest.skip("temporary files cannot be dropped from the page cache")
    scores = pool.matrix(sizes.file)
    targets = draw_targets(sizes.file)
    path = str(file.path)
    loops = ("one pread loop, as dd", "two pread loops")

    def pairs_with_faster(times: Mapping[str, Times]) -> list[Pair]:
        faster = min(loops, key=lambda name: times[name].best)
        return [Pair(name, faster, goal=COLD_GOAL) for name in (MAP, READ)]

    times = compare(
        f"cold file of {file.size / 1e9:.1g} GB, {team}",
        {
            MAP: lambda: tr.rank(path, targets, threads=team.argument),
            READ: lambda: tr.rank(path, targets, threads=team.argument, io="read"),
            **{name: pread_loop(file.path, k + 1) for k, name in enumerate(loops)},
        },
        pairs_with_faster,
        nbytes=file.size,
        rounds=min(sizes.rounds, ROUNDS),
        before=file.drop,
        memory=False,
    )
    in_memory = tr.rank(scores, targets)
    for name in (MAP, READ):
        assert (times[name].result.above == in_memory.above).all()
        assert (times[name].result.tied == in_memory.tied).all()
