"""The graphs of the studies of link prediction."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import truerank as tr

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


def wordnet(folder: Path) -> Graph:
    """Read WN18RR."""
    return read_graph("WN18RR", folder)


def read_graph(name: str, folder: Path) -> Graph:
    """Read train.txt, valid.txt and test.txt; ids are in the order of the labels."""
    labels = {split: np.loadtxt(folder / f"{split}.txt", dtype=str, ndmin=2) for split in SPLITS}
    every = np.concatenate(list(labels.values()))
    entities = np.unique(every[:, [0, 2]])
    relations = np.unique(every[:, 1])
    names = (entities, relations, entities)
    triples = {
        split: np.stack([np.searchsorted(n, c) for n, c in zip(names, rows.T, strict=True)], axis=1)
        for split, rows in labels.items()
    }
    return Graph(name, triples, len(entities), len(relations))


def freebase(_: Path) -> Graph:
    """Draw as many triples, entities and relations as FB15k-237 has, with skewed degrees."""
    rows = draw_triples(sum(FREEBASE_SIZES.values()), FREEBASE_ENTITIES, FREEBASE_RELATIONS)
    splits = np.split(rows, np.cumsum(list(FREEBASE_SIZES.values()))[:-1])
    triples = dict(zip(FREEBASE_SIZES, splits, strict=True))
    return Graph("size of FB15k-237", triples, FREEBASE_ENTITIES, FREEBASE_RELATIONS)


SETS: dict[str, Callable[[Path], Graph]] = {"wn18rr": wordnet, "fb15k-237": freebase}
KINSHIPS = ("complex", "rotate", "transe", "tucker")  # the published models


def rank_model(folder: Path, model: str) -> tr.Ranks:
    """Rank head and tail of every test triple, without all other known answers.

    Parameters
    ----------
    folder
        Has triples.npz and the arrays of each model.
    model
        One of KINSHIPS.
    """
    with np.load(folder / "triples.npz") as triples, np.load(folder / f"{model}.npz") as arrays:
        known = {split: triples[split] for split in ("train", "valid")}
        entities = arrays["entities"]
        similarity = str(arrays["similarity"])
        task = tr.link_prediction.Task(triples["test"], known, entities=len(entities))
        queries = {side: arrays[f"queries_{side}"] for side in ("tail", "head")}
        layout = "interleaved" if similarity == "complex_l1" else None
        options = {"similarity": similarity, "layout": layout}
        return task.evaluate_embeddings(**queries, entities=entities, **options).ranks
