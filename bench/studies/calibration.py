"""Whether 95 % intervals contain the true value in 95 % of cases, and null p-values are uniform.

    python bench/studies/calibration.py [--quick] [--part NAME] [--repeats N] [--resamples N]

Tasks are drawn thousands of times from named populations whose metrics are known exactly. Each time
the intervals of `truerank.interval` and the p-values of `truerank.compare` are computed, and at the
end the correct ones are counted. The figures of a full run are in calibration.md. It takes about a
quarter of an hour on one core; --quick takes some seconds.
"""

from __future__ import annotations

import argparse
import math
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from numpy.typing import NDArray

from truerank import Ranks
from truerank.comparison.paired import compare
from truerank.comparison.resampling import bca_bounds, draw_resamples, interval, percentile_bounds
from truerank.comparison.units import units_of

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

METRICS = ("mrr", "hits@10", "mr", "amri", "gmr", "median")
METHODS = ("bca", "percentile", "normal")
LEVEL = 0.95
NOMINAL = (0.94, 0.96)


class Population(NamedTuple):
    """A distribution of ranks on 1..N: the log-rank is a sum of normal effects.

    A rank is the log-normal number rounded up, and at most N; all values of N are equally likely.
    """

    name: str
    description: str
    tasks: int  # exactly, if tasks are independent; else on average
    centre: float
    within: float  # standard deviation of log-ranks of one query
    between: float = 0.0  # standard deviation of the queries' means
    queries: int = 0  # 0: every task is alone
    sizes: tuple[int, ...] = (10_000,)
    chance: float = 0.0  # share of tasks whose rank is uniform on 1..N

    def draw(self, rng: np.random.Generator) -> Ranks:
        """Draw tasks; the tasks of a query, geometrically many, share an effect."""
        if self.queries:
            per_query = rng.geometric(self.queries / self.tasks, self.queries)
            query = np.repeat(np.arange(self.queries), per_query)
            effect = self.between * rng.standard_normal(self.queries)[query]
        else:
            query, effect = np.arange(self.tasks), np.zeros(self.tasks)
        n = len(query)
        candidates = rng.choice(np.array(self.sizes), n)
        logs = self.centre + effect + self.within * rng.standard_normal(n)
        ranks = np.minimum(np.ceil(np.exp(np.minimum(logs, 40))), candidates).astype(np.int64)
        random = rng.random(n) < self.chance
        ranks[random] = rng.integers(1, candidates[random] + 1)
        return Ranks(ranks - 1, np.ones(n, dtype=np.int64), candidates, queries=query)

    def true_values(self) -> dict[str, float]:
        """Return the metrics of the population, from the exact distribution of its ranks."""
        top = max(self.sizes)
        ranks = np.arange(1, top + 1)
        spread = math.hypot(self.within, self.between)
        share = np.vectorize(NormalDist(self.centre, spread).cdf)(np.log(ranks))
        probabilities = np.zeros(top)
        for size in self.sizes:
            cumulative = np.where(ranks < size, share, 1.0)
            uniform = np.minimum(ranks / size, 1.0)
            mixed = (1 - self.chance) * cumulative + self.chance * uniform
            probabilities += np.diff(mixed, prepend=0.0) / len(self.sizes)
        mr = float((probabilities * ranks).sum())
        return {
            "mrr": float((probabilities / ranks).sum()),
            "hits@10": float(probabilities[:10].sum()),
            "mr": mr,
            "amri": 1 - (mr - 1) / float(np.mean([(size - 1) / 2 for size in self.sizes])),
            "gmr": math.exp(float((probabilities * np.log(ranks)).sum())),
            "median": float(ranks[np.searchsorted(np.cumsum(probabilities), 0.5)]),
        }


