"""Train TransE, DistMult, RotatE, ComplEx and a hyperbolic TransE on WN18RR; keep their embeddings.

    python bench/studies/wn18rr_vectors.py DATA_FOLDER VECTORS_FOLDER [--models ...] [--dims 64 256]

DATA_FOLDER holds train.txt, valid.txt and test.txt. VECTORS_FOLDER gets a file for each model, such
as transe-64.npz: `entities` and `relations` (float32; the numbers of a complex model are real and
imaginary parts in turn, so that d = 64 are 32 complex numbers; those of the hyperbolic model lie in
the tangent space of the ball's centre, and `in_ball` maps them), and `mrr`, filtered, of the test.
`bounds.py` measures with them; `queries` gives the vectors of their queries.

The models are plain numpy with one thread, without inverse relations: the same numpy on the same
processor gives the same embeddings, bit for bit. Each takes a few minutes. They are simple and not
tuned; what matters is that real training arranged their vectors.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

os.environ["OMP_NUM_THREADS"] = "1"  # before numpy reads it: a sum of float32 depends on its order
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
from graphs import SPLITS, Graph, wordnet
from numpy.typing import NDArray
from pages import arguments

import truerank as tr

Array = NDArray[Any]
# of a batch's queries and candidates: scores, and a function that takes the gradients of the loss
# by the scores to those by the queries and the candidates
Scoring = tuple[Array, Callable[[Array], tuple[Array, Array]]]

DIMS = (64, 256)
ROWS = 16  # queries whose differences from all candidates fit into the second cache
TINY = 1e-12
FARTHEST = 3.0  # from the centre of the ball


SUMS = ("transe", "hyperbolic")  # whose queries are sums and differences


class Recipe(NamedTuple):
    """A model and how it is trained."""

    similarity: str
    dtype: Any
    start: float  # standard deviation of the first vectors, for d = 64
    rate: float  # of learning, for d = 64
    decay: float  # weight of the nuclear 3-norm
    batch: int
    negatives: int
    epochs: dict[int, int]  # by dimension


RECIPES = {
    "transe": Recipe("l1", np.float32, 0.1, 0.05, 0.0, 128, 128, {64: 20, 256: 5}),
    "rotate": Recipe("complex_l1", np.complex64, 0.1, 0.05, 0.0, 128, 128, {64: 30, 256: 8}),
    "distmult": Recipe("dot", np.float32, 1e-3, 0.1, 0.05, 1024, 2048, {64: 15, 256: 10}),
    "hyperbolic": Recipe("poincare", np.float32, 1e-2, 0.02, 0.0, 512, 512, {64: 25, 256: 15}),
    "complex": Recipe("dot", np.complex64, 1e-3, 0.1, 0.05, 1024, 2048, {64: 15, 256: 10}),
}


# -- scores of all pairs, and their gradients ------------------------------------------------------


def products(queries: Array, candidates: Array) -> Scoring:
    """Dot products; of complex numbers, the real part with the conjugate."""
    left = queries.view(np.float32)
    right = candidates.view(np.float32)

    def gradients(share: Array) -> tuple[Array, Array]:
        pair = share @ right, share.T @ left
        return pair[0].view(queries.dtype), pair[1].view(queries.dtype)

    return left @ right.T, gradients


def distances(queries: Array, candidates: Array) -> Scoring:
    """Negated sums of the moduli of the differences."""
    parts = [(queries, candidates)]
    if np.iscomplexobj(queries):
        parts = [(queries.real.copy(), candidates.real.copy())]
        parts += [(queries.imag.copy(), candidates.imag.copy())]
    scores = np.empty((len(queries), len(candidates)), np.float32)

    def moduli(rows: slice) -> tuple[list[Array], Array]:
        differences = [q[rows, None] - c for q, c in parts]
        if len(differences) == 1:
            return differences, np.abs(differences[0])
        return differences, np.sqrt(differences[0] ** 2 + differences[1] ** 2)

    blocks = [slice(start, start + ROWS) for start in range(0, len(queries), ROWS)]
    for rows in blocks:
        scores[rows] = -moduli(rows)[1].sum(axis=2)

    def gradients(share: Array) -> tuple[Array, Array]:
        by_queries = np.zeros_like(queries)
        by_candidates = np.zeros_like(candidates)
        for rows in blocks:
            differences, lengths = moduli(rows)
            weights = share[rows, :, None] / np.maximum(lengths, TINY)
            pulls = [weights * difference for difference in differences]
            for place, pull in zip(("real", "imag"), pulls, strict=False):
                getattr(by_queries, place)[rows] = -pull.sum(axis=1)
                view = getattr(by_candidates, place)
                view += pull.sum(axis=0)
        return by_queries, by_candidates

    return scores, gradients


def in_ball(tangents: Array) -> Array:
    """Map vectors from the tangent space of the centre into the ball, by the exponential map.

    Longer ones than `FARTHEST` are taken as that long: float32 knows no point so near the edge.
    """
    lengths = np.maximum(np.linalg.norm(tangents, axis=1, keepdims=True), TINY)
    return (np.tanh(np.minimum(lengths, FARTHEST)) / lengths * tangents).astype(np.float32)


def hyperbolic_distances(queries: Array, candidates: Array) -> Scoring:
    """Negated distances in the ball of points that are given in the tangent space."""
    points = [in_ball(queries).astype(np.float64), in_ball(candidates).astype(np.float64)]
    squares = [(x * x).sum(axis=1) for x in points]
    rest = [1 - x for x in squares]
    apart = np.maximum(squares[0][:, None] + squares[1] - 2 * points[0] @ points[1].T, 0)
    scale = 2 / (rest[0][:, None] * rest[1])
    cosh = 1 + scale * apart

    def gradients(share: Array) -> tuple[Array, Array]:
        by_distance = -share / np.sqrt(np.maximum(cosh * cosh - 1, TINY))
        weights = 2 * by_distance * scale
        made = []
        for tangents, x, y, left, weight in (
            (queries, points[0], points[1], rest[0], weights),
            (candidates, points[1], points[0], rest[1], weights.T),
        ):
            between = apart if weight is weights else apart.T
            pull = (weight.sum(axis=1) + (weight * between).sum(axis=1) / left)[:, None]
            by_point = pull * x - weight @ y
            length = np.maximum(np.linalg.norm(tangents, axis=1, keepdims=True), TINY)
            unit = tangents / length
            across = np.tanh(length) / length
            along = 1 / np.cosh(length) ** 2
            radial = (unit * by_point).sum(axis=1, keepdims=True) * unit
            made.append((across * by_point + (along - across) * radial).astype(np.float32))
        return made[0], made[1]

    return (-np.arccosh(cosh)).astype(np.float32), gradients


SCORINGS = {
    "dot": products,
    "l1": distances,
    "complex_l1": distances,
    "poincare": hyperbolic_distances,
}


class Vectors:
    """Vectors and Adagrad's sums of their squared gradients, to which `small` is added."""

    def __init__(self, vectors: Array, rate: float, small: float) -> None:
        self.vectors = vectors
        self.rate = np.float32(rate)
        self.small = np.float32(small)
        self.squares = np.zeros(vectors.shape, np.float32)

    def step(self, ids: Array, gradients: Array) -> None:
        """Take one step; the gradients of a repeated id are added."""
        order = np.argsort(ids, kind="stable")
        ids = ids[order]
        starts = np.flatnonzero(np.diff(ids, prepend=-1))
        sums = np.add.reduceat(gradients[order], starts, axis=0)
        ids = ids[starts]
        self.squares[ids] += sums.real**2 + sums.imag**2
        self.vectors[ids] -= self.rate * sums / np.sqrt(self.squares[ids] + self.small)


