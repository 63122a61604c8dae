"""Local scaling (CSLS): scores minus their means over the most similar entities of both sides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from .. import _core
from ..counting.job import fault_error
from ..embeddings.vectors import CSLS, VECTOR_SIMILARITIES, Embeddings, listener_of, watching
from ..errors import InputTypeError, InputValueError, argument_names
from ..inputs.checks import choice, positive_integer
from ..inputs.rules import Rules, SimilarityOptions, read_rules, with_options
from ..naming import public
from ..records.vocabularies import Vocabulary, align_set

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays.types import IntArray
    from ..inputs.progress_listeners import Watch
    from ..inputs.rules import VectorSimilarity

    Array = npt.NDArray[Any]


@public("truerank.alignment")
@with_options(SimilarityOptions)
def csls_means(
    left: Any,
    right: Any,
    k: int = 10,
    *,
    similarity: VectorSimilarity = "cosine",
    candidates: Any = None,
    **options: Unpack[SimilarityOptions],
) -> CSLS:
    """Return the mean score of every entity with its k most similar entities of the other side.

    Let r_left(x) be the mean of the k highest s(x, .) over the right entities, and r_right(y) that
    of the k highest s(., y) over the left ones. Cross-domain similarity local scaling (Conneau et
    al. 2018) is 2 s(x, y) - r_left(x) - r_right(y), which lowers the scores of hubs: entities that
    are similar to many others. `rank_embeddings`, `score_embeddings`, `topk_embeddings` and all
    functions of this package that score embeddings take the result as ``csls=``.

    Parameters
    ----------
    left : array_like, shape (n1, d), or path
        The embeddings, as `rank_embeddings` takes queries.
    right : array_like, shape (n2, d), or path
        The embeddings, as `rank_embeddings` takes entities.
    k : int
        The number of highest scores in a mean; all if there are fewer.
    similarity : str
        The similarity s, as in `rank_embeddings`, but for "maxsim".
    candidates : (left ids, right ids), optional
        The entities that take part: means are over these entities of the other side. Default: all.
        Either of the two may be None as well.
    nan : {"raise", "worst", "omit"}
        "raise": a score that is NaN is an error. Else it is left out; the mean of no scores is 0.
    dtype, layout, threads, progress
        As in `rank_embeddings`.

    Returns
    -------
    CSLS
        ``queries`` (n1,) and ``entities`` (n2,), in the dtype of the scores; NaN for entities that
        take no part.

    Raises
    ------
    TypeError, ValueError, OSError
        As `rank_embeddings` does, for `k` below 1, and for candidates that are not ids.

    Notes
    -----
    The means are exact. One pass over all pairs gives both sides from the same scores; only the k
    highest of each entity are stored. The scores are added from the highest on in float64, and the
    mean is rounded once, so it is the same for every number of threads and instruction set. Each
    entity takes 4 k bytes (8 k for float64), and as much again during the count.

    A k above the number of candidates is no error: an entity may have fewer than k scores in any
    case, under ``nan="omit"``, and small splits should need no k of their own. Slices of sorted
    scores, which other code takes, do the same.

    OpenEA's code takes the k highest as ``-np.partition(-s, k + 1)[:, :k]``. These are k of the k +
    1 highest scores; the version of numpy and the processor decide which one is missing. Its means
    lie between that of the 1st to k-th score and that of the 2nd to (k + 1)-th; only the same call
    on the whole matrix reproduces them.

    References
    ----------
    - Conneau, Lample, Ranzato, Denoyer, Jegou: Word translation without parallel data. ICLR 2018.

    Examples
    --------
    >>> import numpy as np
    >>> left, right = np.eye(2), np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> csls_means(left, right, 1)
    CSLS(queries=array([1., 1.]), entities=array([1., 1., 1.]), k=1)
    >>> csls_means(left, right, 2).queries
    array([1. , 0.5])
    """
    rules = read_rules(options, SimilarityOptions, csls_means)
    choice("similarity", similarity, VECTOR_SIMILARITIES)
    with argument_names(queries="left", entities="right"):
        pairs = Embeddings(left, right, similarity, None, rules.dtype, layout=rules.layout)
    if candidates is None:
        candidates = None, None
    if not isinstance(candidates, (tuple, list)) or len(candidates) != 2:
        got = type(candidates).__name__
        raise InputTypeError("candidates", expected="(left_ids, right_ids)", got=got)
    among = []
    for i, size in enumerate(pairs.shape):
        ids = np.arange(size)
        if candidates[i] is not None:
            ids = align_set(f"candidates[{i}]", candidates[i], Vocabulary(size, None))
        among.append(ids)
    with watching(rules.progress, pairs.nbytes) as watch:
        return vector_means(pairs, positive_integer("k", k), among, rules, watch)


def vector_means(
    pairs: Embeddings, k: int, among: Sequence[IntArray], rules: Rules, watch: Watch | None = None
) -> CSLS:
    """Return the means of open embeddings over some entities of each side, as `csls_means` does."""
    left_ids, right_ids = among
    if not len(left_ids) or not len(right_ids):
        raise InputValueError("candidates", expected="at least one entity on each side", got="none")
    grid = _core.Grid(pairs.core(), left_ids, right_ids)
    block = pairs.entities_at_a_time
    left_means, right_means, fault = _core.mean_topk(
        grid, k, rules.nan, block, rules.num_threads, listener_of(watch)
    )
    if fault is not None:
        raise fault_error(fault, rules.nan, left_ids)
    # Entities that take no part have the mean NaN.
    queries, entities = (np.full(size, np.nan, pairs.dtype) for size in pairs.shape)
    with np.errstate(over="ignore"):
        queries[left_ids] = left_means
        entities[right_ids] = right_means
    return CSLS(queries, entities, k)


def with_means(
    vectors: Embeddings,
    csls: int | CSLS | None,
    among: Sequence[IntArray] | None,
    rules: Rules,
    watch: Watch | None = None,
) -> Embeddings:
    """Scale embeddings by means, or by a number of neighbours among some entities."""
    if csls is None:
        return vectors
    if not isinstance(csls, CSLS):
        if among is None:
            among = [np.arange(size) for size in vectors.shape]
        csls = vector_means(vectors, positive_integer("csls", csls), among, rules, watch)
    return vectors.with_csls(csls)
