"""The score of a query and an entity, one rounding at a time, and the top k by sorting.

A sum runs along the vectors in order, for all pairs at once; a fused multiply-add is the function
of the C library. Nothing here uses the package.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from decimal import Context, Decimal, localcontext
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from oracles.counting import Lists, Refused, chosen_columns, filtered_columns, widen

Array = npt.NDArray[Any]


def fused(name: str, kind: Any) -> Callable[[Array, Array, Array], Array]:
    """Return a function of the C library that multiplies and adds with one rounding."""
    library = "ucrtbase" if os.name == "nt" else None
    function = getattr(ctypes.CDLL(library), name)
    function.restype = kind
    function.argtypes = [kind] * 3
    return np.vectorize(function, otypes=[kind])


FMA = {np.float32: fused("fmaf", ctypes.c_float), np.float64: fused("fma", ctypes.c_double)}


def widened(vectors: Array, dtype: str | None) -> Array:
    """Return vectors exactly, in float64; `dtype` is what raw 16-bit vectors are."""
    is_raw = vectors.dtype.kind in "iuV" and vectors.dtype.name != "bfloat16"
    if is_raw:
        return widen(vectors, dtype)
    return widen(vectors)


def kind_of(queries: Array, entities: Array) -> Any:
    for vectors in (queries, entities):
        if vectors.dtype.kind == "f" and vectors.dtype.itemsize == 8:
            return np.float64
    return np.float32


def score(
    queries: Array,
    entities: Array,
    similarity: str = "dot",
    bias: Array | None = None,
    dtype: str | None = None,
    csls: tuple[Array, Array, int] | None = None,
) -> Array:
    """Return the scores of all pairs, (queries, entities); those of poincare within some ulp."""
    kind = kind_of(queries, entities)
    with np.errstate(all="ignore"):
        q, e = (widened(x, dtype).astype(kind) for x in (queries, entities))
        scores: Array = SCORES[similarity](q[:, None, :], e[None, :, :], kind)
    return with_csls(with_bias(scores, bias, dtype), csls)


def sums_of_maxima(
    queries: tuple[Array, Array],
    entities: tuple[Array, Array],
    token_scores: Callable[..., Array] = score,
    **options: Any,
) -> Array:
    """Return the scores of all pairs of lists of tokens, (queries, entities).

    Of each token of the query the greatest score with a token of the entity is taken, and these are
    added in order in float64. A NaN among the scores makes the sum NaN.
    """
    of_tokens = token_scores(queries[0], entities[0], similarity="dot", **options)
    scores = np.zeros((len(queries[1]) - 1, len(entities[1]) - 1), of_tokens.dtype)
    for i, (top, bottom) in enumerate(pairwise(queries[1])):
        for j, (left, right) in enumerate(pairwise(entities[1])):
            total = 0.0
            for row in of_tokens[top:bottom, left:right].tolist():
                total += np.nan if any(x != x for x in row) else max(row)
            with np.errstate(over="ignore"):
                scores[i, j] = total
    return scores


def with_csls(scores: Array, csls: tuple[Array, Array, int] | None) -> Array:
    """Return twice the scores, minus the sum of the means of both sides."""
    if csls is None:
        return scores
    with np.errstate(all="ignore"):
        query, entity = (means.astype(scores.dtype) for means in csls[:2])
        scaled: Array = 2 * scores - (query[:, None] + entity[None, :])
    return scaled


def mean_topk(scores: Array, k: int) -> Array:
    """Return the mean of each row's top k scores but NaN, added in float64, highest first."""
    means = []
    for row in scores:
        ordered = sorted((float(x) for x in row if x == x), reverse=True)[:k]
        total = 0.0
        for x in ordered:
            total += x
        means.append(total / max(1, len(ordered)))
    with np.errstate(over="ignore"):
        return np.array(means).astype(scores.dtype)


def with_bias(scores: Array, bias: Array | None, dtype: str | None = None) -> Array:
    """Add the bias of each entity, rounded to the dtype of the scores."""
    if bias is None:
        return scores
    with np.errstate(all="ignore"):
        added: Array = scores + widened(bias, dtype).astype(scores.dtype)
    return added


def summed(step: Callable[..., Array], q: Array, e: Array, kind: Any, width: int = 1) -> Array:
    """Run along the vectors, `width` numbers at a time."""
    s = np.zeros(np.broadcast_shapes(q.shape, e.shape)[:-1], kind)
    for k in range(0, q.shape[-1], width):
        parts = (x[..., k + i] for i in range(width) for x in (q, e))
        s = step(s, *parts, FMA[kind])
    return s


def _dot(q: Array, e: Array, kind: Any) -> Array:
    return summed(lambda s, a, b, fma: fma(a, b, s), q, e, kind)


def _l1(q: Array, e: Array, kind: Any) -> Array:
    return -summed(lambda s, a, b, fma: s + np.abs(a - b), q, e, kind)


def _squares(q: Array, e: Array, kind: Any) -> Array:
    return summed(lambda s, a, b, fma: fma(a - b, a - b, s), q, e, kind)


def scored_by(similarity: Any) -> dict[str, Any]:
    """Return the options of a similarity; complex numbers have their parts in turn."""
    layout = "interleaved" if similarity == "complex_l1" else None
    return {"similarity": similarity, "layout": layout}


