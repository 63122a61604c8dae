"""How often 95 % intervals hold the true value, and how often tests at 5 % reject.

    python bench/studies/calibration.py DATA_FOLDER VECTORS_FOLDER [--quick] [--only REGEX]
        [--questions REGEX] [--output FOLDER]

Triples, queries or relations are drawn many times from populations whose metrics are known (see
`calibration_populations`), and given to `interval` and `compare` with their defaults: by="unit"
where triples were drawn, by="query" where queries were, the relations as units where they were. A
cell is good if its intervals hold the true value in 93 to 97.5 % of all samples, whether a result
has notes or not; this rule is the same for populations by which the formulas were chosen and for
those by which nothing was.

"rare kinds" asks for the coverage where a few units are of a kind that a sample may lack, beside
that of t alone. Three questions say where a note is due, which is made from the design alone: "few
units", of equal weight; "large unit", one of which has a given share of the weight; and
"relations", which come with the weight they have in their graph, by the share of the largest.
"shares" draws hits of two models of which one alone hits the given shares of the tasks, up to
nearly none and nearly all, and holds Clopper and Pearson's bounds of the wins beside `compare`.

DATA_FOLDER has kinships/, wn18rr/ and dbp15k_zh_en/; UMLS lies in the package of PyKEEN and the
digits in that of scikit-learn (`pip install --no-deps pykeen`, `pip install scikit-learn`).
VECTORS_FOLDER keeps what is trained: four models of WN18RR, a few minutes each. What was measured
replaces its cells in calibration.tsv, from which calibration.md is written. A full run takes about
half an hour of one core beside that.
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
from functools import cache
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import scipy.stats
from calibration_page import (
    APART,
    BY_T,
    BY_WINS,
    COMPARED,
    LARGEST,
    OF_DESIGNS,
    RARE,
    RARE_REPEATS,
    REPEATS,
    SHARES,
    Cell,
    page,
)
from calibration_populations import (
    Makers,
    Population,
    made_populations,
    new_populations,
    rare_populations,
    real_populations,
)
from pages import arguments, read_rows, write_rows

import truerank as tr
from truerank.inference import interval

FEWER = 100  # of comparisons, which take longer
DESIGN_REPEATS = 200  # of the questions about notes, whose cells are read together
LEAST_SAMPLES = 40  # of a cell whose samples are told apart by what was drawn
UNITS = (50, 500)
FEW_UNITS = (2, 3, 5, 8, 10, 12, 15, 20, 30, 50, 100, 200)
RELATIONS = (5, 8, 11, 16, 23, 36)
LARGE_UNITS = tuple(itertools.product((30, 100), (0.1, 0.15, 0.2, 0.3, 0.5)))
METRICS = ("mrr", "hits@1", "hits@10", "mr", "gmr", "median", "amri")
RARE_METRICS = ("mrr", "gmr", "hits@1", "hits@10")
RARE_UNITS = (20, 50, 100, 200, 500)
BY = {"triples": "unit", "queries": "query", "relations": "unit"}
SEEDS = (2, 3, 5)
ALONE = (  # what one model alone hits, and the other
    *((0.01, 0.01), (0.02, 0.0), (0.02, 0.02), (0.05, 0.01), (0.1, 0.02), (0.1, 0.1)),
    *((0.2, 0.02), (0.3, 0.0), (0.4, 0.4), (0.9, 0.02), (0.98, 0.0)),
)
OF_SHARES = (20, 60, 200, 1000)  # units
QUESTIONS = ("interval", "difference", "equal", "runs", *APART)


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
        yield tally(("interval", population.name, drawn, units, 0.0, metric), rows, truth)


def designs(population: Population, repeats: int) -> Iterator[Cell]:
    """Intervals of few triples, and of triples of which one has a large share of the weight.

    The weights hang on nothing, so that the true value is that of equal weights.
    """
    designs = [("few units", units, 0.0) for units in FEW_UNITS]
    designs += [("large unit", units, largest) for units, largest in LARGE_UNITS]
    for question, units, largest in designs:
        name = question, population.name, "triples", units, largest
        found = defaultdict(list)
        for rng in streams(*name, repeats):
            ranks = population.draw("triples", units, rng)[0]
            if largest:
                weights = np.full(units, (1 - largest) / (units - 1))
                weights[0] = largest
                ranks = ranks.with_weights(weights[ranks.unit.codes])
            for metric in OF_DESIGNS:
                made = interval(ranks, metric)
                found[metric].append((made.value, made.low, made.high, np.nan))
        for metric, rows in found.items():
            yield tally((*name, metric), rows, population.value(metric))


def drawn_relations(population: Population, repeats: int) -> Iterator[Cell]:
    """Intervals of relations that were drawn, by the share of the largest in the sample."""
    found = defaultdict(list)
    for units in RELATIONS:
        for rng in streams("relations", population.name, units, repeats):
            ranks = population.draw("relations", units, rng)[0]
            largest = float(np.bincount(ranks.unit.codes).max() / len(ranks))
            place = int(np.searchsorted(LARGEST, largest, side="right")) - 1
            for metric in OF_DESIGNS:
                made = interval(ranks, metric)
                found[metric, place].append((made.value, made.low, made.high, np.nan))
    for (metric, place), rows in sorted(found.items()):
        if len(rows) >= LEAST_SAMPLES:
            name = "relations", population.name, "relations", 0, LARGEST[place], metric
            yield tally(name, rows, population.value(metric))


def rare_kinds(population: Population, units: int, repeats: int) -> Iterator[Cell]:
    """Intervals of units of which a few may be of a kind that the sample lacks, and those of t."""
    found = defaultdict(list)
    for rng in streams(RARE, population.name, units, repeats):
        ranks = population.draw("triples", units, rng)[0]
        for metric in RARE_METRICS:
            made = interval(ranks, metric)
            found[RARE, metric].append((made.value, made.low, made.high, np.nan))
            found[BY_T, metric].append((made.value, *bounds_by_t(ranks, metric), np.nan))
    for (question, metric), rows in found.items():
        name = question, population.name, "triples", units, 0.0, metric
        yield tally(name, rows, population.value(metric))


def bounds_by_t(ranks: tr.Ranks, metric: str) -> tuple[float, float]:
    """The bounds of t on the scale of the mean, whose degrees are those that carry the variance."""
    f = {
        "mrr": 1 / ranks.realistic,
        "gmr": np.log(ranks.realistic),
        "hits@1": ranks.realistic <= 1,
        "hits@10": ranks.realistic <= 10,
    }[metric].astype(np.float64)
    d = f - f.mean()
    low = high = f.mean()
    if d.any():
        degrees = np.clip((d**2).sum() ** 2 / (d**4).sum() - 1, 1, len(f) - 1)
        reach = scipy.stats.t.ppf(0.975, degrees) * f.std(ddof=1) / np.sqrt(len(f))
        low -= reach
        high += reach
    least, most = (0.0, np.log(ranks.candidates[0])) if metric == "gmr" else (0.0, 1.0)
    low, high = max(low, least), min(high, most)
    if metric == "gmr":
        return float(np.exp(low)), float(np.exp(high))
    return float(low), float(high)


def two_models(
    question: str, population: Population, drawn: str, units: int, repeats: int
) -> Iterator[Cell]:
    """Differences or ratios of two models; where they are equal, they change places at random."""
    found = defaultdict(list)
    ratios = dict[str, bool]()
    for rng in streams(question, population.name, drawn, units, repeats):
        a, b = population.draw(drawn, units, rng)
        if question == "equal":
            swap = (rng.random(units) < 0.5)[a.unit.codes]
            a, b = (swapped(a, b, swap), swapped(b, a, swap))
        for metric in COMPARED:
            made = tr.compare(a, b, metric=metric, by=BY[drawn])
            found[metric].append((made.estimate, made.low, made.high, made.p_value))
            ratios[metric] = made.effect == "ratio"
    for metric, rows in found.items():
        null = truth = float(ratios[metric])
        if question == "difference":
            first, second = (population.value(metric, model) for model in (0, 1))
            truth = first - second
            if ratios[metric]:
                truth = first / second
        yield tally((question, population.name, drawn, units, 0.0, metric), rows, truth, null)


def shares(alone: tuple[float, float], units: int, repeats: int) -> Iterator[Cell]:
    """Differences of hits of two models, by `compare` and by the wins among unlike hits."""
    name = f"{100 * alone[0]:g} and {100 * alone[1]:g} %"
    found: dict[str, list[tuple[float, ...]]] = {SHARES: [], BY_WINS: []}
    known: dict[tuple[int, int], tr.inference.Comparison] = {}
    for rng in streams(SHARES, name, units, repeats):
        wins, losses, _ = rng.multinomial(units, [*alone, 1 - sum(alone)]).tolist()
        if (wins, losses) not in known:
            above = np.zeros((2, units), np.int64)
            above[1, :wins] = 1
            above[0, wins : wins + losses] = 1
            a, b = (tr.Ranks(row, np.ones(units, np.int64), 9) for row in above)
            known[wins, losses] = tr.compare(a, b, metric="hits@1")
        made = known[wins, losses]
        found[SHARES].append((made.estimate, made.low, made.high, made.p_value))
        found[BY_WINS].append((made.estimate, *bounds_by_wins(wins, losses, units), np.nan))
    for question, rows in found.items():
        yield tally((question, name, "tasks", units, 0.0, "hits@1"), rows, alone[0] - alone[1])


@cache
def bounds_by_wins(wins: int, losses: int, units: int) -> tuple[float, float]:
    """Clopper and Pearson's bounds of the share of wins, as those of the difference of all."""
    unlike = wins + losses
    if not unlike:
        return 0.0, 0.0
    bounds = scipy.stats.binomtest(wins, unlike).proportion_ci(0.95)
    return unlike / units * (2 * bounds.low - 1), unlike / units * (2 * bounds.high - 1)


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
        name = "runs", population.name, f"{seeds} seeds", units, 0.0, metric
        yield tally(name, rows, 0.0)


