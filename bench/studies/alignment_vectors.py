"""Embeddings of the entities of two graphs, from aligned pairs and triples alone, without training.

In the manner of label propagation: each aligned pair known from training gets a random unit vector,
the same in both graphs, and the vectors are propagated along the triples, so that each entity is
described by the known pairs around it. `bounds.py` measures with them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Array = NDArray[Any]
Data = Any  # tr.alignment.AlignmentData

DIM = 300  # of the result
WIDTH = 200  # of the random vectors
HOPS = 3  # how far they are propagated
POWER = 0.75  # components are scaled by their variance to the power of (POWER - 1) / 2


def make_embeddings(data: Data, train: Array, *, seed: int = 0) -> list[Array]:
    """Make float32 vectors of the entities of both graphs; zeros where no known pair reaches.

    For each graph, let A be its adjacency matrix (1 where a triple connects two entities, in either
    direction), D its degrees, and S the random vectors of the known pairs (zeros for other
    entities). The views are ``A' S, A' A' S, ...``, where ``A' = D^-1/2 A D^-1/2``, and two of the
    relations: the vector of a relation is the sum of S over its tails, normalised and weighted by
    the logarithm of its rarity; an entity gets the sum over the relations of which it is a head;
    and the same with heads and tails exchanged. Every view of every entity is normalised. Principal
    components of both graphs together, not centred, reduce them to `DIM` coordinates.
    """
    known = np.random.default_rng(seed).standard_normal((len(train), WIDTH), dtype=np.float32)
    known = normalise(known)
    sides = []
    all_triples = (data.left_triples, data.right_triples)
    sizes = (len(data.left), len(data.right))
    for triples, size, ids in zip(all_triples, sizes, np.asarray(train).T, strict=True):
        start = np.zeros((size, WIDTH), np.float32)
        start[ids] = known
        views = list(propagate(triples, start))
        views += relation_views(triples, start)
        sides.append(np.hstack([normalise(view) for view in views]))
    moments = sum((side.T @ side).astype(np.float64) for side in sides)
    variances, directions = np.linalg.eigh(moments)
    variances = variances[::-1][:DIM]
    directions = directions[:, ::-1][:, :DIM]
    scales = np.maximum(variances / variances[0], 1e-9) ** ((POWER - 1) / 2)
    return [normalise(side @ (directions * scales).astype("f4")) for side in sides]


def normalise(rows: Array) -> Array:
    """Return rows of unit length; rows of zeros do not change."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(lengths > 0, lengths, 1)).astype(np.float32, copy=False)


def incidence(rows: Array, columns: Array, shape: tuple[int, int]) -> Any:
    """Return the sparse matrix that is 1 in these places, however often they occur."""
    matrix = sp.coo_array((np.ones(len(rows), np.float32), (rows, columns)), shape).tocsr()
    matrix.data[:] = 1
    return matrix


def propagate(triples: Array, start: Array) -> list[Array]:
    """Return the vectors after one step, after two, ... along the triples."""
    head, _, tail = triples.T
    ends = np.concatenate([head, tail]), np.concatenate([tail, head])
    adjacency = incidence(*ends, (len(start), len(start)))
    scale = sp.diags_array(np.maximum(np.diff(adjacency.indptr), 1).astype(np.float32) ** -0.5)
    step = (scale @ adjacency @ scale).astype(np.float32).tocsr()
    views = []
    for _ in range(HOPS):
        start = step @ start
        views.append(start)
    return views


def relation_views(triples: Array, start: Array) -> list[Array]:
    """Return the views of the relations: what other triples of a relation have at its other end."""
    head, relation, tail = triples.T
    count = int(relation.max()) + 1
    rarity = np.log1p(len(head) / np.maximum(np.bincount(relation, minlength=count), 1))
    heads, tails = (incidence(relation, ends, (count, len(start))) for ends in (head, tail))
    return [
        own.T @ (normalise(other @ start) * rarity[:, None].astype(np.float32))
        for own, other in ((heads, tails), (tails, heads))
    ]