POPULATIONS = (
    Population(
        "log-normal",
        "1,000 independent tasks, log r normal about 2.5 with deviation 1.5, N = 10,000",
        1000,
        2.5,
        1.5,
    ),
    Population(
        "unequal candidates",
        "1,000 independent tasks, N of 500, 2,000, 15,000, a tenth of the tasks at chance",
        1000,
        2.3,
        1.6,
        sizes=(500, 2_000, 15_000),
        chance=0.1,
    ),
    Population(
        "long median",
        "1,000 independent tasks, log r normal about 5.7 with deviation 2.8: the median is 299, "
        "so that it is hardly discrete; N = 15,000",
        1000,
        5.7,
        2.8,
        sizes=(15_000,),
    ),
    Population(
        "heavy tail",
        "1,000 independent tasks, log r normal about 2.5 with deviation 3, N = 1,000,000",
        1000,
        2.5,
        3.0,
        sizes=(1_000_000,),
    ),
    Population(
        "clustered",
        "400 queries of 4 tasks on average; query effects have deviation 1.2, tasks within 1",
        1600,
        2.5,
        1.0,
        1.2,
        400,
    ),
    Population(
        "few groups",
        "15 groups of 100 tasks on average (geometric), group effects of deviation 1, within 1.5",
        1500,
        2.5,
        1.5,
        1.0,
        15,
    ),
)


class Coverage(NamedTuple):
    """How often intervals contain the true value."""

    population: str
    by: str
    metric: str
    true_value: float
    shares: dict[str, float]
    above: dict[str, float]  # the share of intervals that lie wholly above the true value
    undefined: int  # repeats in which BCa is undefined and percentiles are used


def cover(
    population: Population, by: str | None, repeats: int, resamples: int
) -> Iterator[Coverage]:
    """Draw a population many times, and count which intervals contain its metrics.

    All metrics share the resamples of a repeat, while `interval` draws them for each metric: the
    bounds are the same, and the first repeat asserts it.
    """
    true_values = population.true_values()
    rng = np.random.default_rng(20_230_000 + sum(map(ord, population.name)))
    hits = {key: np.zeros((2, len(METHODS))) for key in METRICS}
    undefined = dict.fromkeys(METRICS, 0)
    for repeat in range(repeats):
        ranks = population.draw(rng)
        functionals = {key: units_of(ranks, key, by=by).functional() for key in METRICS}
        units = functionals["mrr"].units
        chunks = [
            [f.of_counts(counts) for f in functionals.values()]
            for counts in draw_resamples(units, resamples, repeat)
        ]
        replicates = dict(zip(METRICS, np.concatenate(chunks, axis=1), strict=True))
        for key, f in functionals.items():
            value = float(f.of_counts(np.ones((1, units)))[0])
            percentiles = percentile_bounds(replicates[key], LEVEL)
            jackknife = f.leave_one_out()
            bca = (
                None if jackknife is None else bca_bounds(replicates[key], value, jackknife, LEVEL)
            )
            undefined[key] += bca is None
            bounds = np.array([bca or percentiles, percentiles, f.normal_bounds(LEVEL)])
            slack = 1e-12 * abs(true_values[key])
            hits[key][0] += (bounds[:, 0] <= true_values[key] + slack) & (
                true_values[key] <= bounds[:, 1] + slack
            )
            hits[key][1] += bounds[:, 0] > true_values[key] + slack
            if not repeat:
                for method, ends in zip(METHODS, bounds, strict=True):
                    expected = interval(
                        ranks, key, method=method, by=by, resamples=resamples, seed=0
                    )
                    np.testing.assert_allclose([expected.low, expected.high], ends, rtol=1e-9)
    for key in METRICS:
        share, above = hits[key] / repeats
        yield Coverage(
            population.name,
            by or "task",
            key,
            true_values[key],
            dict(zip(METHODS, share.tolist(), strict=True)),
            dict(zip(METHODS, above.tolist(), strict=True)),
            undefined[key],
        )


class Uniformity(NamedTuple):
    """The distribution of p-values under the null hypothesis."""

    case: str
    test: str
    rejected: float  # the share of p-values of at most 0.05
    deviation: float  # Kolmogorov-Smirnov distance from the uniform distribution
    p: float  # of that distance


