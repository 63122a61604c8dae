"""The score of a query and an entity, one rounding at a time, and the top k by sorting.

A sum runs along the vectors in order, for all pairs at once. A fused multiply-add is emulated with
NumPy. In float32: the product is exact in float64, and the summand is added with rounding to
odd, so that only the second rounding, to float32, has an effect. In float64: the exact product and
sum are two doubles each, whose low parts are added with rounding to odd (Boldo, Melquiond 2008:
Emulation of FMA and correctly rounded sums); beyond that range, `fractions.Fraction` is used. A
test compares both with exact rational arithmetic. Nothing here uses the package.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from oracles.counting import Lists, Refused, widen

Array = npt.NDArray[Any]


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """Return the rounded sum and its rounding error, which is exact."""
    s = a + b
    shadow = s - a
    return s, (a - (s - shadow)) + (b - shadow)


def odd_sum(a: Array, b: Array) -> Array:
    """Return the float64 sum rounded to odd: if inexact, the neighbour whose last bit is 1."""
    s, rest = two_sum(a, b)
    bits = np.array(s).view(np.int64)
    inexact = np.isfinite(s) & (rest != 0) & (bits % 2 == 0)
    away = (rest > 0) == (s > 0)  # away from zero: the next bit pattern
    return (bits + np.where(inexact, np.where(away, 1, -1), 0)).view(np.float64)


def fma32(a: Array, b: Array, c: Array) -> Array:
    a, b, c = (np.asarray(x, np.float32).astype(np.float64) for x in (a, b, c))
    return odd_sum(a * b, c).astype(np.float32)


def two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """Return the rounded product and its rounding error (Dekker 1971)."""

    def split(x: Array) -> tuple[Array, Array]:
        scaled = x * (2.0**27 + 1)
        high = scaled - (scaled - x)
        return high, x - high

    p = a * b
    (a1, a2), (b1, b2) = split(a), split(b)
    return p, ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2


def fma64(a: Array, b: Array, c: Array) -> Array:
    a, b, c = np.broadcast_arrays(*(np.asarray(x, np.float64) for x in (a, b, c)))
    p, low = two_product(a, b)
    sum_low, rest_low = two_sum(c, low)
    sum_high, rest_high = two_sum(p, sum_low)
    result = np.array(sum_high + odd_sum(rest_high, rest_low))

    def between(x: Array, least: float, most: float) -> Array:
        return (np.abs(x) >= least) & (np.abs(x) <= most)

    easy = between(a, 2.0**-450, 2.0**450) & between(b, 2.0**-450, 2.0**450)
    easy &= between(c, 2.0**-800, 2.0**900) | (c == 0)
    simple = ~np.isfinite(p) & ~(np.isfinite(a) & np.isfinite(b)) | (a == 0) | (b == 0)
    result[simple] = (p + c)[simple]
    for at in zip(*np.nonzero(~easy & ~simple), strict=True):
        result[at] = fma_exact(float(a[at]), float(b[at]), float(c[at]), np.float64)
    return result


def fma_exact(a: float, b: float, c: float, dtype: Any) -> Any:
    """Return a b + c by the definition: as a rational number, rounded once."""
    if not np.isfinite([a, b, c]).all():
        finite = np.isfinite([a, b]).all()  # then the product is not finite either
        return dtype(c if finite else np.float64(a) * np.float64(b) + np.float64(c))
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:  # the sign of zero is that of both summands, or + if they differ
        zero = a == 0 or b == 0
        return dtype(np.float64(a) * np.float64(b) + np.float64(c) if zero else 0.0)
    return nearest(exact, dtype, negative=exact < 0)


def nearest(exact: Fraction, dtype: Any, *, negative: bool) -> Any:
    """Round to nearest, ties to even."""
    info = np.finfo(dtype)
    size = abs(exact)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= size < Fraction(2) ** exponent
    quantum = Fraction(2) ** max(exponent - info.nmant, int(info.minexp) - info.nmant)
    rounded = round(size / quantum) * quantum
    found = float("inf") if rounded > Fraction(float(info.max)) else float(rounded)
    return dtype(-found if negative else found)


FMA: dict[Any, Callable[[Array, Array, Array], Array]] = {np.float32: fma32, np.float64: fma64}


def widened(vectors: Array, dtype: str | None) -> Array:
    """Return vectors exactly, in float64; `dtype` is what raw 16-bit vectors are."""
    raw = vectors.dtype.kind in "iuV" and vectors.dtype.name != "bfloat16"
    return widen(vectors, dtype if raw else None)


def kind_of(queries: Array, entities: Array) -> Any:
    both = (queries.dtype, entities.dtype)
    return np.float64 if any(d.kind == "f" and d.itemsize == 8 for d in both) else np.float32


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
        means.append(total / len(ordered) if ordered else 0.0)
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


def _complex_l1(q: Array, e: Array, kind: Any) -> Array:
    def step(s: Array, re: Array, re_e: Array, im: Array, im_e: Array, fma: Any) -> Array:
        u, v = re - re_e, im - im_e
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
    squares, most = _own_squares(x), np.abs(wide).max(axis=-1, initial=0)
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
    if x < 1e-30:  # here 40 digits of 1 + y contain too few digits of y
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
EXACT = tuple(name for name in SIMILARITIES if name != "poincare")  # the bits are known here


def top_k(
    scores: Array,
    k: int,
    *,
    rows: Sequence[int] | None = None,
    filter: Lists | None = None,
    candidates: Lists | None = None,
    nan: str = "raise",
) -> tuple[Array, Array]:
    """Return ids and scores of the top k of every task, by sorting Python numbers."""
    table = scores.tolist()
    rows = range(len(table)) if rows is None else rows
    ids = np.full((len(rows), k), -1, np.int64)
    found = np.full((len(rows), k), np.nan, scores.dtype)
    refused = set()
    for i, r in enumerate(rows):
        chosen = set(range(scores.shape[1])) if candidates is None else set(candidates[i])
        chosen -= set(filter[i]) if filter is not None else set()
        numbers = sorted(j for j in chosen if table[r][j] == table[r][j])
        others = sorted(chosen - set(numbers))
        if others and nan == "raise":
            refused.add((r, others[0]))
        ordered = sorted(numbers, key=lambda j: -table[r][j]) + (others if nan == "worst" else [])
        for place, j in enumerate(ordered[:k]):
            ids[i, place], found[i, place] = j, scores[r, j]
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
