"""Whether 95 % intervals contain the true value in 95 % of cases, and tests at 5 % reject in 5 %.

    python bench/studies/calibration.py [DATA_FOLDER CACHE_FOLDER] [--quick] [--part NAME]
        [--only TEXT] [--save FILE] [--repeats N] [--page BEFORE AFTER]

Samples are drawn hundreds of times from populations whose metrics are known exactly, and given to
`interval` and `compare` with their defaults (but fewer resamples), and with each method by name.
DATA_FOLDER has kinships/ and wn18rr/; CACHE_FOLDER gets the trained models and their ranks. Without
them, the populations of real ranks are left out.

--save writes the cells to a file, and --page makes calibration.md from two such files: that of a
version before, and that of this version. --only takes the populations whose names contain a text.
A full run takes about a quarter of an hour of one core; --quick takes some seconds.
"""

from __future__ import annotations

import argparse
import inspect
import os
import platform
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from calibration_cells import Cell, Tally, read_cells, write_cells
from calibration_laws import (
    LAWS,
    Exchangeable,
    Law,
    OneModel,
    Population,
    Resampled,
    Shifted,
    SuitedQueries,
    UnlikeLaws,
    log_uniform,
    near,
    read_real,
)
from calibration_page import make_page, summary_lines

import truerank as tr
from truerank.inference import interval
from truerank.inference.significance import pvalue

HERE = Path(__file__).parent
RESAMPLES = 599  # so that p-values have steps of 1 / 600, and 0.05 is one of them
BATCH, FEWEST, ENOUGH = 100, 200, 300
METRICS = ("mrr", "hits@1", "hits@10", "mr", "gmr", "median")
DIFFERENCES = ("mrr", "hits@10", "mr", "gmr", "median")
DEFAULT = "default"
CHANCE, CHANCE_REPEATS = "ranks by chance, N of 50, 1,000, 15,000", 200


class Line(NamedTuple):
    """Cells that share their samples, but for the number of units."""

    population: Population
    units: tuple[int, ...]
    metrics: tuple[str, ...]
    methods: tuple[str, ...] = (DEFAULT,)


def most_repeats(units: int) -> int:
    """The most repeats of a cell that has so many units."""
    return 1000 if units < 20_000 else 200


def methods_of(function: Any) -> tuple[str, ...]:
    """The methods that can be asked for, without the default."""
    default = inspect.signature(function).parameters["method"].default
    return tuple(method for method in function.__globals__["METHODS"] if method != default)


def interval_lines(real: dict[str, tr.Ranks]) -> Iterator[Line]:
    """The populations of one model."""
    for law in LAWS.values():
        yield Line(OneModel(law), (5, 10, 20, 50, 200, 1000), METRICS)
    yield Line(OneModel(LAWS["log-uniform"]), (20_000,), ("mrr", "hits@10", "mr", "median"))
    for name in ("log-uniform", "near 0", "near 1", "heavy tail"):
        yield Line(OneModel(LAWS[name], "Pareto"), (10, 20, 50, 200, 1000), METRICS)
        for clusters in ("even", "mild"):
            yield Line(OneModel(LAWS[name], clusters), (20, 200), METRICS)
    for name in ("Kinships, transe", "WN18RR, 15 epochs"):
        if name in real:
            for queries in (False, True):
                population = Resampled(name, [real[name]], queries)
                yield Line(population, (5, 10, 20, 50, 200, 1000), (*METRICS, "amri"))
    by_name = methods_of(interval)
    for law, clusters in (("log-uniform", "none"), ("near 1", "none"), ("log-uniform", "Pareto")):
        few = ("mrr", "hits@10", "mr", "median")
        yield Line(OneModel(LAWS[law], clusters), (20, 200), few, by_name)
    if real:
        name = "WN18RR, 15 epochs"
        yield Line(Resampled(name, [real[name]], True), (20, 200), few, by_name)