def uniformity(case: str, test: str, values: Sequence[float]) -> Uniformity:
    """Compare p-values with the uniform distribution."""
    p = np.sort(np.array(values))
    n = len(p)
    steps = np.arange(n + 1) / n
    distance = float(max((steps[1:] - p).max(), (p - steps[:-1]).max()))
    return Uniformity(case, test, float((p <= 0.05).mean()), distance, kolmogorov(distance, n))


def kolmogorov(distance: float, n: int) -> float:
    """Return the probability of a larger distance: asymptotic series with Stephens' correction."""
    x = (math.sqrt(n) + 0.12 + 0.11 / math.sqrt(n)) * distance
    if x < 0.3:
        return 1.0
    terms = ((-1) ** (j - 1) * math.exp(-2 * j * j * x * x) for j in range(1, 101))
    return min(1.0, 2 * sum(terms))


def draw_pair(
    rng: np.random.Generator, tasks: int, queries: int = 0, effect: float = 0.0
) -> tuple[Ranks, Ranks]:
    """Draw ranks of two exchangeable models: tasks are equally hard, queries may suit one of them.

    `effect` is the deviation of what a query adds to the log-ranks of one model alone.
    """
    query = np.arange(tasks) if not queries else rng.integers(0, queries, tasks)
    shared = 2.3 + rng.standard_normal(tasks)
    models = []
    for _ in range(2):
        own = effect * rng.standard_normal(tasks)[query]
        logs = shared + own + rng.standard_normal(tasks)
        ranks = np.minimum(np.ceil(np.exp(logs)), 10_000).astype(np.int64)
        models.append(Ranks(ranks - 1, np.ones(tasks, dtype=np.int64), 10_000, queries=query))
    return models[0], models[1]


NULLS: tuple[tuple[str, dict[str, Any], str | None, tuple[tuple[str, str], ...]], ...] = (
    (
        "1,000 independent tasks",
        {"tasks": 1000},
        None,
        (
            ("permutation", "mrr"),
            ("permutation", "hits@10"),
            ("permutation", "mr"),
            ("permutation", "median"),
            ("wilcoxon", "mrr"),
            ("wilcoxon", "hits@10"),
            ("bootstrap", "mrr"),
            ("bootstrap", "mr"),
            ("bootstrap", "median"),
        ),
    ),
    (
        "1,000 tasks of 200 queries, by query",
        {"tasks": 1000, "queries": 200, "effect": 1.0},
        "query",
        (("permutation", "mrr"), ("wilcoxon", "mrr"), ("bootstrap", "mrr")),
    ),
    (
        "the same, queries ignored",
        {"tasks": 1000, "queries": 200, "effect": 1.0},
        None,
        (("permutation", "mrr"), ("wilcoxon", "mrr"), ("bootstrap", "mrr")),
    ),
)


def compare_under_null(repeats: int, resamples: int) -> Iterator[Uniformity]:
    """Draw p-values of `compare` between models that do not differ."""
    for case, options, by, tests in NULLS:
        rng = np.random.default_rng(7)
        p_values: dict[tuple[str, str], list[float]] = {test: [] for test in tests}
        for repeat in range(repeats):
            a, b = draw_pair(rng, **options)
            for method, metric in tests:
                comparison = compare(
                    a, b, metric=metric, method=method, by=by, resamples=resamples, seed=repeat
                )
                p_values[method, metric].append(comparison.p_value)
        for (method, metric), values in p_values.items():
            yield uniformity(case, f"{method}, {metric}", values)