class Model:
    """Embeddings of entities and relations; queries are sums (of `SUMS`) or products."""

    def __init__(self, name: str, graph: Graph, dim: int, seed: int) -> None:
        self.name = name
        self.recipe = RECIPES[name]
        # Distances grow with d: components shrink with it, so that the softmax is about as sharp.
        share = 1.0 if self.recipe.similarity == "dot" else 64 / dim
        self.start = share * self.recipe.start
        rate = share * self.recipe.rate
        self.rng = np.random.default_rng(seed)
        entities, relations = (self._draw(n, dim) for n in (graph.entities, graph.relations))
        if name == "rotate":
            relations /= np.maximum(np.abs(relations), TINY)
        self.entities, self.relations = (Vectors(v, rate, TINY) for v in (entities, relations))

    def _draw(self, size: int, dim: int) -> Array:
        numbers = self.rng.standard_normal((size, dim), dtype=np.float32)
        return (numbers * np.float32(self.start)).view(self.recipe.dtype)

    def epoch(self, triples: Array) -> float:
        """Train on both sides of all triples; return the mean loss."""
        sides = np.repeat([False, True], len(triples))
        order = self.rng.permutation(2 * len(triples))
        size = self.recipe.batch
        loss = 0.0
        for start in range(0, len(order), size):
            ids = order[start : start + size]
            loss += self.batch(triples[ids % len(triples)], sides[ids])
        return loss / len(order)

    def batch(self, triples: Array, heads: Array) -> float:
        """Train with a softmax over the batch's targets and sampled entities; return the loss."""
        recipe = self.recipe
        head, relation, tail = triples.T
        known = np.where(heads, tail, head)
        targets = np.where(heads, head, tail)
        negatives = self.rng.integers(0, len(self.entities.vectors), recipe.negatives)
        candidates, columns = np.unique(np.concatenate([targets, negatives]), return_inverse=True)
        true = np.arange(len(known)), columns[: len(known)]
        left = self.entities.vectors[known]
        middle = self.relations.vectors[relation]
        right = self.entities.vectors[candidates]
        score = SCORINGS[recipe.similarity]
        share, gradients = score(transform(self.name, left, middle, heads), right)
        share -= share.max(axis=1, keepdims=True)
        np.exp(share, out=share)
        share /= share.sum(axis=1, keepdims=True)
        loss = -float(np.log(share[true] + TINY).sum())
        share[true] -= 1  # now the gradient by the scores
        by_query, by_right = gradients(share)
        side = heads[:, None]
        if self.name in SUMS:
            by_left = by_query
            by_relation = np.where(side, -by_query, by_query)
        else:
            by_left = by_query * np.where(side, middle, middle.conj())
            by_relation = np.where(side, by_query.conj() * left, by_query * left.conj())
        if recipe.decay:
            weight = np.float32(recipe.decay)
            by_left = by_left + weight * np.abs(left) * left
            by_relation = by_relation + weight * np.abs(middle) * middle
            true_vectors = right[true[1]]
            by_true = weight * np.abs(true_vectors) * true_vectors
            candidates = np.concatenate([candidates, targets])
            by_right = np.concatenate([by_right, by_true])
        self.entities.step(np.concatenate([candidates, known]), np.concatenate([by_right, by_left]))
        self.relations.step(relation, by_relation)
        if self.name == "rotate":
            vectors = self.relations.vectors
            vectors /= np.maximum(np.abs(vectors), TINY)
        return loss