def streams(*name: object) -> Iterator[np.random.Generator]:
    """One generator for each sample of a cell; the last of the names is their number."""
    words = list(name[:-1])
    repeats = int(str(name[-1]))
    start = zlib.crc32(repr(words).encode())
    return (np.random.default_rng((start, i)) for i in range(repeats))


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
    name: tuple[str, str, str, int, float, str],
    rows: Iterable[object],
    truth: float,
    null: float = 0.0,
) -> Cell:
    """Count the samples of a cell; `null` is the effect of models that do not differ."""
    value, low, high, p = np.array(list(rows), dtype=np.float64).T
    slack = 1e-12 * abs(truth)
    covered = (low - slack <= truth) & (truth <= high + slack)
    centre = np.diff(np.quantile(value, [0.025, 0.975]))[0]
    width = np.nan
    if centre:
        width = float(np.median(high - low)) / centre
    known = ~np.isnan(p)
    apart = ((p <= 0.05) != ((low > null) | (high < null)))[known]
    rejected = share = np.nan
    if known.any():
        rejected = float((p[known] < 0.05).mean())
        share = float(apart.mean())
    return Cell(*name, float(covered.mean()), rejected, width, share, len(value))


def all_cells(
    makers: Makers, repeats: tuple[int, int, int, int], units: tuple[int, ...], questions: str
) -> Iterator[Cell]:
    """Run the study: the questions whose names match a regular expression."""

    def asked(question: str) -> bool:
        return re.search(questions, question) is not None

    def say(*words: object) -> None:
        print(f"{time.process_time():6.0f} s", *words, file=sys.stderr, flush=True)

    for make in makers.values():
        population = make()
        for drawn, number in itertools.product(("triples", "queries"), units):
            if asked("interval"):
                yield from one_model(population, drawn, number, repeats[0])
            for question in filter(asked, ("difference", "equal")):
                yield from two_models(question, population, drawn, number, repeats[1])
            say(population.name, number, drawn)
        if population.size("relations") and asked("interval"):
            yield from one_model(population, "relations", population.size("relations"), repeats[0])
        if asked("few units"):
            yield from designs(population, repeats[2])
            say(population.name, "designs")
        if population.size("relations") and asked("relations"):
            yield from drawn_relations(population, repeats[2])
            say(population.name, "relations")
        if population.name == "log-uniform" and asked("runs"):
            for seeds in SEEDS:
                yield from runs(population, seeds, units[-1], repeats[1])


