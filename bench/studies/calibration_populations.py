"""The populations of the calibration study: finite sets of ranked tasks, made by a law or real.

Each task has a test triple, which its two sides share, and a query, which several triples may
share; those of graphs have a relation, too. A sample draws whole triples, queries or relations,
with replacement; the true value of a metric is that of all tasks. So one code draws from made and
from real ranks, and no truth is approximate.

The formulas were chosen with the made populations, Kinships, and ComplEx and DistMult on WN18RR.
Those of `new_populations` came later: nothing was chosen by them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from alignment_vectors import make_embeddings
from graphs import Graph, rank_model, read_graph, wordnet
from numpy.typing import NDArray
from wn18rr_vectors import evaluate, train

import truerank as tr

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Quantile = Callable[[Floats], Floats]

Makers = dict[str, Callable[[], "Population"]]  # by the names of populations

TRIPLES = 50_000  # of a made population
SIDES = 0.6  # the correlation of the two sides of a triple
MODELS = 0.5  # the correlation of two models in one task
CANDIDATES = 10_000
RARE_CANDIDATES = 5000  # of the populations with rare kinds
DIM = 64  # of trained embeddings


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
    relations : ndarray of int64, shape (n,), optional
    """

    def __init__(
        self,
        name: str,
        models: Sequence[Integers],
        candidates: Integers,
        triples: Integers,
        queries: Integers,
        relations: Integers | None = None,
    ) -> None:
        self.name = name
        self.models = models
        self.candidates = candidates
        self.queries = queries
        self._groups = {"triples": _Groups(triples), "queries": _Groups(queries)}
        if relations is not None:
            self._groups["relations"] = _Groups(relations)
        self._reports = [tr.report(self._ranks(m, slice(None), queries, triples)) for m in models]

    def value(self, metric: str, model: int = 0) -> float:
        """The true value of a metric."""
        return self._reports[model][metric]

    def size(self, drawn: str) -> int:
        """The number of triples, queries or relations; 0 where there are none."""
        if drawn not in self._groups:
            return 0
        return len(self._groups[drawn].sizes)

    def draw(self, drawn: str, units: int, rng: np.random.Generator) -> list[tr.Ranks]:
        """Draw so many triples, queries or relations, the same for all models."""
        tasks, unit = self._groups[drawn].draw(units, rng)
        if drawn == "queries":  # one may be drawn twice
            queries = unit
        else:
            queries = self.queries[tasks]
        return [self._ranks(model, tasks, queries, unit) for model in self.models]

    def _ranks(
        self, model: Integers, tasks: Integers | slice, queries: Integers, unit: Integers
    ) -> tr.Ranks:
        above = model[tasks] - 1
        ranks = tr.Ranks(above, np.ones_like(above), self.candidates[tasks], queries=queries)
        return ranks.with_labels(unit=unit)


class _Groups:
    """The tasks of each triple, query or relation."""

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

    common = sides()
    models = []
    for quantile, moved in ((LAWS[law], 0.0), (LAWS[other], shift)):
        scores = math.sqrt(MODELS) * common + math.sqrt(1 - MODELS) * sides()
        ranks = np.ceil(quantile(ndtr(scores)) * math.exp(moved))
        models.append(np.clip(ranks, 1, CANDIDATES).astype(np.int64))
    candidates = np.full(2 * TRIPLES, CANDIDATES)
    return Population(name, models, candidates, np.tile(np.arange(TRIPLES), 2), queries)


def made_populations() -> Makers:
    """Return one population for each law, and two for pairs of unlike models."""
    makers: Makers = {law: partial(made, law, law, law) for law in LAWS}
    makers["shifted"] = partial(made, "shifted", "log-uniform", "log-uniform", 0.2)
    return makers


def rare_populations() -> Makers:
    """Return populations of tasks, each a unit, of which a few may be of a kind that samples lack.

    Of a weak model 1.5 % of the ranks are in the first ten, of a nearly perfect one 1.5 % beyond
    them; "mixed" has both a fifth of first places and a fiftieth of ranks far behind; "chance" has
    all ranks equally often, and "usual" log-normal ones.
    """
    rng = np.random.default_rng(0)
    u = rng.random(TRIPLES)
    near = rng.integers(1, 11, TRIPLES)
    far = rng.integers(11, RARE_CANDIDATES + 1, TRIPLES)
    usual = np.ceil(np.exp(rng.normal(3.0, 1.5, TRIPLES))).astype(np.int64)
    usual = np.minimum(usual, RARE_CANDIDATES)
    models = {
        "weak": np.where(u < 0.015, near, far),
        "nearly perfect": np.where(u < 0.985, rng.integers(1, 3, TRIPLES), far),
        "mixed": np.where(u < 0.2, 1, np.where(u < 0.98, usual, far)),
        "chance": rng.integers(1, RARE_CANDIDATES + 1, TRIPLES),
        "usual": usual,
    }
    own = np.arange(TRIPLES)
    candidates = np.full(TRIPLES, RARE_CANDIDATES)
    makers: Makers = {}
    for name, ranks in models.items():
        makers[name] = partial(Population, name, [ranks], candidates, own, own)
    return makers


