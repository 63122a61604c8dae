"""The populations of the calibration study: finite sets of ranked tasks, made by a law or real.

Each task has a test triple, which its two sides share, and a query, which several triples may
share. A sample draws whole triples or whole queries, with replacement; the true value of a metric
is that of all tasks. So one code draws from made and from real ranks, and no truth is approximate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import truerank as tr

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Quantile = Callable[[Floats], Floats]

TRIPLES = 50_000  # of a made population
SIDES = 0.6  # the correlation of the two sides of a triple
MODELS = 0.5  # the correlation of two models in one task
CANDIDATES = 10_000


def log_uniform(u: Floats) -> Floats:
    """The logarithm of the rank is uniform."""
    return np.exp(u * math.log(CANDIDATES))


def heavy_tail(u: Floats) -> Floats:
    """The rank is log-normal: a few tasks hold most of the mean rank."""
    from scipy.special import ndtri

    return np.exp(1.5 + 2.5 * ndtri(u))


def near_one(u: Floats) -> Floats:
    """95 % of the tasks have rank 1, the others a log-uniform one."""
    return np.where(u < 0.95, 1.0, log_uniform((u - 0.95) / 0.05))


def near_zero(u: Floats) -> Floats:
    """2 % of the tasks are hits at 10, the others are log-uniform beyond."""
    return np.where(u < 0.02, 10 * u / 0.02, 10 * np.exp((u - 0.02) / 0.98 * math.log(1000)))


LAWS: dict[str, Quantile] = {
    "log-uniform": log_uniform,
    "heavy tail": heavy_tail,
    "near 1": near_one,
    "near 0": near_zero,
}


class Population:
    """Tasks with their triples and queries, ranked by one model or by several.

    Parameters
    ----------
    name : str
    models : sequence of ndarray of int64, shape (n,)
        The ranks of each model.
    candidates, triples, queries : ndarray of int64, shape (n,)
    """

    def __init__(
        self,
        name: str,
        models: Sequence[Integers],
        candidates: Integers,
        triples: Integers,
        queries: Integers,
    ) -> None:
        self.name, self.models, self.candidates, self.queries = name, models, candidates, queries
        self._groups = {"triples": _Groups(triples), "queries": _Groups(queries)}
        self._reports = [tr.report(self._ranks(m, slice(None), queries, triples)) for m in models]

    def value(self, metric: str, model: int = 0) -> float:
        """The true value of a metric."""
        return self._reports[model][metric]

    def draw(self, drawn: str, units: int, rng: np.random.Generator) -> list[tr.Ranks]:
        """Draw so many triples or queries, the same for all models."""
        tasks, unit = self._groups[drawn].draw(units, rng)
        queries = unit if drawn == "queries" else self.queries[tasks]  # one may be drawn twice
        return [self._ranks(model, tasks, queries, unit) for model in self.models]

    def _ranks(
        self, model: Integers, tasks: Integers | slice, queries: Integers, unit: Integers
    ) -> tr.Ranks:
        above = model[tasks] - 1
        ranks = tr.Ranks(above, np.ones_like(above), self.candidates[tasks], queries=queries)
        return ranks.with_labels(unit=unit)


class _Groups:
    """The tasks of each triple, or of each query."""

    def __init__(self, labels: Integers) -> None:
        codes = np.unique(labels, return_inverse=True)[1]
        self.order = np.argsort(codes, kind="stable")
        self.sizes = np.bincount(codes)
        self.starts = np.cumsum(self.sizes) - self.sizes

    def draw(self, number: int, rng: np.random.Generator) -> tuple[Integers, Integers]:
        chosen = rng.integers(0, len(self.sizes), number)
        sizes = self.sizes[chosen]
        unit = np.repeat(np.arange(number), sizes)
        within = np.arange(len(unit)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return self.order[self.starts[chosen][unit] + within], unit


def made(name: str, law: str, other: str, shift: float = 0.0, seed: int = 0) -> Population:
    """Make two models whose ranks have the laws, where `shift` moves the logarithm of the second.

    The tail tasks share queries of very unlike sizes (Pareto, 1 to 500 triples), whose tasks are
    alike; each head task has a query of its own.
    """
    from scipy.special import ndtr

    rng = np.random.default_rng(seed)
    sizes = np.minimum(rng.random(TRIPLES) ** (-1 / 1.1), 500).astype(np.int64)
    query = np.repeat(np.arange(TRIPLES), sizes)[:TRIPLES]
    queries = np.concatenate([query, TRIPLES + np.arange(TRIPLES)])
    of_query = rng.standard_normal(TRIPLES)[query]

    def sides() -> Floats:
        """Standard normal numbers of the tail and the head tasks, those of a triple correlated."""
        own = math.sqrt(1 - SIDES) * rng.standard_normal((2, TRIPLES))
        shared = math.sqrt(SIDES / 2) * (rng.standard_normal(TRIPLES) + of_query)
        return (own + shared).ravel()

    common, models = sides(), []
    for quantile, moved in ((LAWS[law], 0.0), (LAWS[other], shift)):
        scores = math.sqrt(MODELS) * common + math.sqrt(1 - MODELS) * sides()
        ranks = np.ceil(quantile(ndtr(scores)) * math.exp(moved))
        models.append(np.clip(ranks, 1, CANDIDATES).astype(np.int64))
    candidates = np.full(2 * TRIPLES, CANDIDATES)
    return Population(name, models, candidates, np.tile(np.arange(TRIPLES), 2), queries)


def made_populations() -> list[Population]:
    """Return one population for each law, and two for pairs of unlike models."""
    alike = [made(law, law, law) for law in LAWS]
    return [*alike, made("shifted", "log-uniform", "log-uniform", 0.2)]


def real_populations(data: Path, vectors: Path) -> list[Population]:
    """Rank real models: those of Kinships, as published, and two that `wn18rr_vectors.py` wrote."""
    from graphs import rank_model, wordnet
    from wn18rr_vectors import evaluate

    graph = wordnet(data / "wn18rr")

    def trained(model: str) -> tr.Ranks:
        with np.load(vectors / f"{model}-64.npz") as arrays:
            return evaluate(model, graph, arrays["entities"], arrays["relations"]).ranks

    kinships = partial(rank_model, data / "kinships")
    chosen = {
        "Kinships, TransE and RotatE": (kinships, "transe", "rotate"),
        "Kinships, ComplEx and TuckER": (kinships, "complex", "tucker"),
        "WN18RR, ComplEx and DistMult": (trained, "complex", "distmult"),
    }
    populations = []
    for name, (rank, *models) in chosen.items():
        one, two = map(rank, models)
        ranks = [np.ceil(model.realistic).astype(np.int64) for model in (one, two)]
        labels = one.unit.values, one.queries.values
        populations.append(Population(name, ranks, one.candidates, *labels))
    return populations
