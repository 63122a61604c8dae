"""How accurate p-values against chance are: beside simulation, at all sizes, over all metrics.

`python bench/studies/pvalues.py --cases 200 --seed 1` draws tasks (1 to 10,000 of 2 to 10^7
candidates, alike, nearly alike and unlike, weighted or not), ranks that are random, better or
worse, a metric and an alternative, and prints for each method how far its p-values are from a
simulation, beside the accuracy that they state. Where p is above 0.02 ranks are drawn as chance has
them; below, with probabilities proportional to exp(t w f(r)), and each draw has the weight that
undoes this (importance sampling). What is near the value by rounding counts, as in `pvalue`.
"""

from __future__ import annotations

import argparse
import math
import resource
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from pages import with_four_digits
from scipy.optimize import brentq

import truerank as tr

METRICS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "mr": lambda r: r,
    "mrr": lambda r: 1 / r,
    "gmr": np.log,
    "power_mean:2": lambda r: r**2,
    "power_mean:-2": lambda r: r**-2.0,
    "power_mean:-0.5": lambda r: r**-0.5,
    "hits@10": lambda r: (r <= 10) * 1.0,
}
SIMPLE = 0.02  # the least p for which ranks are drawn as chance has them
BATCH = 2_000_000  # ranks that are drawn at a time


class Case(NamedTuple):
    """Tasks, their weights (of sum 1) and ranks, a metric, an alternative."""

    sizes: np.ndarray
    weights: np.ndarray
    ranks: np.ndarray
    metric: str
    alternative: str
    shape: str


