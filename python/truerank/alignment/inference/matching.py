"""Inference: similarities in, pairs of entities out; each side is told whom it is aligned with."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...inputs.arrays import read_only
from ...inputs.checks import choice, number, positive_integer
from ...inputs.errors import InputTypeError, InputValueError
from ...inputs.naming import public
from ..two_graphs import DIRECTIONS
from .assignment import optimal_pairs
from .inferred_pairs import Alignment
from .similarity_sources import ScoringOptions, open_source
from .stable_matching import stable_pairs

if TYPE_CHECKING:
    from .similarity_sources import SimilaritySource
    from .stable_matching import ScoredPairs


class _Options(NamedTuple):
    direction: str
    k: int
    dense: bool | None
    candidates: int | None


@public("truerank.alignment")
def infer(
    left: Any,
    right: Any,
    *,
    method: str = "greedy",
    similarity: str = "cosine",
    csls: Any = None,
    left_ids: Any = None,
    right_ids: Any = None,
    threshold: float | None = None,
    direction: str = "left_to_right",
    k: int = 32,
    dense: bool | None = None,
    candidates_per_entity: int | None = None,
    nan: str = "raise",
    dtype: Any = None,
    threads: int | None = None,
) -> Alignment:
    """Align entities: find the pairs of left and right ones, by their similarities.

    Parameters
    ----------
    left : array_like, shape (n1, d), or path
        Vectors of the left entities, as `rank_embeddings` takes them. Or, where `right` is None, a
        matrix (n1, n2) of scores, in memory or as the path of one .npy file, which is mapped:
        floats, bfloat16, or integers up to 2**53. Scores are similarities, higher ones better: of
        distances give the negative.
    right : array_like, shape (n2, d), path, or None
        Vectors of the right entities.
    method : {"greedy", "mutual", "stable", "optimal"}
        How pairs are found; see Notes.
    similarity : str
        As in `rank_embeddings`; of vectors alone.
    csls : int or CSLS, optional
        Go by cross-domain similarity local scaling, 2 s(x, y) - (r(x) + r(y)), with the means r of
        the so many nearest of the other side among those that take part; or with means that
        `truerank.alignment.csls_means` gave. Of a matrix likewise.
    left_ids, right_ids : array_like of int, optional
        The only entities to take part, as sets. Default: all.
    threshold : float, optional
        Leave out pairs with scores below, after all are matched: nobody is matched anew.
    direction : {"left_to_right", "right_to_left"}
        Which side chooses, of "greedy"; the others know no direction.
    k : int
        Of "stable", and of "optimal" where it is sparse: how many preferences per entity are in
        memory at a time. It changes no result, only memory and passes.
    dense : bool, optional
        Of "optimal": whether all scores are in memory, in float64. Default: where they take at most
        1 GiB, and `candidates_per_entity` is not given.
    candidates_per_entity : int, optional
        Of "optimal": look at the so many nearest of every entity of either side, and at the stable
        pairs. Default where it is not dense: 32.
    nan : {"raise", "omit"}
        The rule for scores that are NaN: an error, or never a pair.
    dtype, threads
        As in `rank_embeddings`; for a matrix `dtype` says what raw 16-bit numbers are.

    Returns
    -------
    Alignment
        ``pairs`` with their ``scores``, by left id, and ``solved``, which says what was done;
        ``evaluate`` compares it with reference pairs.

    Raises
    ------
    TypeError
        For vectors and scores that are no numbers, options of another type, and a matrix in shards
        or chunks, or in a store that is open.
    ValueError
        For shapes that do not fit, ids out of range, an unknown word, a NaN that the rule forbids
        (with its entities), infinite scores where a total is wanted, options of another method, a
        similarity beside a matrix, and files that are damaged.
    OSError
        For files that are missing or cannot be read.
    ImportError
        For "optimal" without scipy.

    Notes
    -----
    ========  ======================================================================================
    greedy    each left entity and its nearest right one, which several may have; of equally near
              ones the lowest id. "Greedy search is used by all current approaches" (Sun et al.: A
              benchmarking study of embedding-based entity alignment, 2020)
    mutual    the pairs that are each other's nearest, by the same rule
    stable    a matching without two that both score higher with each other than with whom they have
              (or have nobody), equal scores going by the lower id of both sides. There is
              exactly one, whichever side proposes
    optimal   a matching with the highest sum of scores
    ========  ======================================================================================

    "stable" and "optimal" match the smaller side whole, but for NaN and the threshold. Of "optimal"
    the total is guaranteed, up to the rounding of float64 sums in the solver: the highest of all
    matchings if ``solved`` is "dense", of those of the pairs it looked at if it is "sparse". Which
    of several matchings of that total comes is not, and may change with the version of scipy. With
    NaN omitted it is the total of the matchings with the most pairs.

    Infinite scores are ordinary ones, except of "optimal": a -inf is a pair where nothing better is
    there, and a threshold leaves it out.

    No matrix of scores is made but by "optimal", where it is dense.

    Examples
    --------
    >>> left = np.array([[1, 0], [0.8, 0.6]], np.float32)
    >>> right = np.array([[1, 0.2], [0, 1], [-1, 0]], np.float32)
    >>> infer(left, right).pairs.tolist()
    [[0, 0], [1, 0]]
    >>> infer(left, right, method="mutual").pairs.tolist()
    [[0, 0]]
    >>> found = infer(left, right, method="stable")
    >>> found.pairs.tolist(), found.scores.round(2).tolist()
    ([[0, 0], [1, 1]], [0.9800000190734863, 0.6000000238418579])
    >>> infer([[3, 2], [3, 1]], None, method="optimal").pairs.tolist()  # a matrix; 2 + 3
    [[0, 1], [1, 0]]
    """
    choice("method", method, tuple(_METHODS))
    choice("direction", direction, DIRECTIONS)
    least = _check_threshold(threshold)
    options = _Options(
        direction,
        positive_integer("k", k),
        _check_dense(dense),
        None
        if candidates_per_entity is None
        else positive_integer("candidates_per_entity", candidates_per_entity),
    )
    for name, given, of in (
        ("direction", direction != DIRECTIONS[0], "greedy"),
        ("dense", dense is not None, "optimal"),
        ("candidates_per_entity", candidates_per_entity is not None, "optimal"),
    ):
        if given and method != of:
            raise InputValueError(name, expected=f'with method="{of}" alone', got=f'"{method}"')
    how = ScoringOptions(similarity, csls, nan, dtype, threads)
    source = open_source(left, right, how, left_ids, right_ids)
    (lefts, rights, scores), solved = _METHODS[method](source, options)
    if least is not None:
        kept = scores.astype(np.float64) >= least
        lefts, rights, scores = lefts[kept], rights[kept], scores[kept]
    return Alignment(
        pairs=read_only(np.stack([lefts, rights], axis=1)),
        scores=read_only(scores),
        method=method,
        solved=solved,
        threshold=least,
        left_ids=read_only(source.left_ids),
        right_ids=read_only(source.right_ids),
        shape=source.shape,
    )


def _greedy(source: SimilaritySource, options: _Options) -> tuple[ScoredPairs, str]:
    if options.direction == DIRECTIONS[0]:
        return _find_most_similar(source), options.direction
    right, left, scores = _find_most_similar(source.swapped())
    order = np.lexsort((right, left))
    return (left[order], right[order], scores[order]), options.direction


def _find_most_similar(source: SimilaritySource) -> ScoredPairs:
    """Each left entity that has a nearest one, and that."""
    best = source.top_k(1)
    there = best.ids[:, 0] >= 0
    return source.left_ids[there], best.ids[there, 0], best.scores[there, 0]


def _mutual(source: SimilaritySource, options: _Options) -> tuple[ScoredPairs, str]:
    left, right, scores = _find_most_similar(source)
    chosen = np.unique(right)  # nobody else can be in a pair
    back = source.swapped().top_k(1, chosen).ids[:, 0]
    kept = back[np.searchsorted(chosen, right)] == left
    return (left[kept], right[kept], scores[kept]), ""


def _stable(source: SimilaritySource, options: _Options) -> tuple[ScoredPairs, str]:
    return stable_pairs(source, options.k), ""


def _optimal(source: SimilaritySource, options: _Options) -> tuple[ScoredPairs, str]:
    return optimal_pairs(source, options.dense, options.candidates, options.k)


_METHODS: dict[str, Callable[[SimilaritySource, _Options], tuple[ScoredPairs, str]]] = {
    "greedy": _greedy,
    "mutual": _mutual,
    "stable": _stable,
    "optimal": _optimal,
}


def _check_dense(dense: object) -> bool | None:
    if dense is not None and not isinstance(dense, (bool, np.bool_)):
        raise InputTypeError("dense", expected="a bool or None", got=type(dense).__name__)
    return None if dense is None else bool(dense)


def _check_threshold(threshold: Any) -> float | None:
    if threshold is None:
        return None
    found = number("threshold", threshold)
    if np.isnan(found):
        raise InputValueError("threshold", expected="a number", got="nan")
    return found
