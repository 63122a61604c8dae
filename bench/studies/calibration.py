"""How often 95 % intervals hold the true value, and how often tests at 5 % reject.

    python bench/studies/calibration.py DATA_FOLDER VECTORS_FOLDER [--quick] [--only REGEX]
        [--output FOLDER]

Triples or queries are drawn many times from populations whose metrics are known (see
`calibration_populations`), and given to `interval` and `compare` with their defaults: by="unit"
where triples were drawn, by="query" where queries were. A cell is good if its intervals hold the
true value in 93 to 97.5 % of all samples, whether a result has notes or not.

DATA_FOLDER has kinships/ and wn18rr/, VECTORS_FOLDER what `wn18rr_vectors.py` trained. Populations
that were drawn from replace their cells in calibration.tsv, from which calibration.md is written. A
full run takes about twenty minutes of one core.
"""

from __future__ import annotations

import itertools
import os
import re
import sys
import time
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from calibration_populations import Population, made_populations, real_populations
from pages import arguments, format_page, markdown_table, read_rows, write_rows

import truerank as tr
from truerank.inference import interval

REPEATS, FEWER = 400, 100  # of intervals, and of comparisons, which take longer
UNITS = (50, 500)
METRICS = ("mrr", "hits@1", "hits@10", "mr", "gmr", "median", "amri")
COMPARED = ("mrr", "hits@10", "mr", "gmr", "median")
BY = {"triples": "unit", "queries": "query"}
GOOD = (0.93, 0.975)
SEEDS = (2, 3, 5)


class Cell(NamedTuple):
    """A metric in samples of so many units of one population.

    Attributes
    ----------
    question : str
        "interval" of one model, "difference" of two, "equal" models (which change places at random
        in each unit), or "runs" of one model by two sets of seeds.
    covered, rejected : float
        The share of the intervals that hold the true value, and of the p-values below 0.05.
    width : float
        The median width of the intervals, by that of the central 95 % of the estimates.
    apart : float
        The share of results whose p-value and interval contradict each other.
    """

    question: str
    population: str
    drawn: str
    units: int
    metric: str
    covered: float
    rejected: float
    width: float
    apart: float
    samples: int

    @property
    def name(self) -> tuple[object, ...]:
        return self.question, self.population, self.drawn, self.units, self.metric

    @property
    def good(self) -> bool:
        return GOOD[0] <= self.covered <= GOOD[1]


def one_model(population: Population, drawn: str, units: int, repeats: int) -> Iterator[Cell]:
    """Intervals of the first model's metrics."""
    found = defaultdict(list)
    for rng in streams("interval", population.name, drawn, units, repeats):
        ranks = population.draw(drawn, units, rng)[0]
        for metric in METRICS:
            made = interval(ranks, metric, by=BY[drawn])
            found[metric].append((made.value, made.low, made.high, np.nan))
    for metric, rows in found.items():
        truth = population.value(metric)
        yield tally(("interval", population.name, drawn, units, metric), rows, truth)


def two_models(
    question: str, population: Population, drawn: str, units: int, repeats: int
) -> Iterator[Cell]:
    """Differences or ratios of two models; where they are equal, they change places at random."""
    found, ratios = defaultdict(list), dict[str, bool]()
    for rng in streams(question, population.name, drawn, units, repeats):
        a, b = population.draw(drawn, units, rng)
        if question == "equal":
            swap = (rng.random(units) < 0.5)[a.unit.codes]
            a, b = swapped(a, b, swap), swapped(b, a, swap)
        for metric in COMPARED:
            made = tr.compare(a, b, metric=metric, by=BY[drawn])
            found[metric].append((made.estimate, made.low, made.high, made.p_value))
            ratios[metric] = made.effect == "ratio"
    for metric, rows in found.items():
        null = truth = float(ratios[metric])
        if question == "difference":
            first, second = (population.value(metric, model) for model in (0, 1))
            truth = first / second if ratios[metric] else first - second
        yield tally((question, population.name, drawn, units, metric), rows, truth, null)


def runs(population: Population, seeds: int, units: int, repeats: int) -> Iterator[Cell]:
    """Two sets of runs of one model: the seed of a run moves all of its ranks, and each of them."""
    found = defaultdict(list)
    for rng in streams("runs", population.name, f"{seeds} seeds", units, repeats):
        ranks = population.draw("triples", units, rng)[0]
        models = [[with_seed(ranks, rng) for _ in range(seeds)] for _ in range(2)]
        for metric in ("mrr", "hits@10", "gmr"):
            made = tr.compare(*models, metric=metric)
            found[metric].append((made.estimate, made.low, made.high, made.p_value))
    for metric, rows in found.items():
        yield tally(("runs", population.name, f"{seeds} seeds", units, metric), rows, 0.0)


def streams(*name: object) -> Iterator[np.random.Generator]:
    """One generator for each sample of a cell; the last of the names is their number."""
    *words, repeats = name
    start = zlib.crc32(repr(words).encode())
    return (np.random.default_rng((start, i)) for i in range(int(str(repeats))))


def swapped(a: tr.Ranks, b: tr.Ranks, swap: np.ndarray) -> tr.Ranks:
    """The ranks of a, but those of b where `swap` says so."""
    above = np.where(swap, b.above, a.above)
    ranks = tr.Ranks(above, a.tied, a.candidates, queries=a.queries)
    return ranks.with_labels(unit=a.unit.codes)


