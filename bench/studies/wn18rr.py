"""Train ComplEx on WN18RR and write its scores of the test split, whole and in shards.

    python bench/studies/wn18rr.py DATA_FOLDER OUTPUT_FOLDER [--epochs N] [--rank N] [--seed N]
                                   [--vectors-only]

DATA_FOLDER holds train.txt, valid.txt and test.txt: head, relation, tail, with tabs between. The
tasks are both sides of each test triple, all tail queries first, against all entities of the three
splits. OUTPUT_FOLDER gets 6 GB: the matrix of 6,268 x 40,943 scores in each of the formats of
`FORMATS`, and targets, filter and labels of the tasks. It also gets the triples as ids
(triples.npz) and the embeddings whose products are the scores (complex.npz), which `sampled.py`
evaluates; with --vectors-only, nothing else.

The model is plain numpy with one thread (a sum of float32 depends on its order): the same numpy on
the same processor gives the same scores, bit for bit. It takes two minutes.
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
    """Read the three splits; entities are those of all splits."""
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


def make_queries(triples: Array, relations: int) -> Array:
    """Return rows of (known, relation, target): tails, then heads with inverse relations."""
    head, relation, tail = triples.T
    tails = np.stack([head, relation, tail], axis=1)
    heads = np.stack([tail, relation + relations, head], axis=1)
    return np.concatenate([tails, heads])


class Vectors:
    """Vectors and Adagrad's sums of their squared gradients, to which `small` is added."""

    def __init__(self, vectors: Array, rate: float, small: float) -> None:
        self.vectors, self.rate, self.small = vectors, np.float32(rate), np.float32(small)
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


class ComplEx:
    """ComplEx (Trouillon et al., 2016): the score is Re <known * relation, target>."""

    def __init__(self, entities: int, relations: int, rank: int, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.entities = self._start(entities, rank)
        self.relations = self._start(2 * relations, rank)

    def _start(self, size: int, rank: int) -> Vectors:
        numbers = self.rng.standard_normal((size, 2 * rank), dtype=np.float32)
        return Vectors((numbers * np.float32(1e-3)).view(np.complex64), RATE, 1e-10)

    def epoch(self, queries: Array) -> float:
        """Train on all queries, with a softmax over the batch's targets and sampled entities.

        Return the mean loss.
        """
        order, loss = self.rng.permutation(len(queries)), 0.0
        for start in range(0, len(order), BATCH):
            loss += self.batch(*queries[order[start : start + BATCH]].T)
        return loss / len(order)

    def batch(self, known: Array, relation: Array, targets: Array) -> float:
        """Train on one batch; return the sum of the losses."""
        negatives = self.rng.integers(0, len(self.entities.vectors), NEGATIVES)
        candidates, columns = np.unique(np.concatenate([targets, negatives]), return_inverse=True)
        true = np.arange(len(known)), columns[: len(known)]
        left, middle = self.entities.vectors[known], self.relations.vectors[relation]
        right, query = self.entities.vectors[candidates], left * middle
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
            np.concatenate([candidates, targets, known]),
            np.concatenate([by_right, by_true, by_left]),
        )
        self.relations.step(relation, by_relation)
        return loss

    def queries(self, known: Array, relation: Array) -> Array:
        """Return a float32 vector for each query; its products with entities are the scores."""
        query: Array = self.entities.vectors[known] * self.relations.vectors[relation]
        return query.view(np.float32)

    def scores(self, known: Array, relation: Array) -> Array:
        """Return float32 scores of all entities for each query."""
        scores: Array = self.queries(known, relation) @ self.entities.vectors.view(np.float32).T
        return scores


def cubic(vectors: Array) -> Array:
    """Return the gradient of the nuclear 3-norm (Lacroix et al., 2018), up to a factor."""
    weighted: Array = np.float32(WEIGHT_DECAY) * np.abs(vectors) * vectors
    return weighted