def real_populations(data: Path, vectors: Path) -> Makers:
    """Rank real models: those of Kinships, as published, and two trained on WN18RR."""

    def kinships(name: str, one: str, two: str) -> Population:
        ranks = [rank_model(data / "kinships", model) for model in (one, two)]
        with np.load(data / "kinships" / "triples.npz") as arrays:
            relations = np.tile(arrays["test"][:, 1], 2)
        return _of_models(name, *ranks, relations)

    names = "Kinships, TransE and RotatE", "Kinships, ComplEx and TuckER"
    trained = "WN18RR, ComplEx and DistMult"
    return {
        names[0]: partial(kinships, names[0], "transe", "rotate"),
        names[1]: partial(kinships, names[1], "complex", "tucker"),
        trained: lambda: _of_trained(
            trained, wordnet(data / "wn18rr"), vectors, "complex", "distmult"
        ),
    }


def new_populations(data: Path, vectors: Path) -> Makers:
    """Rank models by which nothing was chosen, from the data folder and from packages of PyPI.

    UMLS lies in the package of PyKEEN, the digits in that of scikit-learn. The embeddings are
    trained with numpy, or made without training; those that were trained stay in `vectors`.
    """
    words = "WN18RR, TransE and RotatE"
    medicine = "UMLS, TransE and DistMult"
    return {
        words: lambda: _of_trained(words, wordnet(data / "wn18rr"), vectors),
        medicine: lambda: _of_trained(medicine, umls(), vectors, "transe", "distmult"),
        "DBP15k, many and few known pairs": lambda: alignment(data / "dbp15k_zh_en"),
        "digits, pixels and components": digits,
    }


def _of_models(name: str, one: tr.Ranks, two: tr.Ranks, relations: Integers | None) -> Population:
    """Make a population of the ranks of two models over the same tasks; half ranks are rounded."""
    models = [np.ceil(ranks.realistic).astype(np.int64) for ranks in (one, two)]
    labels = one.unit.codes, one.queries.codes
    return Population(name, models, one.candidates, *labels, relations)


def _of_trained(
    name: str, graph: Graph, vectors: Path, one: str = "transe", two: str = "rotate"
) -> Population:
    """Rank two models of a graph, which are trained if `vectors` has no file of them."""
    ranks = []
    for model in (one, two):
        prefix = "" if graph.name == "WN18RR" else f"{graph.name.lower()}-"
        path = vectors / f"{prefix}{model}-{DIM}.npz"
        if not path.exists():
            train(model, graph, DIM, path)
        with np.load(path) as arrays:
            ranks.append(evaluate(model, graph, arrays["entities"], arrays["relations"]).ranks)
    relations = np.tile(graph.triples["test"][:, 1], 2)
    return _of_models(name, *ranks, relations)


def umls() -> Graph:
    """Read the triples of UMLS, which lie in the package of PyKEEN; PyKEEN is not imported."""
    spec = find_spec("pykeen")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("UMLS lies in PyKEEN's package: pip install --no-deps pykeen")
    folder = Path(spec.submodule_search_locations[0]) / "datasets" / "umls"
    return read_graph("UMLS", folder)


def alignment(folder: Path) -> Population:
    """Align DBP15k by propagated vectors: from all pairs of training, and from 500 of them."""
    data = tr.alignment.read_dbp15k(folder)
    parts = tr.alignment.split_pairs(data.pairs, {"train": 0.3, "test": 0.7}, seed=0)
    ranks = []
    for known in (parts["train"], parts["train"][:500]):
        left, right = make_embeddings(data, known)
        ranks.append(tr.alignment.evaluate(left, right, parts["test"], similarity="cosine").ranks)
    return _of_models("DBP15k, many and few known pairs", *ranks, None)


def digits(pairs: int = 9000) -> Population:
    """Find images of the same digit among those of others, by all pixels and by 5 components.

    A unit is a pair of images of one digit, each of which is sought for the other: the rank of the
    other among the images of other digits, by distance. The query is the image for which it is.
    """
    from sklearn.datasets import load_digits

    images, classes = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    one = rng.integers(0, len(images), 20 * pairs)
    two = rng.integers(0, len(images), 20 * pairs)
    alike = (classes[one] == classes[two]) & (one != two)
    one = one[alike][:pairs]
    two = two[alike][:pairs]
    images -= images.mean(axis=0)
    components = images @ np.linalg.svd(images, full_matrices=False)[2][:5].T
    queries = np.concatenate([one, two])
    targets = np.concatenate([two, one])
    models = [ranks_among_others(x, classes, queries, targets) for x in (images, components)]
    candidates = len(images) + 1 - np.bincount(classes)[classes[queries]]
    triples = np.tile(np.arange(pairs), 2)
    return Population("digits, pixels and components", models, candidates, triples, queries)


def ranks_among_others(
    vectors: Floats, classes: Integers, queries: Integers, targets: Integers
) -> Integers:
    """Rank each target by its distance from the query, among the vectors of other classes."""
    lengths = np.square(vectors).sum(axis=1)
    distances = lengths[:, None] - 2 * vectors @ vectors.T + lengths
    is_other = classes[:, None] != classes
    ranks = np.empty(len(queries), np.int64)
    for i, (query, target) in enumerate(zip(queries, targets, strict=True)):
        is_nearer = distances[query] < distances[query, target]
        ranks[i] = 1 + np.count_nonzero(is_nearer & is_other[query])
    return ranks