def transform(name: str, known: Array, relation: Array, heads: Array) -> Array:
    """Return the queries: h + r and t - r, or h r and t conj(r)."""
    side = np.asarray(heads).reshape(-1, 1)
    if name in SUMS:
        return np.where(side, known - relation, known + relation)
    return known * np.where(side, relation.conj(), relation)


def queries(name: str, entities: Array, relations: Array, ids: Array, *, heads: bool) -> Array:
    """Return float32 vectors of the queries whose (known entity, relation) are given."""
    dtype = RECIPES[name].dtype
    vectors = entities.view(dtype)[ids[:, 0]], relations.view(dtype)[ids[:, 1]]
    made = transform(name, *vectors, np.full(len(ids), heads))
    return np.ascontiguousarray(made).view(np.float32)


def task_of(
    name: str, graph: Graph, entities: Array, relations: Array
) -> tuple[Any, dict[str, Array]]:
    """Return the task of the test triples, and its distinct queries, of tails and of heads."""
    known = {split: graph.triples[split] for split in SPLITS[:2]}
    task = tr.link_prediction.Task(graph.triples["test"], known=known, entities=graph.entities)
    tails = queries(name, entities, relations, task.tail.queries, heads=False)
    heads = queries(name, entities, relations, task.head.queries[:, ::-1], heads=True)
    return task, {"tail": points_of(name, tails), "head": points_of(name, heads)}


def points_of(name: str, vectors: Array) -> Array:
    """Return what is scored: the vectors, or their points in the ball."""
    if name == "hyperbolic":
        return in_ball(vectors)
    return vectors


def evaluate(name: str, graph: Graph, entities: Array, relations: Array) -> tr.Report:
    """Return the filtered report of the test triples."""
    task, vectors = task_of(name, graph, entities, relations)
    similarity = RECIPES[name].similarity
    rows = {name: side.queries for name, side in task.sides.items()}
    options = {"similarity": similarity, "row_queries": rows}
    if similarity == "complex_l1":
        options["layout"] = "interleaved"
    return task.evaluate_embeddings(**vectors, entities=points_of(name, entities), **options)


def train(name: str, graph: Graph, dim: int, path: Path, seed: int = 0) -> None:
    """Train a model, and write its embeddings and the metric of the test into a file."""
    model = Model(name, graph, dim, seed)
    start = time.process_time()
    for epoch in range(model.recipe.epochs.get(dim, 10)):
        loss = model.epoch(graph.triples["train"])
        print(f"{path.stem}, epoch {epoch + 1}: loss {loss:.3f}, "
              f"{time.process_time() - start:.0f} s", flush=True)  # fmt: skip
    vectors = [v.vectors.view(np.float32) for v in (model.entities, model.relations)]
    report = evaluate(name, graph, *vectors)
    print(f"{path.stem}: mrr {report['mrr']:.4f}, hits@10 {report['hits@10']:.4f}")
    entities, relations = vectors
    np.savez(path, entities=entities, relations=relations, mrr=report["mrr"])


def main(data: Path, folder: Path, models: list[str], dims: list[int], seed: int) -> None:
    """Train the models and write their files."""
    folder.mkdir(parents=True, exist_ok=True)
    graph = wordnet(data)
    for name in models:
        for dim in dims:
            train(name, graph, dim, folder / f"{name}-{dim}.npz", seed)


if __name__ == "__main__":
    options = {"models": list(RECIPES), "dims": list(DIMS), "seed": 0}
    main(**arguments(__doc__, "data", "folder", **options))
