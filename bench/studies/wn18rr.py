"""Train ComplEx on WN18RR and write its scores of the test split, whole and in shards.

    python bench/studies/wn18rr.py DATA_FOLDER OUTPUT_FOLDER [--epochs N] [--rank N] [--seed N]
                                   [--vectors-only]

DATA_FOLDER holds train.txt, valid.txt and test.txt: head, relation, tail, with tabs between. The
tasks are both sides of each test triple, all tail queries first, against all entities of the three
splits. OUTPUT_FOLDER gets 6 GB: the matrix of 6,268 x 40,943 scores in each of the forms of
`FORMS`, and targets, filter and labels of the tasks; `wn18rr_everywhere.py` evaluates it. It gets
the triples as ids, too (triples.npz), and the vectors whose products the scores are (complex.npz):
with --vectors-only, nothing else. `sampled.py` evaluates those.

The model is plain numpy, on one thread (a sum of float32 depends on how it is divided): with the
same numpy on the same processor the same scores come out, bit for bit. It takes two minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

os.environ["OMP_NUM_THREADS"] = "1"  # before numpy reads it
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

SPLITS = ("train", "valid", "test")
NEGATIVES, BATCH, RATE, WEIGHT_DECAY = 2048, 1024, 0.1, 0.05
ROW_SHARDS = np.cumsum([700, 1, 950, 33, 1200, 512, 64, 808, 5, 400, 1000])  # and the rest
COLUMN_SHARDS = np.cumsum([9000, 1, 15000, 12345])


class Graph(NamedTuple):
    """Triples as integers; entities and relations are numbered in the order of their labels."""

    entities: Array
    relations: Array
    triples: dict[str, Array]  # by split: (n, 3) of head, relation, tail


def read_graph(folder: Path) -> Graph:
    """Read the three splits; every entity of any of them counts."""
    labels = {split: np.loadtxt(folder / f"{split}.txt", dtype=str, ndmin=2) for split in SPLITS}
    every = np.concatenate(list(labels.values()))
    entities = np.unique(every[:, [0, 2]])
    relations = np.unique(every[:, 1])
    triples = {
        split: np.stack(
            [
                np.searchsorted(entities, rows[:, 0]),
                np.searchsorted(relations, rows[:, 1]),
                np.searchsorted(entities, rows[:, 2]),
            ],
            axis=1,
        )
        for split, rows in labels.items()
    }
    return Graph(entities, relations, triples)


def both_ways(triples: Array, relations: int) -> Array:
    """Queries as (given, relation, asked): tails, then heads, whose relations are the inverse."""
    head, relation, tail = triples.T
    tails = np.stack([head, relation, tail], axis=1)
    heads = np.stack([tail, relation + relations, head], axis=1)
    return np.concatenate([tails, heads])


class Embedding:
    """Complex vectors and what Adagrad remembers of their gradients."""

    def __init__(self, size: int, rank: int, rng: np.random.Generator) -> None:
        numbers = rng.standard_normal((size, 2 * rank), dtype=np.float32)
        self.vectors = (numbers * np.float32(1e-3)).view(np.complex64)
        self.squares = np.zeros((size, rank), np.float32)

    def step(self, ids: Array, gradients: Array) -> None:
        """One step down; the gradients of an id that comes more than once are added."""
        order = np.argsort(ids, kind="stable")
        ids = ids[order]
        starts = np.flatnonzero(np.diff(ids, prepend=-1))
        sums = np.add.reduceat(gradients[order], starts, axis=0)
        ids = ids[starts]
        self.squares[ids] += sums.real**2 + sums.imag**2
        self.vectors[ids] -= np.float32(RATE) * sums / np.sqrt(self.squares[ids] + 1e-10)


class ComplEx:
    """Trouillon et al. (2016): the score is Re <given * relation, asked>."""

    def __init__(self, entities: int, relations: int, rank: int, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.entities = Embedding(entities, rank, self.rng)
        self.relations = Embedding(2 * relations, rank, self.rng)

    def epoch(self, queries: Array) -> float:
        """One pass, softmax over the batch's answers and some sampled entities; the mean loss."""
        order, loss = self.rng.permutation(len(queries)), 0.0
        for start in range(0, len(order), BATCH):
            loss += self.batch(*queries[order[start : start + BATCH]].T)
        return loss / len(order)

    def batch(self, given: Array, relation: Array, asked: Array) -> float:
        """One step; the summed loss."""
        drawn = self.rng.integers(0, len(self.entities.vectors), NEGATIVES)
        among, places = np.unique(np.concatenate([asked, drawn]), return_inverse=True)
        true = np.arange(len(given)), places[: len(given)]
        left, middle = self.entities.vectors[given], self.relations.vectors[relation]
        right, query = self.entities.vectors[among], left * middle
        share = query.view(np.float32) @ right.view(np.float32).T
        share -= share.max(axis=1, keepdims=True)
        np.exp(share, out=share)
        share /= share.sum(axis=1, keepdims=True)
        loss = -float(np.log(share[true] + 1e-30).sum())
        share[true] -= 1  # now the gradient by the scores
        by_query = (share @ right.view(np.float32)).view(np.complex64)
        by_right = (share.T @ query.view(np.float32)).view(np.complex64)
        by_left = by_query * middle.conj() + cubic(left)
        by_relation = by_query * left.conj() + cubic(middle)
        by_true = cubic(right[true[1]])
        self.entities.step(
            np.concatenate([among, asked, given]), np.concatenate([by_right, by_true, by_left])
        )
        self.relations.step(relation, by_relation)
        return loss

    def queries(self, given: Array, relation: Array) -> Array:
        """The vector of each query, float32: its products with those of the entities are scores."""
        query: Array = self.entities.vectors[given] * self.relations.vectors[relation]
        return query.view(np.float32)

    def scores(self, given: Array, relation: Array) -> Array:
        """Scores of all entities, float32, for each query."""
        scores: Array = self.queries(given, relation) @ self.entities.vectors.view(np.float32).T
        return scores