def compare_lines(real: dict[str, tr.Ranks]) -> Iterator[Line]:
    """The populations of two models."""
    every, clustered = (5, 10, 20, 50, 200, 1000), (10, 20, 50, 200)
    worse = {
        "log-uniform": Law("log-uniform to 1,000", "", log_uniform(1, 1000, 10_000)),
        "near 0": Law("4 % of hits", "", near(0.04, 0.01)),
        "near 1": Law("90 % of hits", "", near(0.90, 0.85)),
    }
    for name in ("log-uniform", "near 0", "near 1", "heavy tail"):
        yield Line(Exchangeable(LAWS[name]), every, DIFFERENCES)
    for name in ("log-uniform", "near 1"):
        yield Line(Exchangeable(LAWS[name], "Pareto"), clustered, DIFFERENCES)
    for clusters in ("even", "Pareto"):
        yield Line(SuitedQueries(clusters), clustered, DIFFERENCES)
    for metric in ("mrr", "mr", "gmr"):
        yield Line(UnlikeLaws(metric), every, (metric,))
        yield Line(UnlikeLaws(metric, "Pareto"), (20, 50, 200), (metric,))
    for name, other in worse.items():
        yield Line(Shifted(LAWS[name], other), every, DIFFERENCES)
    yield Line(Shifted(LAWS["log-uniform"], worse["log-uniform"], "Pareto"), clustered, DIFFERENCES)
    for name, first, second in (
        ("Kinships", "Kinships, transe", "Kinships, rotate"),
        ("WN18RR", "WN18RR, 15 epochs", "WN18RR, 4 epochs"),
    ):
        if first in real:
            for swapped in (True, False):
                told = f"{name}, {'swapped at random' if swapped else 'two models'}"
                models = [real[first], real[second]]
                yield Line(Resampled(told, models, True, swapped), clustered, DIFFERENCES)
    by_name, few = methods_of(tr.compare), ("mrr", "hits@10", "mr")
    yield Line(Exchangeable(LAWS["log-uniform"]), (10, 20, 200), few, by_name)
    yield Line(Exchangeable(LAWS["near 1"]), (20, 200), few, by_name)
    yield Line(SuitedQueries("Pareto"), (20, 50), few, by_name)
    for metric in ("mrr", "mr"):
        # the signed-rank test asks another question, whose answer is no here
        unlike = tuple(x for x in by_name if x != "wilcoxon")
        yield Line(UnlikeLaws(metric), (20, 200), (metric,), unlike)
    yield Line(Shifted(LAWS["log-uniform"], worse["log-uniform"]), (20, 200), few, by_name)


def share_draws() -> None:
    """Let all metrics of a sample share the draws of its resamples, which depend on the seed alone.

    The draws are most of the time of a run. The results stay the same.
    """
    for name, module in [*sys.modules.items()]:
        if name.startswith("truerank.inference"):
            for drawn in ("draw_resamples", "draw_swaps"):
                if hasattr(module, drawn):
                    setattr(module, drawn, remember(getattr(module, drawn)))


def remember(draw: Callable[..., Iterator[Any]]) -> Callable[..., Any]:
    """Return a function that keeps the chunks which it drew last."""
    if hasattr(draw, "cache_info"):
        return draw

    @lru_cache(maxsize=1)
    def drawn(*arguments: Any, **options: Any) -> tuple[Any, ...]:
        return tuple(draw(*arguments, **options))

    return drawn


def run_line(part: str, line: Line, limit: int | None) -> Iterator[Cell]:
    """Draw samples of a population until the verdicts are clear, or there are enough of them."""
    population = line.population
    for units in line.units:
        name = f"{part} {population.name} {population.clusters} {units}"
        rng = np.random.default_rng(zlib.crc32(name.encode()))
        tallies = [
            Tally(
                Cell(
                    part,
                    population.name,
                    population.clusters,
                    units,
                    metric,
                    method,
                    population.null,
                    population.true_values[metric],
                )
            )
            for method in line.methods
            for metric in line.metrics
        ]
        most, active = min(limit or 10**9, most_repeats(units)), tallies
        for start in range(0, most, BATCH):
            number = min(BATCH, most - start)
            for seed, models in enumerate(population.draw(rng, units, number), start):
                for tally in active:
                    add_result(tally, models, seed)
            done = start + number
            active = [
                x for x in active if not x.refused and (done < FEWEST or not x.is_decided(ENOUGH))
            ]
            if not active:
                break
        yield from (tally.finish() for tally in tallies if not tally.refused)


