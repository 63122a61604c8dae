"""Growth: the rate against size from the caches to memory, and fitted exponents of time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pytest

import truerank as tr
from baselines.compiled import ReadPass
from harness import Compare, Pair, Team, Times
from harness.growth import fit_exponent, geometric_sizes, last_level_cache
from harness.synthetic import Pool, Shape, Sizes, draw_targets
from harness.table import Chart, Results, exponent_row
from peers import Problem, numpy_scipy, prepare_peers, torch_pykeen

COLUMNS = 10_000
SMALLEST = 10_000  # scores: one row, in the first caches
# Largest number of scores; beyond, the rates of peers are constant and their masks do not fit.
PEERS_UP_TO = {"quick": 10_000_000, "full": 100_000_000}
RUN = 2e-3  # seconds that a run should take, for the clock's resolution
TYPICAL_RATE = 20e9  # bytes per second, to choose the calls of a run
LINEAR = (0.95, 1.05)  # goal for the exponent of time in bytes, from 4 times the last cache

# numpy has one thread in every case.
PEERS = {
    name: (numpy_scipy.COUNTING | torch_pykeen.COUNTING)[name]
    for name in ("numpy, row by row", "torch, 64 rows at once", "PyKEEN, 256 rows at once")
}


def shape_of(scores: int) -> Shape:
    """Return the shape of a matrix of about that many scores."""
    return max(1, scores // COLUMNS), COLUMNS


def add_points(
    chart: Chart, size: int, times: Mapping[str, Times], names: Mapping[str, str]
) -> None:
    """Add the rates of one size to a chart; `names` has the contestant of each line."""
    for line, contestant in names.items():
        chart.add(line, 4 * size, 4 * size / times[contestant].best / 1e9)


@pytest.fixture
def roofline(results: Results, team: Team) -> Chart:
    """The chart of this number of threads."""
    return results.chart(f"Rate against size, {team}", "bytes of scores", "GB/s")


def large_sizes(sizes: Sizes) -> list[int]:
    """Return numbers of scores from 4 times the last cache to all; in quick mode, smaller ones."""
    smallest = min(last_level_cache(), sizes.pool // 4)  # scores of 4 bytes: 4 times the cache
    return [shape_of(size)[0] * COLUMNS for size in geometric_sizes(smallest, sizes.pool, 6)]


def test_rate_against_size(
    team: Team,
    compare: Compare,
    results: Results,
    pool: Pool,
    sizes: Sizes,
    roofline: Chart,
    read_pass: ReadPass,
) -> None:
    """From sizes that caches hold to those of memory, with what users have today beside it."""
    if sizes.quick:
        all_sizes = geometric_sizes(SMALLEST, PEERS_UP_TO["quick"], 4)
    else:
        all_sizes = geometric_sizes(SMALLEST, PEERS_UP_TO["full"], 8)
    for size in all_sizes:
        shape = shape_of(size)
        scores = pool.matrix(shape)
        targets = draw_targets(shape)
        problem = Problem(scores, targets, team.threads)
        peers = prepare_peers(PEERS, problem, results)
        options: dict[str, Any] = {}
        if size != all_sizes[-1]:  # the benchmark times one size
            options["benchmark"] = None
        times = compare(
            f"{scores.size:,} scores, {team}",
            {
                "truerank": partial(tr.rank, scores, targets, threads=team.argument),
                "read pass": read_pass.contestant(scores, team.threads),
                **peers,
            },
            [],
            show=False,
            calls=max(1, round(RUN / (scores.nbytes / TYPICAL_RATE))),
            budget=sizes.budget / 8,
            **options,
        )
        # The next case has the larger sizes of these two, all in turn.
        shown = {name: name for name in peers}
        if size < large_sizes(sizes)[0]:
            shown = {"read pass": "read pass", "truerank": "truerank"} | shown
        add_points(roofline, scores.size, times, shown)


def test_counting_is_linear(
    team: Team,
    compare: Compare,
    results: Results,
    pool: Pool,
    sizes: Sizes,
    roofline: Chart,
    read_pass: ReadPass,
) -> None:
    """Time against bytes beyond the caches; all sizes take turns."""
    all_sizes = large_sizes(sizes)
    matrices = {size: pool.matrix(shape_of(size)) for size in all_sizes}
    names = {
        size: {line: f"{line}, {size:,} scores" for line in ("read pass", "truerank")}
        for size in all_sizes
    }
    contestants: dict[str, Callable[[], object]] = {}
    for size, scores in matrices.items():
        targets = draw_targets(scores.shape)
        contestants[names[size]["truerank"]] = partial(
            tr.rank, scores, targets, threads=team.argument
        )
        contestants[names[size]["read pass"]] = read_pass.contestant(scores, team.threads)
    beyond = min(all_sizes) >= 0.9 * last_level_cache()  # scores of 4 bytes: 4 times the cache
    case = f"growth from {min(all_sizes):,} scores, {team}"
    times = compare(
        case,
        contestants,
        [Pair(lines["truerank"], lines["read pass"]) for lines in names.values()],
        nbytes={name: 4 * size for size in all_sizes for name in names[size].values()},
        agree=False,
    )
    for size in all_sizes:
        add_points(roofline, size, times, names[size])
    goal_of_ours = LINEAR if beyond else None
    for line, goal in (("truerank", goal_of_ours), ("read pass", None)):
        seconds = [times[names[size][line]].best for size in all_sizes]
        law = fit_exponent("time in bytes", all_sizes, seconds)
        results.rows.append(exponent_row(case, line, law, goal))