def cubic(vectors: Array) -> Array:
    """The gradient of the nuclear 3-norm (Lacroix et al., 2018), but for a factor."""
    weighted: Array = np.float32(WEIGHT_DECAY) * np.abs(vectors) * vectors
    return weighted


def filter_of(queries: Array, known: Array) -> dict[str, Array]:
    """All known answers, one list for each distinct query, and the list of each task."""
    width = known[:, 1].max() + 1
    keys = known[:, 0] * width + known[:, 1]
    order = np.lexsort((known[:, 2], keys))
    keys, answers = keys[order], known[order, 2]
    wanted, lists = np.unique(queries[:, 0] * width + queries[:, 1], return_inverse=True)
    first = np.searchsorted(keys, wanted, "left")
    last = np.searchsorted(keys, wanted, "right")
    indices = np.concatenate([answers[a:b] for a, b in zip(first, last, strict=True)])
    return {"indptr": np.cumsum([0, *(last - first)]), "indices": indices, "lists": lists}


def write_tasks(folder: Path, graph: Graph) -> None:
    """Write what is known of the tasks."""
    relations = len(graph.relations)
    queries = both_ways(graph.triples["test"], relations)
    known = both_ways(np.concatenate(list(graph.triples.values())), relations)
    lists = filter_of(queries, known)
    np.savez(folder / "filter.npz", **lists)
    np.save(folder / "targets.npy", queries[:, 2])
    np.save(folder / "side.npy", np.repeat(["tail", "head"], len(queries) // 2))
    np.save(folder / "relation.npy", graph.relations[queries[:, 1] % relations])
    np.save(folder / "queries.npy", lists["lists"])


def write_vectors(folder: Path, graph: Graph, model: ComplEx, queries: Array) -> None:
    """Write triples and vectors; row i of the queries belongs to test triple i."""
    np.savez(folder / "triples.npz", entities=graph.entities, relations=graph.relations,
             **graph.triples)  # fmt: skip
    tails, heads = np.split(model.queries(*queries[:, :2].T), 2)
    np.savez(
        folder / "complex.npz",
        similarity="dot",
        entities=model.entities.vectors.view(np.float32),
        queries_tail=tails,
        queries_head=heads,
    )


# -- the forms -------------------------------------------------------------------------------------


def write_shards(pattern: str, cuts: Array, axis: int) -> Callable[[Path, Array], None]:
    """A writer of shards that are cut there."""

    def write(folder: Path, scores: Array) -> None:
        for number, shard in enumerate(np.split(scores, cuts, axis=axis)):
            np.save(folder / pattern.replace("*", str(number)), shard)

    return write


def write_raw(folder: Path, scores: Array) -> None:
    scores.tofile(folder / "scores.bin")


def write_npz(folder: Path, scores: Array) -> None:
    np.savez(folder / "scores.npz", scores=scores)


def write_zarr(folder: Path, scores: Array) -> None:
    import zarr

    made = zarr.create_array(
        str(folder / "scores.zarr"),
        shape=scores.shape,
        dtype=scores.dtype,
        chunks=(500, 9000),
        overwrite=True,
    )
    made[:] = scores


def write_hdf5(folder: Path, scores: Array) -> None:
    import h5py

    with h5py.File(folder / "scores.h5", "w") as file:
        file.create_dataset("scores", data=scores, chunks=(500, 9000), compression="lzf")


FORMS: dict[str, Callable[[Path, Array], None]] = {
    "rows-*.npy": write_shards("rows-*.npy", ROW_SHARDS, 0),
    "columns-*.npy": write_shards("columns-*.npy", COLUMN_SHARDS, 1),
    "scores.bin": write_raw,
    "scores.npz": write_npz,
    "scores.zarr": write_zarr,
    "scores.h5": write_hdf5,
}


def write_forms(folder: Path, scores: Array) -> None:
    """Write the matrix in each form whose library is there."""
    for form, write in FORMS.items():
        try:
            write(folder, scores)
        except ModuleNotFoundError as error:
            print(f"no {form}: {error}", file=sys.stderr)


def main(data: Path, folder: Path, epochs: int, rank: int, seed: int, vectors_only: bool) -> None:
    """Train, score, write."""
    folder.mkdir(parents=True, exist_ok=True)
    graph = read_graph(data)
    queries = both_ways(graph.triples["test"], len(graph.relations))
    train = both_ways(graph.triples["train"], len(graph.relations))
    model = ComplEx(len(graph.entities), len(graph.relations), rank, seed)
    start = time.perf_counter()
    for epoch in range(epochs):
        loss = model.epoch(train)
        print(f"epoch {epoch + 1}: loss {loss:.3f}, {time.perf_counter() - start:.0f} s")
    told = {"epochs": epochs, "rank": rank, "seed": seed, "loss": loss}
    told["seconds"] = time.perf_counter() - start
    (folder / "model.json").write_text(json.dumps(told), encoding="utf-8")
    write_vectors(folder, graph, model, queries)
    if vectors_only:
        return
    write_tasks(folder, graph)
    shape = len(queries), len(graph.entities)
    scores = np.lib.format.open_memmap(folder / "scores.npy", "w+", np.float32, shape)
    for start_row in range(0, len(queries), 512):
        part = slice(start_row, start_row + 512)
        scores[part] = model.scores(*queries[part, :2].T)
    scores.flush()
    write_forms(folder, scores)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--rank", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--vectors-only", action="store_true")
    main(**vars(parser.parse_args()))
