"""Embeddings of the entities of two graphs, from aligned pairs and triples alone.

    python bench/studies/alignment_vectors.py DBP15K_FOLDER [CACHE_FOLDER] [--output FOLDER]

A small model without training and without a deep-learning framework, in the manner of label
propagation: each aligned pair known from training gets a random unit vector, the same in both
graphs. The vectors are propagated along the triples, so that each entity is described by the known
pairs around it. No names or attributes are used. `make_embeddings` takes seconds; the other studies
use it. As a script, this file tries variants and writes alignment_vectors.md; with CACHE_FOLDER it
saves the embeddings of the first split there, left.npy and right.npy. Needs scipy.
"""

from __future__ import annotations

import argparse
import platform
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from pages import format_page, markdown_table

import truerank as tr

Array = NDArray[Any]
Data = Any  # tr.alignment.AlignmentData

HERE = Path(__file__).parent
SHARE = 0.3  # of the pairs, for training
HITS = (1, 10)


class Embeddings(NamedTuple):
    """A float32 vector for each entity of two graphs; zeros where no known pair reaches it."""

    left: Array
    right: Array


def split(data: Data, share: float = SHARE, seed: int = 0) -> dict[str, Array]:
    """Return pairs for training and for testing."""
    return tr.alignment.split_pairs(data.pairs, {"train": share, "test": 1 - share}, seed=seed)


def make_embeddings(
    data: Data,
    train: Array,
    *,
    seed: int = 0,
    dim: int | None = 300,
    width: int = 200,
    hops: int = 3,
    relations: bool = True,
    weighing: str = "both",
    power: float = 0.75,
    unit: bool = True,
) -> Embeddings:
    """Make the embeddings of both graphs.

    For each graph, let A be its adjacency matrix (1 where a triple connects two entities, in either
    direction), D its degrees, and S the random vectors of the known pairs (zeros for other
    entities). The views are:

    - those of the hops: ``A' S, A' A' S, ...``, where ``A' = D^-1/2 A D^-1/2``;
    - two of the relations: the vector of a relation is the sum of S over its tails, normalised and
      weighted by the logarithm of its rarity; an entity gets the sum over the relations of which it
      is a head; and the same with heads and tails exchanged.

    Every view of every entity is normalised, and all are concatenated. Principal components of both
    graphs together, not centred, reduce them to `dim` coordinates.

    Parameters
    ----------
    data : AlignmentData
    train : (k, 2) pairs
    seed : of the random vectors
    dim : coordinates of the result; None: all, (hops + 2) * width
    width : coordinates of the random vectors
    hops : how far they are propagated
    relations : whether to use the views of the relations
    weighing : "both": D^-1/2 on both sides of A; "mean": D^-1 A
    power : components are scaled by their variance to the power of (power - 1) / 2; 1 does nothing
    unit : whether to normalise the result
    """
    known = np.random.default_rng(seed).standard_normal((len(train), width), dtype=np.float32)
    known = normalise(known)
    sides = []
    for graph, ids in zip((data.left, data.right), np.asarray(train).T, strict=True):
        start = np.zeros((graph.size, width), np.float32)
        start[ids] = known
        views = propagate(graph, start, hops, weighing)
        if relations:
            views += relation_views(graph, start)
        sides.append(np.hstack([normalise(view) for view in views]))
    if dim is not None:
        sides = principal_components(sides, dim, power)
    return Embeddings(*(map(normalise, sides) if unit else sides))


