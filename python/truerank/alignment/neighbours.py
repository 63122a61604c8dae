"""The first neighbours of entities: how similar they are, and how often each is the first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from ..embeddings.scoring import topk_embeddings
from ..embeddings.vectors import CSLS, VECTOR_SIMILARITIES
from ..errors import InputTypeError, InputValueError, argument_names
from ..inputs.checks import choice, is_integer, positive_integer
from ..inputs.rules import SimilarityOptions, with_options
from ..naming import public
from ..records.vocabularies import Vocabulary
from ..tables import AsTable, Column, Table
from ..tables.as_table import Names
from .matching import csls_means
from .task import SIDES

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
    labels : dict of str to labels
        What `hubs` calls entities: labels of the right ones from left to right, or positions.
    """

    means: dict[str, FloatArray]
    deviations: dict[str, FloatArray]
    times: dict[str, IntArray]
    shares: dict[str, dict[str, float]]
    tied: dict[str, int]
    labels: dict[str, Any]

    def hubs(self, side: str) -> dict[Any, int]:
        """Return how often each entity is the first neighbour of several, the most frequent first.

        Equal ones go by position.

        Parameters
        ----------
        side : {"left_to_right", "right_to_left"}
            The direction: from left to right, these are right entities.

        Returns
        -------
        dict
            By label where there are labels, else by position.
        """
        choice("side", side, tuple(SIDES))
        times = self.times[side]
        order = np.argsort(-times, kind="stable")
        return {self.labels[side][i]: int(times[i]) for i in order.tolist() if times[i] > 1}

    def table(self, metrics: Names = None, **options: Any) -> Table:
        """Return a row for each direction; below it are the first hubs."""
        k = len(self.means["left_to_right"])
        similarities = []
        for i in range(k):
            behind = [(self.deviations[side][i],) for side in SIDES]
            similarities.append(Column(f"similarity {i + 1}", decimals=3, behind=behind))
        shares = [Column(times, f"first of {times}", 1, "%") for times in TIMES]
        rows = []
        notes = []
        for side in SIDES:
            rows.append((side, *self.means[side], *self.shares[side].values(), self.tied[side]))
            hubs = list(self.hubs(side).items())[:MOST_HUBS]
            words = ", ".join(f"{label} of {times:,}" for label, times in hubs) or "none of several"
            notes.append(f"{side}: the first neighbour of most: {words}")
        table = Table(["side", *similarities, *shares, "tied"], rows, notes=notes)
        return table.table(metrics, **options)


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
        As in `topk_embeddings`, of each direction by itself.

    Returns
    -------
    Neighbours

    Raises
    ------
    TypeError, ValueError, OSError
        As `topk_embeddings` does, for a k below 1, and for another number of labels.

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
    >>> first.times["left_to_right"], first.hubs("left_to_right")
    (array([1, 2, 0]), {1: 2})
    >>> first.means["left_to_right"].round(3)
    array([0.914])
    """
    choice("nan", options.get("nan", "raise"), ("raise",))
    choice("similarity", similarity, VECTOR_SIMILARITIES)
    positive_integer("k", k)
    if not isinstance(labels, (Mapping, type(None))):
        got = type(labels).__name__
        raise InputTypeError("labels", expected="labels by left and right", got=got)
    if is_integer(csls):
        with argument_names(k="csls"):
            csls = csls_means(left, right, int(csls), similarity=similarity, **options)
    means: Any = csls  # Others than CSLS and None are refused.
    search = partial(topk_embeddings, k=max(k, 2), similarity=similarity, **options)
    with argument_names(queries="left", entities="right"):
        tops = [search(left, right, csls=means)]
    with argument_names(queries="right", entities="left"):
        tops.append(search(right, left, csls=means and means.swapped()))
    result = Neighbours({}, {}, {}, {}, {}, {})
    k = min(k, *(len(top.ids) for top in tops))
    for (side, (_, graph)), top, other in zip(SIDES.items(), tops, tops[::-1], strict=True):
        size = len(other.ids)  # There are so many of the entities that are listed.
        scores = top.scores[:, :k].astype(np.float64)
        result.means[side] = scores.mean(axis=0)
        result.deviations[side] = scores.std(axis=0)
        result.times[side] = np.bincount(top.ids[:, 0], minlength=size)
        counts = np.bincount(np.minimum(result.times[side], 2), minlength=3)
        result.shares[side] = dict(zip(TIMES, (counts / size).tolist(), strict=True))
        # The second score says whether the first one is tied.
        result.tied[side] = int((top.scores[:, 0] == top.scores[:, 1]).sum())
        result.labels[side] = range(size)
        if labels is not None:
            vocabulary = Vocabulary.read(f"labels: {graph}", labels.get(graph))
            if vocabulary.size != size:
                expected = f"{size:,}, one for each entity"
                raise InputValueError(f"labels: {graph}", expected=expected, got=vocabulary.size)
            result.labels[side] = vocabulary.names
    return result