def pvalue_under_chance(repeats: int) -> Iterator[Uniformity]:
    """Draw p-values of `pvalue` for random ranks."""
    from truerank.comparison.significance import pvalue

    rng = np.random.default_rng(11)
    sizes = np.array([50, 1000, 15_000])
    metrics = ("mr", "mrr", "hits@10", "gmr", "median")
    p_values: dict[str, list[float]] = {metric: [] for metric in metrics}
    for _ in range(repeats):
        candidates = rng.choice(sizes, 1000)
        above = rng.integers(0, candidates)
        ranks = Ranks(above, np.ones(1000, dtype=np.int64), candidates)
        for metric in metrics:
            p_values[metric].append(pvalue(ranks, metric).p)
    for metric, values in p_values.items():
        case = "chance: 1,000 tasks, N of 50, 1,000, 15,000"
        yield uniformity(case, f"pvalue, {metric}", values)


def coverage_table(rows: Sequence[Coverage]) -> list[str]:
    """Return a Markdown table; shares outside 94 to 96 % are bold."""

    def cell(row: Coverage, method: str) -> str:
        share = row.shares[method]
        text = f"{100 * share:.1f} ({100 * row.above[method]:.1f})"
        return text if NOMINAL[0] <= share <= NOMINAL[1] else f"**{text}**"

    lines = [
        f"| population | by | metric | true value | {' | '.join(METHODS)} | BCa undefined |",
        "| :--- | :--- | :--- | ---: |" + " ---: |" * (len(METHODS) + 1),
    ]
    for row in rows:
        cells = [row.population, row.by, row.metric, f"{row.true_value:.4g}"]
        cells += [cell(row, method) for method in METHODS]
        lines.append(f"| {' | '.join([*cells, str(row.undefined or '')])} |")
    return lines


def uniformity_table(rows: Sequence[Uniformity]) -> list[str]:
    """Return a Markdown table; a Kolmogorov-Smirnov p-value below 0.01 is bold."""
    lines = [
        "| case | test | p <= 0.05, % | distance from uniform | its p-value |",
        "| :--- | :--- | ---: | ---: | ---: |",
    ]
    for row in rows:
        p = f"{row.p:.2g}" if row.p >= 0.01 else f"**{row.p:.1g}**"
        lines.append(
            f"| {row.case} | {row.test} | {100 * row.rejected:.1f} | {row.deviation:.3f} | {p} |"
        )
    return lines


def coverage(repeats: int, resamples: int) -> list[str]:
    """Return the populations, and the coverage of intervals in each."""
    cases = [(p, None) for p in POPULATIONS if not p.queries]
    cases += [(p, by) for p in POPULATIONS if p.queries for by in ("query", None)]
    rows: list[Coverage] = []
    for population, by in cases:
        print(f"{population.name}, by {by or 'task'}", file=sys.stderr, flush=True)
        rows += cover(population, by, repeats, resamples)
    descriptions = [f"- **{p.name}**: {p.description}." for p in POPULATIONS]
    return [*descriptions, "", *coverage_table(rows)]


PARTS: dict[str, Callable[[int, int], list[str]]] = {
    "coverage": coverage,
    "compare": lambda repeats, resamples: uniformity_table(
        [*compare_under_null(repeats, resamples // 2)]
    ),
    "pvalue": lambda repeats, resamples: uniformity_table([*pvalue_under_chance(repeats)]),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the study and print, or write, its tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="40 repeats of 200 resamples")
    parser.add_argument("--repeats", type=int, default=None, help="2,000 if not given")
    parser.add_argument("--resamples", type=int, default=None, help="1,000 if not given")
    parser.add_argument("--part", choices=PARTS, action="append", help="all if not given")
    options = parser.parse_args(arguments)
    repeats = options.repeats or (40 if options.quick else 2000)
    resamples = options.resamples or (200 if options.quick else 1000)
    start = time.perf_counter()
    for part in options.part or PARTS:
        print("\n".join(PARTS[part](repeats, resamples)), end="\n\n", flush=True)
    print(
        f"{repeats:,} repeats, {resamples:,} resamples, {time.perf_counter() - start:.0f} s; "
        f"Python {platform.python_version()}, numpy {np.__version__}."
    )


if __name__ == "__main__":
    main()
