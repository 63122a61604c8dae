"""CSLS: scores less what they are on average with the nearest of both sides."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core
from ..embeddings.scoring import explain_pair
from ..embeddings.vectors import CSLS, opened
from ..inputs.checks import NAN_RULES, choice, positive, thread_count
from ..inputs.errors import InputTypeError, InputValueError
from .ids import as_ids
from .wording import in_words_of_sides

__all__ = ["CSLS", "csls_means"]


def csls_means(
    left: Any,
    right: Any,
    k: int = 10,
    *,
    similarity: str = "cosine",
    candidates: Any = None,
    nan: str = "raise",
    dtype: Any = None,
    block: int | None = None,
    threads: int | None = None,
) -> CSLS:
    """Give the mean score of every entity with its k best of the other side.

    With r_left(x) the mean of the k highest s(x, .) over the right entities, and r_right(y) that of
    the k highest s(., y) over the left ones, cross-domain similarity local scaling (Conneau et al.
    2018) is 2 s(x, y) - r_left(x) - r_right(y): what is near to everybody, a hub, comes further
    away. `rank_embeddings`, `score_embeddings`, `topk_embeddings` and everything of this package
    that scores vectors takes the result as ``csls=``.

    Parameters
    ----------
    left : array_like, shape (n1, d), or path
        Vectors, as `rank_embeddings` takes queries.
    right : array_like, shape (n2, d), or path
        Vectors, as it takes entities.
    k : int
        How many; where there are fewer, the mean is of all.
    similarity : str
        s, as in `rank_embeddings`.
    candidates : (left ids, right ids), optional
        Who takes part: the nearest of a left entity are sought among these right ones, and the
        other way round. Default: all. Either may be None, too.
    nan : {"raise", "worst", "omit"}
        "raise": a score that is NaN is an error. Else it is left out; the mean of nothing is 0.
    dtype, block, threads
        As in `rank_embeddings`.

    Returns
    -------
    CSLS
        ``queries`` (n1,), ``entities`` (n2,), of the dtype of the scores; NaN for who takes no
        part.

    Raises
    ------
    TypeError, ValueError, OSError
        As `rank_embeddings` does, and for a `k` below 1 and candidates that are no ids.

    Notes
    -----
    Exact, in one pass over all pairs, both sides from the same scores, which are never stored: the
    k highest of each entity are. The scores are added from the highest on in float64, and the mean
    is rounded once; it is the same for every number of threads and instruction set. Memory goes as
    4 k bytes for each entity, of float64 as 8 k, and as much again while it is counted.

    OpenEA's code takes the k highest as ``-np.partition(-s, k + 1)[:, :k]``, which are k of the
    k + 1 highest, in no order: which one is missing is for numpy to say, and changes with its
    version and the processor. Its means lie between that of the 1st to k-th and that of the 2nd to
    (k + 1)-th, and cannot be had again otherwise than by that call on the whole matrix.

    References
    ----------
    - Conneau, Lample, Ranzato, Denoyer, Jegou: Word translation without parallel data. ICLR 2018.

    Examples
    --------
    >>> left, right = np.eye(2), np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> csls_means(left, right, 1)
    CSLS(queries=array([1., 1.]), entities=array([1., 1., 1.]), k=1)
    >>> csls_means(left, right, 2).queries
    array([1. , 0.5])
    """
    choice("nan", nan, NAN_RULES)
    most, size = positive("k", k), positive("block", block) if block is not None else 0
    team = thread_count(threads)
    given = (None, None) if candidates is None else candidates
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise InputTypeError("candidates", expected="a pair (left ids, right ids)")
    with (
        in_words_of_sides("left", "right"),
        opened(left, right, similarity, None, dtype) as pairs,
    ):
        lefts, rights = (
            as_ids("candidates", ids, size, f"{side} ids")
            for side, ids, size in zip(("left", "right"), given, pairs.shape, strict=True)
        )
        if min(len(lefts), len(rights)) == 0:
            raise InputValueError(
                "candidates", expected="at least one entity on each side", got="none"
            )
        sides = _core.Grid(pairs.given, lefts, rights)
        *means, fault = _core.mean_best(sides, most, nan, size, team)
        if fault:
            raise explain_pair(fault, nan, lefts)
    found = [np.full(n, np.nan, pairs.dtype) for n in pairs.shape]
    for array, ids, mean in zip(found, (lefts, rights), means, strict=True):
        array[ids] = mean
    return CSLS(found[0], found[1], k)
