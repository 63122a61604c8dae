"""The populations of the calibration study: laws of ranks whose metrics are known, in clusters.

A population draws repeats: samples of so many units, as one Ranks each (or two, for a pair of
models) with the units as queries. Its true values come from the exact law of the ranks, or from all
of the ranks that are resampled.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import truerank as tr

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Values = tuple[Integers, ...]

CLUSTERS: dict[str, str] = {
    "none": "every task is a unit",
    "even": "4 tasks in each cluster",
    "mild": "geometrically many tasks in a cluster, 4 on average",
    "Pareto": "sizes of a Pareto law of shape 1.1, at most 500: a few hold most tasks",
}
TOP = 10_000  # candidates of the synthetic laws, but for the heavy tail


def draw_sizes(clusters: str, rng: np.random.Generator, number: int) -> Integers:
    """Draw the number of tasks of each cluster."""
    if clusters == "Pareto":
        return np.minimum(rng.random(number) ** (-1 / 1.1), 500).astype(np.int64)
    if clusters == "mild":
        return rng.geometric(0.25, number)
    return np.full(number, 4 if clusters == "even" else 1)


class Law:
    """A distribution of ranks on 1..candidates, in which probabilities[i] is that of rank i + 1."""

    def __init__(self, name: str, description: str, probabilities: Floats) -> None:
        self.name, self.description = name, description
        self.probabilities = probabilities / probabilities.sum()
        self.candidates = len(probabilities)

    @cached_property
    def cumulative(self) -> Floats:
        total = np.cumsum(self.probabilities)
        total[-1] = 1.0
        return total

    def draw(self, rng: np.random.Generator, number: int) -> Integers:
        return np.searchsorted(self.cumulative, rng.random(number), side="right") + 1

    @cached_property
    def true_values(self) -> dict[str, float]:
        """The metrics of the law, exactly."""
        p, ranks = self.probabilities, np.arange(1, self.candidates + 1)
        mr = float(p @ ranks)
        return {
            "mrr": float(p @ (1 / ranks)),
            "hits@1": float(p[0]),
            "hits@10": float(p[:10].sum()),
            "mr": mr,
            "amri": 1 - 2 * (mr - 1) / (self.candidates - 1),
            "gmr": math.exp(float(p @ np.log(ranks))),
            "median": float(np.searchsorted(self.cumulative, 0.5 - 1e-12) + 1),
        }

    def mix(self, other: Law, share: float) -> Law:
        """The law of a rank that is the other law's with this probability."""
        mixed = (1 - share) * self.probabilities + share * other.probabilities
        return Law(f"{self.name} and {other.name}", "", mixed)


def log_uniform(low: int, high: int, top: int = TOP) -> Floats:
    """The rank is a uniform logarithm, rounded down; it lies in low..high."""
    ranks = np.arange(1, top + 1, dtype=np.float64)
    found = np.log1p(1 / ranks)
    found[(ranks < low) | (ranks > high)] = 0
    return found / found.sum()


def points(**shares: float) -> Floats:
    """Some ranks with their probabilities: points(r1=0.3, r1000=0.7)."""
    found = np.zeros(TOP)
    for name, share in shares.items():
        found[int(name[1:]) - 1] = share
    return found


def log_normal(centre: float, deviation: float, top: int) -> Floats:
    """The rank is a log-normal number, rounded up, and at most the number of candidates."""
    logs = (np.log(np.arange(1, top)) - centre) / (deviation * math.sqrt(2))
    below = np.array([math.erf(x) for x in logs.tolist()]) / 2 + 0.5
    return np.diff(below, prepend=0.0, append=1.0)


def near(hits: float, first: float) -> Floats:
    """Shares of hits at 10 and at 1; all other ranks are log-uniform."""
    others = (hits - first) * log_uniform(2, 10) + (1 - hits) * log_uniform(11, TOP)
    return points(r1=first) + others


LAWS = {
    law.name: law
    for law in (
        Law("log-uniform", "a uniform logarithm, rounded down", log_uniform(1, TOP)),
        Law("Zipf", "P(r) falls as r to the power -1.5", np.arange(1.0, TOP + 1) ** -1.5),
        Law("two-point", "rank 1 with 30 %, rank 1,000 with 70 %", points(r1=0.3, r1000=0.7)),
        Law("near 0", "2 % of hits at 10, 0.5 % at 1, the rest log-uniform", near(0.02, 0.005)),
        Law("near 1", "98 % of hits at 10, 95 % at 1, the rest log-uniform", near(0.98, 0.95)),
        Law(
            "heavy tail",
            "log r normal about 2.5 with deviation 3, N = 100,000",
            log_normal(2.5, 3.0, 100_000),
        ),
    )
}