def with_seed(ranks: tr.Ranks, rng: np.random.Generator) -> tr.Ranks:
    """The ranks of another run: an effect of 0.1 for all logarithms, and one of 0.3 for each."""
    moved = 0.1 * rng.standard_normal() + 0.3 * rng.standard_normal(len(ranks))
    above = np.ceil(ranks.optimistic * np.exp(moved)).astype(np.int64) - 1
    above = np.clip(above, 0, ranks.candidates - 1)
    found = tr.Ranks(above, ranks.tied, ranks.candidates, queries=ranks.queries)
    return found.with_labels(unit=ranks.unit.codes)


def tally(
    name: tuple[str, str, str, int, str], rows: Iterable[object], truth: float, null: float = 0.0
) -> Cell:
    """Count the samples of a cell; `null` is the effect of models that do not differ."""
    value, low, high, p = np.array([*rows], dtype=np.float64).T
    slack = 1e-12 * abs(truth)
    covered = (low - slack <= truth) & (truth <= high + slack)
    centre = np.diff(np.quantile(value, [0.025, 0.975]))[0]
    width = float(np.median(high - low)) / centre if centre else np.nan
    known = ~np.isnan(p)
    apart = ((p <= 0.05) != ((low > null) | (high < null)))[known]
    rejected = float((p[known] < 0.05).mean()) if known.any() else np.nan
    share = float(apart.mean()) if known.any() else np.nan
    return Cell(*name, float(covered.mean()), rejected, width, share, len(value))


def all_cells(
    populations: list[Population], repeats: tuple[int, int], units: tuple[int, ...]
) -> Iterator[Cell]:
    """Run the study."""
    for population, drawn, number in itertools.product(populations, BY, units):
        yield from one_model(population, drawn, number, repeats[0])
        for question in ("difference", "equal"):
            yield from two_models(question, population, drawn, number, repeats[1])
        print(f"{time.process_time():6.0f} s {population.name}, {number} {drawn}", file=sys.stderr)
    for population, seeds in itertools.product(populations, SEEDS):
        if population.name == "log-uniform":
            yield from runs(population, seeds, units[-1], repeats[1])


def told(cells: list[Cell]) -> list[str]:
    """The number of good cells, the least and the greatest coverage, the mean width."""
    covered = [cell.covered for cell in cells]
    width = float(np.nanmean([cell.width for cell in cells]))
    good = sum(cell.good for cell in cells)
    return [str(good), f"{100 * min(covered):.1f} to {100 * max(covered):.1f} %", f"{width:.2f}"]


def page(cells: list[Cell]) -> str:
    """Write the page: the good cells of each question, way of drawing and metric; all cells."""
    groups: dict[tuple[str, str, str], list[Cell]] = defaultdict(list)
    for cell in cells:
        groups[cell.question, cell.drawn, cell.metric].append(cell)
    summary = [[*name, str(len(group)), *told(group)] for name, group in groups.items()]
    heading = "question | drawn | metric | cells | good | coverage | width"
    tables = [markdown_table(heading, summary, text_columns=3)]
    rows = [
        (
            *(cell.name),
            f"{100 * cell.covered:.1f}",
            "" if np.isnan(cell.rejected) else f"{100 * cell.rejected:.1f}",
            f"{cell.width:.2f}",
            "" if cell.good else "no",
        )
        for cell in cells
    ]
    heading = "question | population | drawn | units | metric | covered | rejected | width | good"
    tables.append(markdown_table(heading, rows, text_columns=3))
    good = sum(cell.good for cell in cells)
    apart = sum(cell.apart > 0 for cell in cells)
    return format_page(PAGE.format(len(cells), good, apart, *tables))


PAGE = """# How often intervals hold the true value, and how often tests reject

Made by `python bench/studies/calibration.py DATA_FOLDER VECTORS_FOLDER`, whose text says what is
drawn.

Of {} cells {} are good: their intervals hold the true value in 93 to 97.5 % of *all* samples,
whether a result carries a note or not. With the 400 samples of intervals a cell that covers 95 % is
found between 92.8 and 97.2 % in 95 of 100 cases, with the 100 of comparisons between 90 and 99 %,
so that many of the others are chance. `width` is the median width by that of the central 95 % of
the estimates: 1 is ideal. In {} cells a p-value and its interval contradict each other.

- *interval*: of one model. *difference*: of two models, of which the true difference is known.
- *equal*: the two models change places at random in each unit, so that the test should reject 5 %.
- *runs*: two sets of runs of one model, by the two-level t.

{}

## All cells

Shares in percent. `rejected` is the size of the test where models are equal, else its power.

{}
"""


def main(data: Path, vectors: Path, quick: bool, only: str, output: Path) -> None:
    """Run the study, merge with earlier cells, and write the page."""
    populations = [*made_populations(), *real_populations(data, vectors)]
    order = [population.name for population in populations]
    chosen = [population for population in populations if re.search(only, population.name)]
    repeats, units = ((20, 20), UNITS[:1]) if quick else ((REPEATS, FEWER), UNITS)
    path = output / "calibration.tsv"
    cells = {cell.name: cell for cell in read_rows(path, Cell)}
    cells |= {cell.name: cell for cell in all_cells(chosen, repeats, units)}
    kept = [cell for cell in cells.values() if cell.population in order]
    kept.sort(key=lambda cell: (cell.question == "runs", order.index(cell.population)))
    write_rows(path, kept)
    (output / "calibration.md").write_text(page(kept), encoding="utf-8")


if __name__ == "__main__":
    options = {"quick": False, "only": "", "output": Path(__file__).parent}
    main(**arguments(__doc__, "data", "vectors", **options))