class Outcomes:
    """The ranks 1..N of one task in runs, in each of which w f(r) is nearly one value."""

    def __init__(self, size: int, values: Callable[[np.ndarray], np.ndarray]) -> None:
        near = np.unique(np.floor(np.geomspace(1, max(size / 2, 1), 20_000)))
        starts = np.unique(np.concatenate([near, [size // 2 + 1], size + 1 - near]))
        self.starts = starts
        self.size = size
        self.values = values
        self.lengths = np.diff(np.append(starts, size + 1.0))
        self.middle = values(starts + (self.lengths - 1) / 2)

    def tilted(self, t: float, low: float, high: float) -> tuple[np.ndarray, float]:
        """The exponent of each run, and the logarithm of the mean of their exponentials."""
        exponents = t * np.clip(self.middle, low, high)
        top = exponents.max()
        return exponents, top + math.log(self.lengths @ np.exp(exponents - top) / self.size)

    def mean(self, t: float, low: float, high: float) -> float:
        exponents, log = self.tilted(t, low, high)
        terms = self.lengths * np.exp(exponents - log) / self.size
        return float(terms @ np.clip(self.middle, low, high))

    def draw(
        self, t: float, low: float, high: float, shape: tuple[int, int], rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Ranks, and the logarithm of how much more probable chance makes them."""
        if t == 0:
            return rng.integers(1, self.size, shape, endpoint=True).astype(float), np.zeros(shape)
        exponents, log = self.tilted(t, low, high)
        reached = np.cumsum(self.lengths * np.exp(exponents - exponents.max()))
        run = np.searchsorted(reached, rng.random(shape) * reached[-1], side="right")
        run = np.minimum(run, len(reached) - 1)
        ranks = self.starts[run] + np.floor(rng.random(shape) * self.lengths[run])
        return ranks, log - exponents[run]


def draw_case(rng: np.random.Generator) -> Case:
    """Draw tasks, and ranks under a tilt, so that p is anywhere from 0.9 to 10^-12."""
    count = round(10 ** rng.uniform(0.3, rng.choice([1.5, 3.0])))
    size = round(10 ** rng.uniform(0.4, 7))
    shape = str(rng.choice(["alike", "nearly", "unlike"]))
    if shape == "alike":
        sizes = np.full(count, size)
    elif shape == "nearly":
        sizes = size - rng.integers(0, max(size // 8, 1), count)
    else:
        sizes = np.maximum((size ** rng.uniform(0.3, 1, count)).astype(np.int64), 2)
    metric = str(rng.choice(list(METRICS)))
    weights = np.ones(count)
    if metric == "hits@10" or rng.random() < 0.4:
        weights = rng.choice([np.sqrt(1.0 + np.arange(count)), rng.uniform(0.1, 1, count)])
    weights = weights / weights.sum()
    alternative = str(rng.choice(["better", "worse"]))
    sign = _sign(metric, alternative)
    kinds, kind = kinds_of(sizes, weights, metric, sign)
    numbers = np.bincount(kind)

    def folds(t: float) -> float:
        """About minus the logarithm of p for ranks that are drawn under a tilt (Chernoff)."""
        logs = [each.tilted(t, -math.inf, math.inf)[1] for each in kinds]
        means = [each.mean(t, -math.inf, math.inf) for each in kinds]
        return float(numbers @ (t * np.array(means) - np.array(logs)))

    t = 0.0
    aim = rng.uniform(-12, 27)
    if aim > 0:
        end = 1 / max(1e-12, *(float(np.ptp(each.middle)) for each in kinds))
        while folds(end) < aim and end < 1e30:
            end *= 2
        for _ in range(12):
            middle = (t + end) / 2
            if folds(middle) < aim:
                t = middle
            else:
                end = middle
    ranks = np.zeros(count)
    for i, each in enumerate(kinds):
        chosen = kind == i
        shape_drawn = 1, int(chosen.sum())
        ranks[chosen] = each.draw(t, -math.inf, math.inf, shape_drawn, rng)[0][0]
    return Case(sizes, weights, ranks, metric, alternative, shape)


def kinds_of(
    sizes: np.ndarray, weights: np.ndarray, metric: str, sign: float
) -> tuple[list[Outcomes], np.ndarray]:
    """The outcomes of each kind of tasks, and the kind of each task."""
    f = METRICS[metric]
    pairs, kind = np.unique(np.stack([sizes, weights]), axis=1, return_inverse=True)
    return [Outcomes(int(n), lambda r, w=w: sign * w * f(r)) for n, w in pairs.T], kind.ravel()


def _sign(metric: str, alternative: str) -> float:
    rising = METRICS[metric](np.array([1.0]))[0] < METRICS[metric](np.array([20.0]))[0]
    if rising != (alternative == "worse"):
        return -1.0
    return 1.0


def simulate(
    case: Case, about: float, error: float, most: int, rng: np.random.Generator
) -> tuple[float, float]:
    """P under chance, and its relative standard error: at most `error`, or after `most` ranks."""
    f = METRICS[case.metric]
    sign = _sign(case.metric, case.alternative)
    kinds, kind = kinds_of(case.sizes, case.weights, case.metric, sign)
    numbers = np.bincount(kind)
    ends = np.array(
        [[k.values(np.ones(1))[0], k.values(np.array([float(k.size)]))[0]] for k in kinds]
    )
    low = ends.min(axis=1)
    high = ends.max(axis=1)
    x = float(sign * case.weights @ f(case.ranks))
    # what suffices by itself, or cannot suffice, may be any value beyond
    slack = 1e-9 * abs(x)
    floors = high - 1.25 * (numbers @ high - x) - slack
    roofs = low + 1.25 * (x - numbers @ low) + slack
    cut = list(zip(kinds, floors, roofs, numbers, strict=True))

    def excess(t: float) -> float:
        return sum(m * k.mean(t, a, b) for k, a, b, m in cut) - x

    t = 0.0
    if about < SIMPLE and excess(0.0) < 0:
        end = 1 / (abs(x) + 1e-300)
        while excess(end) < 0 and end < 1e100:
            end *= 2
        t = float(brentq(excess, 0.0, end, xtol=1e-300, rtol=1e-3))
    total = squares = draws = 0.0
    batch = max(BATCH // len(case.sizes), 1)
    while draws * len(case.sizes) < most:
        sums = np.zeros(batch)
        logs = np.zeros(batch)
        for k, a, b, m in cut:
            for part in np.array_split(np.arange(m), math.ceil(m * batch / BATCH)):
                drawn, log = k.draw(t, a, b, (batch, len(part)), rng)
                sums += k.values(drawn).sum(axis=1)
                logs += log.sum(axis=1)
        hit = np.where(sums >= x - 1e-12 * abs(x), np.exp(logs), 0.0)
        total += hit.sum()
        squares += hit @ hit
        draws += batch
        mean = total / draws
        if draws >= 20_000 and mean > 0:
            off = math.sqrt(max(squares / draws / mean**2 - 1, 1e-12) / draws)
            if off <= error:
                break
    mean = total / draws
    off = math.inf
    if mean:
        off = math.sqrt(max(squares / draws / mean**2 - 1, 0) / draws)
    return mean, off


class Row(NamedTuple):
    """What a case gave."""

    method: str
    accuracy: float
    p: float
    simulated: float
    error: float
    standard_error: float
    seconds: float
    case: str


RANGES = [(0.02, 1.0), (1e-3, 0.02), (1e-6, 1e-3), (0.0, 1e-6)]


def summary(rows: list[Row]) -> str:
    """A line of Markdown for each method and range of p."""
    lines = [
        "| method | p | cases | error, median; greatest | standard error, median | beyond three of them | accuracy, median; greatest | seconds, greatest |",  # noqa: E501
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for method in dict.fromkeys(row.method for row in rows):
        for low, high in RANGES:
            chosen = [x for x in rows if x.method == method and low < x.p <= high]
            chosen = [x for x in chosen if x.standard_error < 0.05]
            if not chosen:
                continue
            errors = np.abs([x.error for x in chosen])
            accuracies = [x.accuracy for x in chosen]
            beyond = sum(abs(x.error) > 3 * x.standard_error for x in chosen)
            off = 100 * np.median([x.standard_error for x in chosen])
            cells = [
                method,
                f"{low:g} to {high:g}",
                f"{len(chosen)}",
                f"{100 * np.median(errors):.2f} %; {100 * errors.max():.2g} %",
                f"{off:.2f} %",
                f"{beyond}",
                f"{100 * np.median(accuracies):.2g} %; {100 * max(accuracies):.2g} %",
                f"{max(x.seconds for x in chosen):.1f}",
            ]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most", type=float, default=3e8, help="ranks drawn for a case at most")
    options = parser.parse_args()
    print("\t".join(Row._fields))
    rows = []
    for number in range(options.cases):
        rng = np.random.default_rng([options.seed, number])
        case = draw_case(rng)
        weighted = None
        words = ""
        if np.ptp(case.weights) > 0:
            weighted = case.weights
            words = ", weighted"
        ones = np.ones(len(case.sizes), np.int64)
        ranks = tr.Ranks(case.ranks.astype(np.int64) - 1, ones, case.sizes, weights=weighted)
        started = time.process_time()
        found = tr.pvalue(ranks, case.metric, alternative=case.alternative)
        seconds = time.process_time() - started
        goal = 0.01 if found.p > 1e-3 else 0.05
        p, off = simulate(case, found.p, goal / 3, int(options.most), rng)
        off_by = math.nan
        if p:
            off_by = found.p / p - 1
        sizes = f"{case.sizes.min()} to {case.sizes.max()}"
        about = f"{case.metric} {case.alternative}, {len(ones)} of {sizes}, {case.shape}{words}"
        rows.append(Row(found.method, found.accuracy, found.p, p, off_by, off, seconds, about))
        print("\t".join(map(with_four_digits, rows[-1])), flush=True)
    print(summary(rows))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"Peak memory, with that of the simulation: {memory:.0f} MB.")


if __name__ == "__main__":
    main()
