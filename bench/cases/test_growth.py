"""Growth: rate against size from the caches to memory, and the laws of time, fitted."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import truerank as tr
from baselines.compiled import ReadPass
from harness import Compare, Pair, Team
from harness.growth import fit_exponent, geometric_sizes, last_level_cache
from harness.synthetic import Pool, Shape, Sizes, draw_filter, draw_targets
from harness.table import Chart, Results, exponent_row
from peers import Problem, numpy_scipy, prepare_peers, torch_pykeen

COLUMNS = 10_000
SMALLEST = 10_000  # scores: one row, in the first caches
# scores; beyond, the peers' rates stay as they are and their masks do not fit
PEERS_UP_TO = {"quick": 10_000_000, "full": 100_000_000}
RUN = 2e-3  # seconds that a run should take, for the clock's sake
SLOW = 20e9  # bytes per second, roughly, to choose the calls of a run by
LINEAR = (0.95, 1.05)  # the exponent of time in bytes, of matrices from 4 times the last cache
NOT_FASTER = (0.0, 1.05)  # of added time in entries: dense ones share cache lines, which is better
MEASURABLE = 0.02  # of the time without a filter: less than that is noise

# With several threads: numpy has one whatever it is asked.
PEERS = {
    name: (numpy_scipy.COUNTING | torch_pykeen.COUNTING)[name]
    for name in ("numpy, row by row", "torch, 64 rows at once", "PyKEEN's style")
}


def shape_of(scores: int) -> Shape:
    """The matrix of about that many scores."""
    return max(1, scores // COLUMNS), COLUMNS


def add_points(chart: Chart, size: int, found: Any, names: dict[str, str]) -> None:
    """Rates of the contestants of one size, by their lines in the chart."""
    for line, contestant in names.items():
        chart.add(line, 4 * size, 4 * size / found[contestant].best / 1e9)


@pytest.fixture
def roofline(results: Results, team: Team) -> Chart:
    """The chart of this number of threads."""
    return results.chart(f"Rate against size, {team}", "bytes of scores", "GB/s")


def large_sizes(sizes: Sizes) -> list[int]:
    """Numbers of scores, from 4 times the last cache to all; in quick mode there are too few."""
    least = min(last_level_cache(), sizes.pool // 4)  # scores of 4 bytes: 4 times the cache
    return [shape_of(size)[0] * COLUMNS for size in geometric_sizes(least, sizes.pool, 6)]


def test_rate_against_size(
    team: Team,
    compare: Compare,
    results: Results,
    pool: Pool,
    sizes: Sizes,
    roofline: Chart,
    read_pass: ReadPass,
) -> None:
    """Where caches hold the scores, and with those of memory what users have today."""
    largest = PEERS_UP_TO["quick" if sizes.quick else "full"]
    asked = geometric_sizes(SMALLEST, largest, 4 if sizes.quick else 8)
    for size in asked:
        shape = shape_of(size)
        scores, targets = pool.matrix(shape), draw_targets(shape)
        problem = Problem(scores, targets, team.threads)
        peers = prepare_peers(PEERS, problem, results)
        found = compare(
            f"{scores.size:,} scores, {team}",
            {
                "truerank": partial(tr.rank, scores, targets, threads=team.argument),
                "read pass": read_pass.contestant(scores, team.threads),
                **peers,
            },
            [],
            show=False,
            calls=max(1, round(RUN / (scores.nbytes / SLOW))),
            budget=sizes.budget / 8,
            **({} if size == asked[-1] else {"benchmark": None}),  # it times but one
        )
        # the case below has what is larger, of all sizes in turn
        ours = ("read pass", "truerank") if size < large_sizes(sizes)[0] else ()
        add_points(roofline, scores.size, found, {name: name for name in (*ours, *peers)})


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
    asked = large_sizes(sizes)
    matrices = {size: pool.matrix(shape_of(size)) for size in asked}
    names = {
        size: {line: f"{line}, {size:,} scores" for line in ("read pass", "truerank")}
        for size in asked
    }
    contestants: dict[str, Callable[[], object]] = {}
    for size, scores in matrices.items():
        targets = draw_targets(scores.shape)
        contestants[names[size]["truerank"]] = partial(
            tr.rank, scores, targets, threads=team.argument
        )
        contestants[names[size]["read pass"]] = read_pass.contestant(scores, team.threads)
    beyond = min(asked) >= 0.9 * last_level_cache()  # scores of 4 bytes: 4 times the cache
    case = f"growth from {min(asked):,} scores, {team}"
    found = compare(
        case,
        contestants,
        [Pair(lines["truerank"], lines["read pass"]) for lines in names.values()],
        nbytes={name: 4 * size for size in asked for name in names[size].values()},
        agree=False,
    )
    for size in asked:
        add_points(roofline, size, found, names[size])
    for line, goal in (("truerank", LINEAR), ("read pass", None)):
        seconds = [found[names[size][line]].best for size in asked]
        law = fit_exponent("time in bytes", asked, seconds)
        results.rows.append(exponent_row(case, line, law, goal if beyond else None))


def test_filter_is_linear(
    team: Team, compare: Compare, results: Results, pool: Pool, sizes: Sizes
) -> None:
    """The time that a filter adds, against its entries."""
    shape = sizes.shared
    scores, targets = pool.matrix(shape), draw_targets(shape)
    filters = {count: draw_filter(shape, count, np.int32) for count in sizes.filter_lengths}
    names = {count: f"{count:,} of each task" for count in filters}
    without, case = "no filter", f"filter of a task's {shape[1]:,} candidates, {team}"
    found = compare(
        case,
        {
            **{
                names[count]: partial(
                    tr.rank, scores, targets, filter=filters[count], threads=team.argument
                )
                for count in filters
            },
            without: partial(tr.rank, scores, targets, threads=team.argument),
        },
        [Pair(name, without, "cost") for name in names.values()],
        nbytes=scores.nbytes,
        agree=False,
    )
    full = found[without].result
    for count, name in names.items():
        above, tied = filtered_out(scores, targets, filters[count][1].reshape(-1, count))
        np.testing.assert_array_equal(found[name].result.above, full.above - above)
        np.testing.assert_array_equal(found[name].result.tied, full.tied - tied)
    base = found[without].best
    added = {shape[0] * count: found[names[count]].best - base for count in filters}
    clear = {entries: more for entries, more in added.items() if more > MEASURABLE * base}
    if len(clear) < 2:
        results.add_remark(f"{case}: too little time to fit a law to")
        return
    law = fit_exponent("added time in entries", list(clear), list(clear.values()))
    each = 1e9 * list(clear.values())[-1] / list(clear)[-1]
    results.rows.append(
        exponent_row(case, f"time added, from {min(clear):,} entries", law, NOT_FASTER)
    )
    results.add_remark(f"{case}: {each:.2f} ns for each entry of the densest")


def filtered_out(
    scores: NDArray[np.float32], targets: NDArray[np.int64], columns: NDArray[Any]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many of these columns are above the truth of each row, and tied with it."""
    gone = np.take_along_axis(scores, columns, axis=1)
    true = np.take_along_axis(scores, targets[:, None], axis=1)
    tied = (gone == true) & (columns != targets[:, None])
    return (gone > true).sum(1), tied.sum(1)