def normalise(rows: Array) -> Array:
    """Return rows of unit length; rows of zeros do not change."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(lengths > 0, lengths, 1)).astype(np.float32, copy=False)


def propagate(graph: Any, start: Array, hops: int, weighing: str) -> list[Array]:
    """Return the vectors after one step, after two, ... along the triples."""
    head, _, tail = graph.triples.T
    ends = (np.concatenate([head, tail]), np.concatenate([tail, head]))
    summed = sp.coo_array((np.ones(len(ends[0]), np.float32), ends), (graph.size, graph.size))
    adjacency = summed.tocsr()  # repeated triples are summed
    adjacency.data[:] = 1
    degrees = np.maximum(np.diff(adjacency.indptr), 1).astype(np.float32)
    left, right = {"both": (-0.5, -0.5), "mean": (-1.0, 0.0)}[weighing]
    step = sp.diags_array(degrees**left) @ adjacency @ sp.diags_array(degrees**right)
    step = step.astype(np.float32).tocsr()
    views = []
    for _ in range(hops):
        start = step @ start
        views.append(start)
    return views


def relation_views(graph: Any, start: Array) -> list[Array]:
    """Return the views of the relations: what other triples of a relation have at its other end."""
    head, relation, tail = graph.triples.T
    count = int(relation.max()) + 1
    rarity = np.log1p(len(head) / np.maximum(np.bincount(relation, minlength=count), 1))
    members = []
    for ends in (head, tail):
        ones = np.ones(len(ends), np.float32)
        matrix = sp.coo_array((ones, (relation, ends)), (count, graph.size)).tocsr()
        matrix.data[:] = 1
        members.append(matrix)
    heads, tails = members
    return [
        own.T @ (normalise(other @ start) * rarity[:, None].astype(np.float32))
        for own, other in ((heads, tails), (tails, heads))
    ]


def principal_components(sides: list[Array], dim: int, power: float) -> list[Array]:
    """Return the principal components of both graphs together."""
    moments = sum((side.T @ side).astype(np.float64) for side in sides)
    variances, directions = np.linalg.eigh(moments)
    variances, directions = variances[::-1][:dim], directions[:, ::-1][:, :dim]
    scales = np.maximum(variances / variances[0], 1e-9) ** ((power - 1) / 2)
    return [side @ (directions * scales).astype(np.float32) for side in sides]


# -- variants --------------------------------------------------------------------------------------

VARIANTS: dict[str, dict[str, Any]] = {
    "1 hop": {"hops": 1, "relations": False, "dim": None},
    "2 hops": {"hops": 2, "relations": False, "dim": None},
    "3 hops": {"hops": 3, "relations": False, "dim": None},
    "4 hops": {"hops": 4, "relations": False, "dim": None},
    "3 hops, weighed by D^-1 A": {"relations": False, "weighing": "mean", "dim": None},
    "relations alone": {"hops": 0, "dim": None},
    "2 hops and relations": {"hops": 2, "dim": None},
    "3 hops and relations": {"dim": None},
    "the same, width 100": {"width": 100, "dim": None},
    "the same, width 400": {"width": 400, "dim": None},
    "3 hops and relations, 100 components": {"dim": 100},
    "**3 hops and relations, 300 components**": {},
    "the same, not scaled": {"power": 1.0},
    "the same, scaled to one variance": {"power": 0.0},
    "3 hops and relations, 600 components": {"dim": 600},
}


class Row(NamedTuple):
    """A variant: its size, its time and its metrics."""

    name: str
    dim: int
    seconds: float
    report: tr.Report


def try_all(data: Data, parts: dict[str, Array]) -> list[Row]:
    """Evaluate all variants on one split, among the test entities and by cosine."""
    rows = []
    for name, options in VARIANTS.items():
        start = time.perf_counter()
        embeddings = make_embeddings(data, parts["train"], **options)
        seconds = time.perf_counter() - start
        report = tr.alignment.evaluate(*embeddings, parts["test"], candidates="test")
        rows.append(Row(name, embeddings.left.shape[1], seconds, report))
        print(name, embeddings.left.shape, f"{seconds:.1f} s", report["hits@1"], report["amri"])
    return rows


def markdown(data: Data, parts: dict[str, Array], rows: list[Row], among_all: tr.Report) -> str:
    """Return the page: the metrics of the variants."""
    keys = ("mr", "mrr", *(f"hits@{k}" for k in HITS), "amri")
    titles = ("MR", "MRR", *(f"hits@{k}" for k in HITS), "AMRI")
    rows_of_cells = [
        [
            name,
            f"{dim:,}",
            f"{seconds:.1f}",
            f"{report['mr']:.1f}",
            *(f"{report[key]:.4f}" for key in keys[1:]),
        ]
        for name, dim, seconds, report in rows
    ]
    left, right = (int((~side.any(axis=1)).sum()) for side in make_embeddings(data, parts["train"]))
    text = TEXT.format(
        python=platform.python_version(),
        numpy=np.__version__,
        sizes=f"{data.left.size:,} and {data.right.size:,}",
        train=len(parts["train"]),
        test=len(parts["test"]),
        share=SHARE,
        chance=1 / len(parts["test"]),
        all_hits=among_all["hits@1"],
        all_ten=among_all["hits@10"],
        all_amri=among_all["amri"],
        left=left,
        right=right,
        table=markdown_table(["variant", "d", "time, s", *titles], rows_of_cells),
    )
    return format_page(text)


TEXT = """# Embeddings for entity alignment, without training

Made by `python bench/studies/alignment_vectors.py DBP15K_FOLDER`, with Python {python} and numpy
{numpy}. DBP15k zh-en: {sizes} entities; {train:,} pairs known ({share:.0%}), {test:,} tested.
Cosine, both directions, realistic ranks, among the entities of the test pairs (as most papers
report); times are those of one core beside other work.

{table}

- By chance hits@1 would be {chance:.5f}.
- The random vectors of the known pairs are nearly orthogonal: the wider they are, the less one is
  taken for another. The principal components cost some accuracy; the other studies use the bold
  row.
- The relations of the two graphs are not aligned here. Known pairs at their ends tell which
  relations mean the same.
- {left} entities of the one graph and {right} of the other are not reached from any known pair, and
  their vectors are zero.
- Among all entities of the other graph, exclusive ones included, the bold row has hits@1
  {all_hits:.4f}, hits@10 {all_ten:.4f}, AMRI {all_amri:.4f}.
"""


def main(folder: Path, cache: Path | None, output: Path) -> None:
    """Evaluate the variants and save the embeddings."""
    data = tr.alignment.read_dbp15k(folder)
    parts = split(data)
    embeddings = make_embeddings(data, parts["train"])
    if cache is not None:
        cache.mkdir(parents=True, exist_ok=True)
        np.save(cache / "left.npy", embeddings.left)
        np.save(cache / "right.npy", embeddings.right)
    among_all = tr.alignment.evaluate(
        *embeddings, parts["test"], known={"train": parts["train"]}, candidates="all"
    )
    text = markdown(data, parts, try_all(data, parts), among_all)
    (output / "alignment_vectors.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("cache", type=Path, nargs="?")
    parser.add_argument("--output", type=Path, default=HERE)
    given = parser.parse_args()
    main(given.folder, given.cache, given.output)