class Population:
    """Samples of units; `values` draws the ranks of tasks whose units are given.

    Attributes
    ----------
    name, clusters : str
    true_values : dict of str to float
        Of the metrics, or of their differences between two models.
    null : bool
        Whether two models do not differ.
    """

    name: str
    clusters: str
    candidates: int
    null = False
    true_values: dict[str, float]

    def values(self, rng: np.random.Generator, unit: Integers, number: int) -> Values:
        """Draw the ranks of tasks, of one model or of two."""
        raise NotImplementedError

    def draw(
        self, rng: np.random.Generator, units: int, repeats: int
    ) -> Iterator[tuple[tr.Ranks, ...]]:
        """Draw so many repeats."""
        sizes = draw_sizes(self.clusters, rng, repeats * units)
        unit = np.repeat(np.arange(repeats * units), sizes)
        models = self.values(rng, unit, repeats * units)
        yield from split_repeats(models, self.candidates, unit, units, repeats)


def split_repeats(
    models: Values, candidates: int | Integers, unit: Integers, units: int, repeats: int
) -> Iterator[tuple[tr.Ranks, ...]]:
    """Make Ranks of each repeat: `units` units with ascending numbers."""
    ends = np.searchsorted(unit, np.arange(repeats + 1) * units)
    for repeat in range(repeats):
        part = slice(ends[repeat], ends[repeat + 1])
        queries = unit[part] - repeat * units
        sizes = candidates if isinstance(candidates, int) else candidates[part]
        ones = np.ones(len(queries), dtype=np.int64)
        yield tuple(tr.Ranks(m[part] - 1, ones, sizes, queries=queries) for m in models)


def share_within(
    draw: Callable[[int], Values], rng: np.random.Generator, unit: Integers, number: int
) -> Values:
    """Draw the ranks of tasks, of which half share those of their unit."""
    models = draw(len(unit))
    if len(unit) > number:
        common = draw(number)
        shares = rng.random(len(unit)) < 0.5
        for ranks, of_unit in zip(models, common, strict=True):
            ranks[shares] = of_unit[unit[shares]]
    return models


class OneModel(Population):
    """The ranks of one model by a law."""

    def __init__(self, law: Law, clusters: str = "none") -> None:
        self.law, self.name, self.clusters = law, law.name, clusters
        self.candidates, self.true_values = law.candidates, law.true_values

    def values(self, rng: np.random.Generator, unit: Integers, number: int) -> Values:
        return share_within(lambda n: (self.law.draw(rng, n),), rng, unit, number)


class Exchangeable(Population):
    """Two models of one law, which agree in half of the tasks."""

    null = True

    def __init__(self, law: Law, clusters: str = "none") -> None:
        self.law, self.name, self.clusters = law, f"exchangeable: {law.name}", clusters
        self.candidates, self.true_values = law.candidates, dict.fromkeys(law.true_values, 0.0)

    def values(self, rng: np.random.Generator, unit: Integers, number: int) -> Values:
        def draw(n: int) -> Values:
            a, b = self.law.draw(rng, n), self.law.draw(rng, n)
            return a, np.where(rng.random(n) < 0.5, a, b)

        return share_within(draw, rng, unit, number)


class Shifted(Population):
    """Two models: half of the tasks have the same rank, the others that of another law."""

    def __init__(self, law: Law, other: Law, clusters: str = "none") -> None:
        self.law, self.other, self.clusters = law, other, clusters
        self.name, self.candidates = f"shifted: {law.name}", law.candidates
        mixed = law.mix(other, 0.5).true_values
        self.true_values = {key: value - mixed[key] for key, value in law.true_values.items()}

    def values(self, rng: np.random.Generator, unit: Integers, number: int) -> Values:
        def draw(n: int) -> Values:
            a, b = self.law.draw(rng, n), self.other.draw(rng, n)
            return a, np.where(rng.random(n) < 0.5, a, b)

        return share_within(draw, rng, unit, number)


class UnlikeLaws(Population):
    """Two models with the same mean of one metric, and unlike laws: their tasks are independent."""

    null = True

    def __init__(self, metric: str, clusters: str = "none") -> None:
        self.metric, self.clusters, self.candidates = metric, clusters, TOP
        self.name = "unlike laws"
        self.law = Law("log-uniform to 100", "", log_uniform(1, 100))
        worst, best = points(r100=1), points(r1=1)
        scale = math.log if metric == "gmr" else float
        ends = [Law("", "", law).true_values[metric] for law in (worst, best)]
        low, high, mean = map(scale, (*ends, self.law.true_values[metric]))
        share = (mean - low) / (high - low)
        self.other = Law("rank 1 or 100", "", share * best + (1 - share) * worst)
        self.true_values = {metric: 0.0}

    def values(self, rng: np.random.Generator, unit: Integers, number: int) -> Values:
        return share_within(
            lambda n: (self.law.draw(rng, n), self.other.draw(rng, n)), rng, unit, number
        )