def all_rare(makers: Makers, repeats: int) -> Iterator[Cell]:
    """Ask for the intervals of populations with rare kinds."""
    for make in makers.values():
        population = make()
        for units in RARE_UNITS:
            yield from rare_kinds(population, units, repeats)
        print(f"{time.process_time():6.0f} s", population.name, file=sys.stderr, flush=True)


def main(data: Path, vectors: Path, quick: bool, only: str, questions: str, output: Path) -> None:
    """Run the study, merge with earlier cells, and write the page."""
    new = new_populations(data, vectors)
    rare = rare_populations()
    makers = made_populations() | real_populations(data, vectors) | new
    repeats = (REPEATS, FEWER, DESIGN_REPEATS, RARE_REPEATS)
    units = UNITS
    if quick:
        repeats = (20, 20, 20, 20)
        units = UNITS[:1]
    path = output / "calibration.tsv"
    cells = {cell.name: cell for cell in read_rows(path, Cell)}
    if re.search(questions, RARE):
        for cell in all_rare(matching(rare, only), repeats[-1]):
            cells[cell.name] = cell
    if re.search(questions, SHARES):
        for alone, number in itertools.product(ALONE, OF_SHARES):
            for cell in shares(alone, number, repeats[0]):
                cells[cell.name] = cell
    others = [question for question in QUESTIONS if question not in (RARE, BY_T, SHARES, BY_WINS)]
    if any(re.search(questions, question) for question in others):
        for cell in all_cells(matching(makers, only), repeats, units, questions):
            cells[cell.name] = cell
    order = list(makers | rare)
    order += [f"{100 * one:g} and {100 * two:g} %" for one, two in ALONE]
    kept = [cell for cell in cells.values() if cell.population in order]
    kept.sort(key=lambda cell: (QUESTIONS.index(cell.question), order.index(cell.population)))
    write_rows(path, kept)
    (output / "calibration.md").write_text(page(kept, set(new)), encoding="utf-8")


def matching(makers: Makers, only: str) -> Makers:
    """The populations whose names match a regular expression."""
    return {name: make for name, make in makers.items() if re.search(only, name)}


if __name__ == "__main__":
    options = {"quick": False, "only": "", "questions": "", "output": Path(__file__).parent}
    main(**arguments(__doc__, "data", "vectors", **options))
