"""Scores in files: warm ones against the same matrix in memory, cold ones against the disk."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

import truerank as tr
from baselines.files import ColdFile, pread_loop
from harness import Compare, Pair, Results, Team, Times
from harness.synthetic import Pool, Sizes, draw_targets

MAP, READ = "truerank, io=map", "truerank, io=read"
WARM_GOALS = {MAP: (0.9, 0.9), READ: (0.6, 0.9)}  # of in-memory, with one thread and with all
COLD_GOAL = 0.95
ROUNDS = 7  # of cold reads, which cost the disk's time each


@pytest.fixture(scope="module")
def file(pool: Pool, sizes: Sizes) -> Iterator[ColdFile]:
    """The pool's matrix in a file, where temporary files go (TMPDIR says where)."""
    with tempfile.TemporaryDirectory() as directory:
        yield ColdFile(Path(directory, "scores.npy"), pool.matrix(sizes.file))


def test_warm_file(
    team: Team,
    compare: Compare,
    pool: Pool,
    sizes: Sizes,
    file: ColdFile,
    require_memory: Callable[[float], None],
) -> None:
    """A file in the page cache, mapped and read, against the same matrix in memory."""
    scores, targets = pool.matrix(sizes.file), draw_targets(sizes.file)
    require_memory(file.size * 1.2)
    path = str(file.path)
    compare(
        f"warm file of {file.size / 1e9:.1g} GB, {team}",
        {
            MAP: lambda: tr.rank(path, targets, threads=team.argument),
            READ: lambda: tr.rank(path, targets, threads=team.argument, io="read"),
            "in memory": lambda: tr.rank(scores, targets, threads=team.argument),
        },
        [Pair(way, "in memory", goal=goals[team.threads > 1]) for way, goals in WARM_GOALS.items()],
        nbytes=scores.nbytes,
        memory=False,
    )


def test_cold_file(
    team: Team, compare: Compare, results: Results, pool: Pool, sizes: Sizes, file: ColdFile
) -> None:
    """A file dropped from the cache before each run, against plain loops over it, as cold."""
    if not file.can_drop():
        results.add_remark("temporary files cannot be dropped from the page cache: no cold reads")
        pytest.skip("temporary files cannot be dropped from the page cache")
    scores, targets = pool.matrix(sizes.file), draw_targets(sizes.file)
    path, loops = str(file.path), ("one pread loop, as dd", "two pread loops")

    def against_the_better(times: Mapping[str, Times]) -> list[Pair]:
        better = min(loops, key=lambda name: times[name].best)
        return [Pair(way, better, goal=COLD_GOAL) for way in (MAP, READ)]

    found = compare(
        f"cold file of {file.size / 1e9:.1g} GB, {team}",
        {
            MAP: lambda: tr.rank(path, targets, threads=team.argument),
            READ: lambda: tr.rank(path, targets, threads=team.argument, io="read"),
            **{name: pread_loop(file.path, k + 1) for k, name in enumerate(loops)},
        },
        against_the_better,
        nbytes=file.size,
        rounds=min(sizes.rounds, ROUNDS),
        before=file.drop,
        memory=False,
    )
    in_memory = tr.rank(scores, targets)
    for way in (MAP, READ):
        assert (found[way].result.above == in_memory.above).all()
        assert (found[way].result.tied == in_memory.tied).all()