def _complex_l1(q: Array, e: Array, kind: Any) -> Array:
    def step(s: Array, re: Array, re_e: Array, im: Array, im_e: Array, fma: Any) -> Array:
        u = re - re_e
        v = im - im_e
        return s + np.sqrt(fma(u, u, v * v))

    return -summed(step, q, e, kind, 2)


def _own_squares(x: Array) -> Array:
    """Return |x|^2 in float64: products and sums are rounded one by one, in order."""
    squares = np.zeros(x.shape[:-1])
    for k in range(x.shape[-1]):
        wide = x[..., k].astype(np.float64)
        squares = squares + wide * wide
    return squares


def _brought_near_one(x: Array) -> Array:
    """Multiply vectors by a power of two if their squares are too small or too large for float64.

    The largest component of such a vector comes to at least 1 and less than 2.
    """
    wide = x.astype(np.float64)
    squares = _own_squares(x)
    most = np.abs(wide).max(axis=-1, initial=0)
    out = ((squares < 2.0**-960) | (squares == np.inf)) & (most > 0) & (most < np.inf)
    exponent = np.where(out, np.frexp(most)[1] - 1, 0)
    return np.ldexp(wide, -exponent[..., None])


def _cosine(q: Array, e: Array, kind: Any) -> Array:
    def normalised(x: Array) -> Array:
        near = _brought_near_one(x)
        root = np.sqrt(_own_squares(near))[..., None]
        return np.where(root == 0, x, (near / root).astype(kind))

    return _dot(normalised(q), normalised(e), kind)


def _poincare(q: Array, e: Array, kind: Any) -> Array:
    """Return the score computed with 40 digits, from the same sums as the core."""
    left = [1 - _own_squares(x) for x in (q, e)]
    ratio = _squares(q, e, kind).astype(np.float64) / (left[0] * left[1])
    ratio = np.where((left[0] > 0) & (left[1] > 0), ratio, np.nan)
    distances = [_minus_squared_arcosh(x) for x in ratio.ravel().tolist()]
    return np.array(distances, np.float64).reshape(ratio.shape).astype(kind)


@lru_cache(maxsize=1 << 16)
def _minus_squared_arcosh(x: float) -> float:
    """Return -arcosh(1 + 2 x)^2."""
    if not np.isfinite(x):
        return -x
    y = 2 * Decimal(x)
    if x < 1e-30:  # Here 40 digits of 1 + y contain too few digits of y.
        return float(-2 * y)
    with localcontext(Context(40)):
        z = (1 + y + (y * (y + 2)).sqrt()).ln()
        return float(-z * z)


SCORES: dict[str, Callable[[Array, Array, Any], Array]] = {
    "dot": _dot,
    "cosine": _cosine,
    "l1": _l1,
    "l2": lambda q, e, kind: -np.sqrt(_squares(q, e, kind)),
    "sql2": lambda q, e, kind: -_squares(q, e, kind),
    "complex_l1": _complex_l1,
    "inverse_l1": lambda q, e, kind: kind(1) / (kind(1) - _l1(q, e, kind)),
    "inverse_l2": lambda q, e, kind: kind(1) / (kind(1) + np.sqrt(_squares(q, e, kind))),
    "poincare": _poincare,
}
SIMILARITIES = tuple(SCORES)
# Others may differ from the definition in their last bits.
EXACT = tuple(name for name in SIMILARITIES if name != "poincare")


def top_k(
    scores: Array,
    k: int,
    *,
    rows: Sequence[int] | None = None,
    filter: Lists | None = None,
    candidates: Lists | None = None,
    nan: str = "raise",
) -> tuple[Array, Array]:
    """Return ids and scores of the top k of every task, by sorting Python numbers.

    numpy must not sort float16 in an oracle: with AVX-512, `np.sort` of numpy 2.4 returns arrays of
    few distinct values out of order.
    """
    table = scores.tolist()
    if rows is None:
        rows = range(len(table))
    ids = np.full((len(rows), k), -1, np.int64)
    found = np.full((len(rows), k), np.nan, scores.dtype)
    refused = set()
    for i, r in enumerate(rows):
        chosen = chosen_columns(candidates, i, scores.shape[1]) - filtered_columns(filter, i)
        numbers = sorted(j for j in chosen if table[r][j] == table[r][j])
        others = sorted(chosen - set(numbers))
        if others and nan == "raise":
            refused.add((r, others[0]))
        ordered = sorted(numbers, key=lambda j: -table[r][j])
        if nan == "worst":
            ordered += others
        for place, j in enumerate(ordered[:k]):
            ids[i, place] = j
            found[i, place] = scores[r, j]
    if refused:
        raise Refused(["scores"], nan=min(refused))
    return ids, found


def same_bits(a: Array, b: Array) -> bool:
    """Whether all bits are the same, except that any NaN equals any other."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    unsigned = f"u{a.dtype.itemsize}"
    equal = np.ascontiguousarray(a).view(unsigned) == np.ascontiguousarray(b).view(unsigned)
    return bool((equal | (np.isnan(a) & np.isnan(b))).all())
