"""Graphs, models and embeddings that the studies beside PyKEEN import."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[1]))  # for the harness
from harness.synthetic import draw_triples

Array = NDArray[Any]

SPLITS = ("train", "valid", "test")
FREEBASE_SIZES = {"train": 272_115, "valid": 17_526, "test": 20_438}
FREEBASE_ENTITIES, FREEBASE_RELATIONS = 14_541, 237


class Graph(NamedTuple):
    """Triples as ids."""

    name: str
    triples: dict[str, Array]
    entities: int
    relations: int

    @property
    def description(self) -> str:
        """Name the graph with its sizes."""
        triples = " / ".join(f"{len(self.triples[split]):,}" for split in SPLITS)
        sizes = f"{self.entities:,} entities, {self.relations} relations"
        return f"**{self.name}**: {triples} triples, {sizes}."


class Model(NamedTuple):
    """An interaction: its queries for truerank, and its name and options for PyKEEN."""

    name: str
    similarity: str
    tail: Callable[[Array, Array], Array]  # query of (head, relation)
    head: Callable[[Array, Array], Array]  # query of (relation, tail)
    interaction: str
    options: dict[str, Any]


Arrays = tuple[Graph, Model, Array, Array]  # with embeddings of entities and relations

MODELS = {
    "distmult": Model("DistMult", "dot", lambda h, r: h * r, lambda r, t: r * t, "distmult", {}),
    "transe": Model("TransE, L1", "l1", lambda h, r: h + r, lambda r, t: t - r, "transe", {"p": 1}),
}


def wordnet(folder: Path) -> Graph:
    """Read WN18RR; ids are in the order of the labels."""
    labels = {split: np.loadtxt(folder / f"{split}.txt", dtype=str, ndmin=2) for split in SPLITS}
    every = np.concatenate(list(labels.values()))
    entities, relations = np.unique(every[:, [0, 2]]), np.unique(every[:, 1])
    names = (entities, relations, entities)
    triples = {
        split: np.stack([np.searchsorted(n, c) for n, c in zip(names, rows.T, strict=True)], axis=1)
        for split, rows in labels.items()
    }
    return Graph("WN18RR", triples, len(entities), len(relations))


def freebase(_: Path) -> Graph:
    """Draw as many triples, entities and relations as FB15k-237 has, with skewed degrees."""
    rows = draw_triples(sum(FREEBASE_SIZES.values()), FREEBASE_ENTITIES, FREEBASE_RELATIONS)
    splits = np.split(rows, np.cumsum(list(FREEBASE_SIZES.values()))[:-1])
    triples = dict(zip(FREEBASE_SIZES, splits, strict=True))
    return Graph("size of FB15k-237", triples, FREEBASE_ENTITIES, FREEBASE_RELATIONS)


SETS: dict[str, Callable[[Path], Graph]] = {"wn18rr": wordnet, "fb15k-237": freebase}


def make_embeddings(graph: Graph, model: Model, dim: int) -> tuple[Array, Array]:
    """Return random vectors of entities and relations, moved towards the training triples.

    After three rounds the ranks are neither those of chance nor all 1.
    """
    rng = np.random.default_rng(dim)
    entities, relations = (
        rng.standard_normal((n, dim), dtype=np.float32) for n in (graph.entities, graph.relations)
    )
    head, relation, tail = graph.triples["train"].T
    for _ in range(3):
        pull = np.zeros_like(entities)
        towards_tail = model.tail(entities[head], relations[relation])
        towards_head = model.head(relations[relation], entities[tail])
        for ids, goals in ((tail, towards_tail), (head, towards_head)):
            order = np.argsort(ids, kind="stable")
            starts = np.flatnonzero(np.diff(ids[order], prepend=-1))
            pull[ids[order][starts]] += np.add.reduceat(goals[order], starts, axis=0)
        entities += pull / (1 + np.linalg.norm(pull, axis=1, keepdims=True) / np.sqrt(dim))
        entities *= np.sqrt(dim) / np.linalg.norm(entities, axis=1, keepdims=True)
    return entities, relations