def filter_of(queries: Array, known: Array) -> dict[str, Array]:
    """Return the lists of known answers of the distinct queries, and the list of each task."""
    width = known[:, 1].max() + 1
    keys = known[:, 0] * width + known[:, 1]
    order = np.lexsort((known[:, 2], keys))
    keys, answers = keys[order], known[order, 2]
    distinct, lists = np.unique(queries[:, 0] * width + queries[:, 1], return_inverse=True)
    first = np.searchsorted(keys, distinct, "left")
    last = np.searchsorted(keys, distinct, "right")
    indices = np.concatenate([answers[a:b] for a, b in zip(first, last, strict=True)])
    return {"indptr": np.cumsum([0, *(last - first)]), "indices": indices, "lists": lists}


def write_tasks(folder: Path, graph: Graph) -> None:
    """Write filter, targets and labels of the tasks."""
    relations = len(graph.relations)
    queries = make_queries(graph.triples["test"], relations)
    known = make_queries(np.concatenate(list(graph.triples.values())), relations)
    lists = filter_of(queries, known)
    np.savez(folder / "filter.npz", **lists)
    np.save(folder / "targets.npy", queries[:, 2])
    np.save(folder / "side.npy", np.repeat(["tail", "head"], len(queries) // 2))
    np.save(folder / "relation.npy", graph.relations[queries[:, 1] % relations])
    np.save(folder / "queries.npy", lists["lists"])


def write_vectors(folder: Path, graph: Graph, model: ComplEx, queries: Array) -> None:
    """Write triples and embeddings; row i of the queries belongs to test triple i."""
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


# -- file formats ----------------------------------------------------------------------------------


def write_shards(pattern: str, cuts: Array, axis: int) -> Callable[[Path, Array], None]:
    """Return a function that writes shards with these boundaries."""

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

    array = zarr.create_array(
        str(folder / "scores.zarr"),
        shape=scores.shape,
        dtype=scores.dtype,
        chunks=(500, 9000),
        overwrite=True,
    )
    array[:] = scores


def write_hdf5(folder: Path, scores: Array) -> None:
    import h5py

    with h5py.File(folder / "scores.h5", "w") as file:
        file.create_dataset("scores", data=scores, chunks=(500, 9000), compression="lzf")


FORMATS: dict[str, Callable[[Path, Array], None]] = {
    "rows-*.npy": write_shards("rows-*.npy", ROW_SHARDS, 0),
    "columns-*.npy": write_shards("columns-*.npy", COLUMN_SHARDS, 1),
    "scores.bin": write_raw,
    "scores.npz": write_npz,
    "scores.zarr": write_zarr,
    "scores.h5": write_hdf5,
}


def write_formats(folder: Path, scores: Array) -> None:
    """Write the matrix in each format whose library is installed."""
    for name, write in FORMATS.items():
        try:
            write(folder, scores)
        except ModuleNotFoundError as error:
            print(f"no {name}: {error}", file=sys.stderr)


def main(data: Path, folder: Path, epochs: int, rank: int, seed: int, vectors_only: bool) -> None:
    """Train the model, score, and write all files."""
    folder.mkdir(parents=True, exist_ok=True)
    graph = read_graph(data)
    queries = make_queries(graph.triples["test"], len(graph.relations))
    train = make_queries(graph.triples["train"], len(graph.relations))
    model = ComplEx(len(graph.entities), len(graph.relations), rank, seed)
    start = time.perf_counter()
    for epoch in range(epochs):
        loss = model.epoch(train)
        print(f"epoch {epoch + 1}: loss {loss:.3f}, {time.perf_counter() - start:.0f} s")
    facts = {"epochs": epochs, "rank": rank, "seed": seed, "loss": loss}
    facts["seconds"] = time.perf_counter() - start
    (folder / "model.json").write_text(json.dumps(facts), encoding="utf-8")
    write_vectors(folder, graph, model, queries)
    if vectors_only:
        return
    write_tasks(folder, graph)
    shape = len(queries), len(graph.entities)
    scores = np.lib.format.open_memmap(folder / "scores.npy", "w+", np.float32, shape)
    for start_row in range(0, len(queries), 512):
        rows = slice(start_row, start_row + 512)
        scores[rows] = model.scores(*queries[rows, :2].T)
    scores.flush()
    write_formats(folder, scores)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--rank", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--vectors-only", action="store_true")
    main(**vars(parser.parse_args()))