def add_result(tally: Tally, models: tuple[tr.Ranks, ...], seed: int) -> None:
    """Compute the interval or the comparison of one sample."""
    if tally.refused:
        return
    cell = tally.cell
    options: dict[str, Any] = {"resamples": RESAMPLES, "seed": seed}
    if cell.method != DEFAULT:
        options["method"] = cell.method
    try:
        if cell.part == "interval":
            tally.add(interval(*models, cell.metric, **options))
        else:
            tally.add(tr.compare(*models, metric=cell.metric, **options))
    except ValueError:
        if cell.method == DEFAULT:
            raise
        tally.refused = True  # a method that does not apply to the metric


def run_cells(
    part: str, real: dict[str, tr.Ranks], options: argparse.Namespace, others: Sequence[Cell]
) -> list[Cell]:
    """Run all cells of a part; save them and the others after each line."""
    lines = {"interval": interval_lines, "compare": compare_lines}[part](real)
    cells: list[Cell] = []
    for line in lines:
        if options.quick:
            line = line._replace(units=line.units[:1])
        told = f"{line.population.name}, clusters: {line.population.clusters}"
        if options.only in told:
            cells += run_line(part, line, options.repeats)
            if options.save:
                write_cells(options.save, [*others, *cells])
            print(f"{time.process_time():6.0f} s {part}: {told}", file=sys.stderr, flush=True)
    return cells


def pvalue_cells(limit: int | None) -> Iterator[Cell]:
    """Draw p-values of `pvalue` for random ranks."""
    rng = np.random.default_rng(11)
    for tasks in (100, 1000):
        tallies = [
            Tally(Cell("pvalue", CHANCE, "none", tasks, metric, DEFAULT, True))
            for metric in DIFFERENCES
        ]
        for _ in range(limit or CHANCE_REPEATS):
            candidates = rng.choice(np.array([50, 1000, 15_000]), tasks)
            ones = np.ones(tasks, dtype=np.int64)
            ranks = tr.Ranks(rng.integers(0, candidates), ones, candidates)
            for tally in tallies:
                tally.add(pvalue(ranks, tally.cell.metric))
        yield from (tally.finish() for tally in tallies)
        print(f"{time.process_time():6.0f} s pvalue: {tasks} tasks", file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the study, print its summary, and write the cells or the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path, nargs="?", help="has kinships/ and wn18rr/")
    parser.add_argument("cache", type=Path, nargs="?", help="gets the ranks of real models")
    parser.add_argument("--quick", action="store_true", help="20 repeats of the fewest units")
    parser.add_argument("--repeats", type=int, help="at most so many for each cell")
    parser.add_argument("--part", choices=("interval", "compare", "pvalue"), action="append")
    parser.add_argument("--only", default="", help="populations whose name or clusters contain it")
    parser.add_argument("--save", type=Path, help="write the cells to this file")
    parser.add_argument("--page", type=Path, nargs=2, metavar=("BEFORE", "AFTER"))
    options = parser.parse_args(arguments)
    if options.page:
        before, after = map(read_cells, options.page)
        (HERE / "calibration.md").write_text(make_page(before, after), encoding="utf-8")
        return
    real = {}
    if options.data and options.cache:
        real = read_real(options.data, options.cache)
    else:
        print("no DATA_FOLDER and CACHE_FOLDER: real ranks are left out", file=sys.stderr)
    share_draws()
    if options.quick and not options.repeats:
        options.repeats = 20
    cells: list[Cell] = []
    for part in options.part or ("interval", "compare", "pvalue"):
        if part == "pvalue":
            cells += pvalue_cells(options.repeats)
        else:
            cells += run_cells(part, real, options, cells)
    if options.save:
        write_cells(options.save, cells)
    print("\n".join(summary_lines(cells)))
    print(
        f"{len(cells):,} cells, {RESAMPLES} resamples, {time.process_time():.0f} s; "
        f"Python {platform.python_version()}, numpy {np.__version__}."
    )


if __name__ == "__main__":
    main()