class SuitedQueries(Population):
    """Two exchangeable models; log-ranks have an effect of the query on each model, deviation 1."""

    null = True
    name, candidates = "queries that suit one model", TOP
    true_values = dict.fromkeys(LAWS["log-uniform"].true_values, 0.0)

    def __init__(self, clusters: str) -> None:
        self.clusters = clusters

    def values(self, rng: np.random.Generator, unit: Integers, number: int) -> Values:
        shared = 2.3 + rng.standard_normal(len(unit))
        models = []
        for _ in range(2):
            logs = shared + rng.standard_normal(number)[unit] + rng.standard_normal(len(unit))
            models.append(np.clip(np.ceil(np.exp(logs)), 1, TOP).astype(np.int64))
        return tuple(models)


class Resampled(Population):
    """Real ranks of one model or of two, drawn with replacement: tasks, or whole queries.

    With `swapped`, the models of each drawn unit change places at random, so that they are
    exchangeable.
    """

    def __init__(
        self, name: str, models: list[tr.Ranks], queries: bool, swapped: bool = False
    ) -> None:
        self.name, self.null, self.clusters = name, swapped, "queries" if queries else "none"
        self.models = [ranks.realistic.astype(np.int64) for ranks in models]
        labels = np.arange(len(models[0])) if not queries else models[0].queries.values
        code = np.unique(labels, return_inverse=True)[1]
        self.order = np.argsort(code, kind="stable")
        self.sizes = np.bincount(code)
        self.starts = np.cumsum(self.sizes) - self.sizes
        self.counts = models[0].candidates
        values = [true_values_of(ranks) for ranks in models]
        self.true_values = values[0]
        if len(values) == 2:
            apart = {key: values[0][key] - values[1][key] for key in values[0]}
            self.true_values = dict.fromkeys(apart, 0.0) if swapped else apart

    def draw(
        self, rng: np.random.Generator, units: int, repeats: int
    ) -> Iterator[tuple[tr.Ranks, ...]]:
        chosen = rng.integers(0, len(self.sizes), repeats * units)
        sizes = self.sizes[chosen]
        unit = np.repeat(np.arange(repeats * units), sizes)
        within = np.arange(len(unit)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        tasks = self.order[self.starts[chosen][unit] + within]
        models = [ranks[tasks] for ranks in self.models]
        if self.null:
            swap = (rng.random(repeats * units) < 0.5)[unit]
            models = [np.where(swap, *pair) for pair in (models, models[::-1])]
        yield from split_repeats(tuple(models), self.counts[tasks], unit, units, repeats)


def true_values_of(ranks: tr.Ranks) -> dict[str, float]:
    """The metrics of all ranks, as floats."""
    report = tr.report(ranks)
    return {key: float(report[key]) for key in LAWS["log-uniform"].true_values}


# -- real ranks ------------------------------------------------------------------------------------


def read_real(data: Path, cache: Path) -> dict[str, tr.Ranks]:
    """Read the ranks of real models, filtered, both sides; make them where they are not cached.

    WN18RR needs two trainings of some minutes: `wn18rr.py` with 15 and with 4 epochs.
    """
    cache.mkdir(parents=True, exist_ok=True)
    found = {}
    for model in ("transe", "rotate"):
        name = f"Kinships, {model}"
        found[name] = cached_ranks(cache / f"kinships-{model}.npz", data / "kinships", model)
    for epochs in (15, 4):
        folder, file = cache / f"wn18rr-{epochs}", cache / f"wn18rr-{epochs}-epochs.npz"
        if not file.exists() and not (folder / "complex.npz").exists():
            import wn18rr

            wn18rr.main(data / "wn18rr", folder, epochs, 50, 0, True)
        found[f"WN18RR, {epochs} epochs"] = cached_ranks(file, folder, "complex")
    return found


def cached_ranks(file: Path, folder: Path, model: str) -> tr.Ranks:
    """Read ranks, or rank a model and write them."""
    if not file.exists():
        ranks = rank_model(folder, model)
        np.savez(
            file, ranks=ranks.realistic, candidates=ranks.candidates, queries=ranks.queries.values
        )
    with np.load(file) as arrays:
        ranks = np.ceil(arrays["ranks"]).astype(np.int64)
        return tr.Ranks(
            ranks - 1, np.ones_like(ranks), arrays["candidates"], queries=arrays["queries"]
        )


def rank_model(folder: Path, model: str) -> Any:
    """Rank both sides of the test triples, without other known answers."""
    with np.load(folder / "triples.npz") as triples, np.load(folder / f"{model}.npz") as arrays:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # duplicates and leaks of the data sets are known
            task = tr.link_prediction.Task(
                triples["test"],
                {split: triples[split] for split in ("train", "valid")},
                entities=len(arrays["entities"]),
            )
        queries = arrays["queries_tail"], arrays["queries_head"]
        similarity = str(arrays["similarity"])
        return task.evaluate_embeddings(*queries, arrays["entities"], similarity=similarity).ranks
