"""The first neighbours of entities: how similar they are, and how often each is the first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from ..embeddings.scoring import search_topk
from ..embeddings.vectors import CSLS, VECTOR_SIMILARITIES, watching
from ..errors import InputTypeError, InputValueError
from ..inputs.checks import choice, is_integer, positive_integer
from ..inputs.rules import SimilarityOptions, read_rules, with_options
from ..naming import public
from ..records.vocabularies import Vocabulary
from ..tables import AsTable, Column, Table
from ..tables.as_table import Names
from .matching import read_vectors, with_means
from .task import GRAPHS, SIDES

if TYPE_CHECKING:
    from ..arrays import FloatArray, IntArray
    from ..inputs.rules import VectorSimilarity

TIMES = ("none", "one", "more")
MOST_HUBS = 3  # that the table names


@public("truerank.alignment")
@dataclass(frozen=True, eq=False)
class Neighbours(AsTable):
    """What `neighbours` returns. All attributes are by direction, as ``means["left_to_right"]``.

    Attributes
    ----------
    means, deviations : dict of str to ndarray of float64, shape (k,)
        Mean and standard deviation, over all entities, of the similarity of the first neighbour, of
        the second, and so on.
    times : dict of str to ndarray of int64
        How often each entity of the other graph is the first neighbour.
    shares : dict of str to dict
        The shares of these entities that are the first neighbour of "none", "one" and "more".
    tied : dict of str to int
        How many entities have several most similar ones; the lowest position is their first.
    hubs : dict of str to dict
        How often each of the last, "more", is the first neighbour, by label or position; the most
        frequent come first, and equal ones go by position.
    """

    means: dict[str, FloatArray]
    deviations: dict[str, FloatArray]
    times: dict[str, IntArray]
    shares: dict[str, dict[str, float]]
    tied: dict[str, int]
    hubs: dict[str, dict[Any, int]]

    def table(self, metrics: Names = None, **options: Any) -> Table:
        """Return a row for each direction; below it are the first hubs."""
        columns: list[str | Column] = ["side"]
        for i in range(len(self.means["left_to_right"])):
            behind = [(of_side[i],) for of_side in self.deviations.values()]
            columns.append(Column(f"similarity {i + 1}", decimals=3, behind=behind))
        columns += [Column(times, f"first of {times}", 1, "%") for times in TIMES]
        rows = []
        notes = []
        for side, hubs in self.hubs.items():
            rows.append((side, *self.means[side], *self.shares[side].values(), self.tied[side]))
            some = [f"{label} of {times:,}" for label, times in list(hubs.items())[:MOST_HUBS]]
            words = ", ".join(some) or "none of several"
            notes.append(f"{side}: the first neighbour of most: {words}")
        return Table([*columns, "tied"], rows, notes=notes).table(metrics, **options)


@public("truerank.alignment")
@with_options(SimilarityOptions)
def neighbours(
    left: Any,
    right: Any,
    *,
    k: int = 5,
    similarity: VectorSimilarity = "cosine",
    csls: int | CSLS | None = None,
    labels: Any = None,
    **options: Unpack[SimilarityOptions],
) -> Neighbours:
    """Say how similar the first k neighbours are, and how often each entity is the first one.

    The two measures of Sun et al. (2020) that say why a model errs. Where the first neighbours are
    hardly more similar than the next ones (their Figure 8), few errors decide a rank. Hubs are the
    first neighbour of many entities, and others of none (Figure 9): both are errors, as a
    counterpart is the first of one.

    Parameters
    ----------
    left, right : array_like, shape (n, d), or path
        The embeddings, as `infer` takes them.
    k : int
        The number of neighbours; all if a graph has fewer entities.
    similarity, csls : optional
        As in `infer`.
    labels : dict of str to labels, optional
        The names of hubs by "left" and "right", as `Graphs.names` has them.
    nan : {"raise"}
        A score that is NaN is an error.
    dtype, layout, threads
        As in `rank_embeddings`.
    progress : callable or bool, optional
        As in `topk_embeddings`, of each direction, and of means, by itself.

    Returns
    -------
    Neighbours

    Raises
    ------
    TypeError, ValueError, OSError
        As `infer` does, for a k below 1, no entities, and another number of
        labels.

    Warns
    -----
    UserWarning
        If every entity is most similar to itself, as `infer` does.

    Notes
    -----
    Each direction takes one pass over the scores, of which the k highest of an entity are stored.
    Deviations are sqrt(mean((s - mean)^2)).

    References
    ----------
    - Sun, Zhang, Hu, Wang, Chen, Akrami, Li: A Benchmarking Study of Embedding-based Entity
      Alignment for Knowledge Graphs. VLDB 2020.

    Examples
    --------
    >>> import numpy as np
    >>> left = np.array([[1, 0], [0.8, 0.6], [0, 1]], np.float32)
    >>> right = np.array([[1, 0.2], [0.6, 0.8], [-1, 0]], np.float32)
    >>> first = neighbours(left, right, k=1)
    >>> first.times["left_to_right"], first.hubs["left_to_right"]
    (array([1, 2, 0]), {1: 2})
    >>> first.means["left_to_right"].round(3)
    array([0.914])
    """
    rules = read_rules(options, SimilarityOptions, neighbours)
    choice("nan", rules.nan, ("raise",))
    choice("similarity", similarity, VECTOR_SIMILARITIES)
    positive_integer("k", k)
    vectors = read_vectors(left, right, similarity, csls, rules)
    sizes = dict(zip(GRAPHS, vectors.shape, strict=True))
    orders = sizes if labels is None else labels
    if not isinstance(orders, Mapping):
        got = type(labels).__name__
        raise InputTypeError("labels", expected="labels by left and right", got=got)
    names: dict[str, Any] = {}
    for graph, size in sizes.items():
        if not size:
            raise InputValueError(graph, expected="at least one entity", got="none")
        vocabulary = Vocabulary.read(f"labels: {graph}", orders.get(graph))
        if vocabulary.size != size:
            expected = f"{size:,}, one for each entity"
            raise InputValueError(vocabulary.of, expected=expected, got=vocabulary.size)
        names[graph] = vocabulary.names or range(size)
    if is_integer(csls):
        with watching(rules.progress, vectors.nbytes) as watch:
            vectors = with_means(vectors, int(csls), None, rules, watch)
    result = Neighbours({}, {}, {}, {}, {}, {})
    for (side, (_, graph)), one in zip(SIDES.items(), (vectors, vectors.turned()), strict=True):
        with watching(rules.progress, one.nbytes) as watch:
            top = search_topk(one, one.job(..., None, None, None, rules), max(k, 2), watch)
        scores = top.scores[:, : min(k, *one.shape)].astype(np.float64)
        result.means[side] = scores.mean(axis=0)
        result.deviations[side] = scores.std(axis=0)
        times = result.times[side] = np.bincount(top.ids[:, 0], minlength=one.shape[1])
        counts = np.bincount(np.minimum(times, 2), minlength=3)
        result.shares[side] = dict(zip(TIMES, (counts / len(times)).tolist(), strict=True))
        # The second score says whether the first one is tied.
        result.tied[side] = int((top.scores[:, 0] == top.scores[:, 1]).sum())
        order = np.argsort(-times, kind="stable")[: counts[2]].tolist()
        result.hubs[side] = {names[graph][i]: int(times[i]) for i in order}
    return result
