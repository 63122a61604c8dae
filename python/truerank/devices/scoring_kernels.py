"""Triton kernels that score vectors, and count the scores, with the bits of the C++ core.

They mirror `cpp/kernels/steps.hpp` and `finish_body` of `similarity.cpp`: each pair has one
accumulator, to which its components are added from first to last by operations that round once. No
sum is split, and no tensor unit is used. The kernels are launched with ``enable_fp_fusion=False``,
so that a product and a sum are fused where `tl.fma` says so and nowhere else.

Triton's `sqrt` and `/` are approximations for float32; its `sqrt_rn` and `div_rn` round to nearest.
For float64, `sqrt` and `/` do.

Vectors are packed: component k of vector i is at k * stride + i, and fits 32 bits, as a panel is
small. A lane beyond the last vector takes the last one, and its result is not stored.
"""

# Triton's compiler reads types at run time, and mypy does not know Triton.
# mypy: ignore-errors

import triton
import triton.language as tl

_LN2_HIGH = tl.constexpr(float.fromhex("0x1.62e42fefa38p-1"))
_LN2_LOW = tl.constexpr(float.fromhex("0x1.ef35793c7673p-45"))
_LEAST_SQUARES = tl.constexpr(2.0**-960)
_TO_NEAREST_EXPONENT = tl.constexpr(0x00095F6198000000)  # see logarithm() in similarity.cpp
_SIZES = ["rows", "columns", "depth", "query_stride", "entity_stride", "out_stride", "turns"]


@triton.jit
def _square_root(x):
    return tl.sqrt(x) if x.dtype == tl.float64 else tl.sqrt_rn(x)


@triton.jit
def _inverse_of_one_more(x):
    one = tl.full(x.shape, 1, x.dtype)
    return one / (one + x) if x.dtype == tl.float64 else tl.div_rn(one, one + x)


@triton.jit
def _step(total, q, e, SIMILARITY: tl.constexpr):
    """Take the sum of each pair, with the next component of both vectors, to the next sum."""
    if SIMILARITY == "dot" or SIMILARITY == "cosine":
        q, e = tl.broadcast(q, e)
        total = tl.fma(q, e, total)
    elif SIMILARITY == "l1" or SIMILARITY == "inverse_l1":
        total = total + tl.abs(e - q)
    else:
        difference = q - e
        total = tl.fma(difference, difference, total)
    return total


@triton.jit
def _complex_step(total, q, q_imaginary, e, e_imaginary):
    re = q - e
    im = q_imaginary - e_imaginary
    return total + _square_root(tl.fma(re, re, im * im))


@triton.jit
def _sums(
    queries, entities, query_stride, entity_stride, query, entity, total, depth,
    SIMILARITY: tl.constexpr,
):  # fmt: skip
    """Run along the components of pairs, whose places in their panels broadcast to `total`."""
    if SIMILARITY == "complex_l1":
        for k in range(0, depth, 2):
            at_query = queries + k * query_stride + query
            at_entity = entities + k * entity_stride + entity
            q, q_imaginary = tl.load(at_query), tl.load(at_query + query_stride)
            e, e_imaginary = tl.load(at_entity), tl.load(at_entity + entity_stride)
            total = _complex_step(total, q, q_imaginary, e, e_imaginary)
    else:
        for k in range(depth):
            q = tl.load(queries + k * query_stride + query)
            e = tl.load(entities + k * entity_stride + entity)
            total = _step(total, q, e, SIMILARITY)
    return total


@triton.jit
def _logarithm(u):
    """Return log(u) for u >= 1, by the series of the core."""
    bits = u.to(tl.int64, bitcast=True)
    exponent = (bits + _TO_NEAREST_EXPONENT) >> 52
    m = (bits - ((exponent - 1023) << 52)).to(tl.float64, bitcast=True)
    one = tl.full(u.shape, 1, tl.float64)
    s = (m - one) / (m + one)
    square = s * s
    series = tl.zeros(u.shape, tl.float64)
    for i in tl.static_range(11):
        series = series * square + tl.full(u.shape, 1.0 / (23 - 2 * i), tl.float64)
    e = (exponent - 1023).to(tl.float64)
    high = tl.full(u.shape, _LN2_HIGH, tl.float64)
    low = tl.full(u.shape, _LN2_LOW, tl.float64)
    return e * high + (2 * s + (2 * s * square * series + e * low))


@triton.jit
def _squared_hyperbolic(squared_difference, query_squares, entity_squares):
    """Return the squared distance of two points of the Poincare ball; NaN for others."""
    query_squares, entity_squares = tl.broadcast(query_squares, entity_squares)
    one = tl.full(squared_difference.shape, 1, tl.float64)
    a = one - query_squares
    b = one - entity_squares
    y = 2 * (squared_difference / (a * b))
    w = y + tl.sqrt(y * (y + 2))
    u = one + w
    distance = _logarithm(u) + (w - (u - one)) / u
    square = tl.where(u < float("inf"), distance * distance, u)
    return tl.where((a > 0) & (b > 0), square, float("nan"))


@triton.jit
def _finish(
    total, query_squares, entity_squares, bias, query_means, entity_means, query, entity,
    SIMILARITY: tl.constexpr,
):  # fmt: skip
    """Turn sums into scores. A product by -1 keeps the sign of zeros, which 0 - x would not."""
    if SIMILARITY == "l1" or SIMILARITY == "sql2" or SIMILARITY == "complex_l1":
        total = total * -1
    elif SIMILARITY == "l2":
        total = _square_root(total) * -1
    elif SIMILARITY == "inverse_l1":
        total = _inverse_of_one_more(total)
    elif SIMILARITY == "inverse_l2":
        total = _inverse_of_one_more(_square_root(total))
    elif SIMILARITY == "poincare":
        squares = tl.load(query_squares + query), tl.load(entity_squares + entity)
        square = _squared_hyperbolic(total.to(tl.float64), squares[0], squares[1])
        total = (square * -1).to(total.dtype)
    if bias is not None:
        total = total + tl.load(bias + entity)
    if query_means is not None:
        total = (total + total) - (tl.load(query_means + query) + tl.load(entity_means + entity))
    return total


@triton.jit(do_not_specialize=_SIZES)
def score_tiles(
    queries, entities, query_squares, entity_squares, bias, query_means, entity_means, out,
    rows, columns, depth, query_stride, entity_stride, out_stride,
    SIMILARITY: tl.constexpr, QUERIES: tl.constexpr, ENTITIES: tl.constexpr,
):  # fmt: skip
    """Write the scores of all queries and entities of two panels; a program makes a tile."""
    across = tl.cdiv(columns, ENTITIES)
    row = (tl.program_id(0) // across) * QUERIES + tl.arange(0, QUERIES)[:, None]
    column = (tl.program_id(0) % across) * ENTITIES + tl.arange(0, ENTITIES)[None, :]
    query = tl.minimum(row, rows - 1)
    entity = tl.minimum(column, columns - 1)
    total = tl.zeros((QUERIES, ENTITIES), out.dtype.element_ty)
    total = _sums(
        queries, entities, query_stride, entity_stride, query, entity, total, depth, SIMILARITY
    )
    score = _finish(
        total, query_squares, entity_squares, bias, query_means, entity_means, query, entity,
        SIMILARITY,
    )  # fmt: skip
    tl.store(
        out + row.to(tl.int64) * out_stride + column, score, mask=(row < rows) & (column < columns)
    )


@triton.jit(do_not_specialize=_SIZES)
def score_pairs(
    queries, entities, query_squares, entity_squares, bias, query_means, entity_means, out,
    rows, depth, query_stride, entity_stride,
    SIMILARITY: tl.constexpr, PAIRS: tl.constexpr,
):  # fmt: skip
    """Write the scores of query i and entity i of two panels."""
    row = tl.program_id(0) * PAIRS + tl.arange(0, PAIRS)
    at = tl.minimum(row, rows - 1)
    total = tl.zeros((PAIRS,), out.dtype.element_ty)
    total = _sums(queries, entities, query_stride, entity_stride, at, at, total, depth, SIMILARITY)
    score = _finish(
        total, query_squares, entity_squares, bias, query_means, entity_means, at, at, SIMILARITY
    )
    tl.store(out + row, score, mask=row < rows)


@triton.jit
def _compared(score, true_scores, task, here, is_column):
    """Count each row's scores above the true score, from bit 10 on those tied, from 20 on NaN."""
    true_score = tl.load(true_scores + task, mask=here, other=float("nan"))[:, None]
    above = tl.where(score > true_score, 1, 0)
    tied = tl.where(score == true_score, 1 << 10, 0)
    missing = tl.where(score != score, 1 << 20, 0)
    return tl.sum(tl.where(is_column, above + tied + missing, 0), axis=1)


@triton.jit(do_not_specialize=_SIZES)
def count_tiles(
    queries, entities, query_squares, entity_squares, bias, query_means, entity_means,
    first, true_scores, above, tied, missing,
    rows, columns, depth, query_stride, entity_stride, turns,
    SIMILARITY: tl.constexpr, QUERIES: tl.constexpr, ENTITIES: tl.constexpr,
):  # fmt: skip
    """Compare the scores of two panels with the true scores of tasks, and add up the counts.

    Query i has the tasks from first[i] to first[i + 1]. A program makes `turns` tiles of the same
    queries, one after the other. Its counts of the first task of each query stay in registers.
    """
    across = tl.cdiv(columns, ENTITIES * turns)
    row = (tl.program_id(0) // across) * QUERIES + tl.arange(0, QUERIES)
    query = tl.minimum(row, rows - 1)
    first_task = tl.load(first + query)
    end = tl.where(row < rows, tl.load(first + query + 1), first_task)
    most = tl.max(end - first_task, axis=0)
    above_first = tl.zeros((QUERIES,), tl.int64)
    tied_first = tl.zeros((QUERIES,), tl.int64)
    missing_first = tl.zeros((QUERIES,), tl.int64)
    left = (tl.program_id(0) % across) * turns * ENTITIES
    for start in range(left, tl.minimum(left + turns * ENTITIES, columns), ENTITIES):
        column = start + tl.arange(0, ENTITIES)[None, :]
        entity = tl.minimum(column, columns - 1)
        total = tl.zeros((QUERIES, ENTITIES), true_scores.dtype.element_ty)
        total = _sums(
            queries, entities, query_stride, entity_stride, query[:, None], entity, total, depth,
            SIMILARITY,
        )  # fmt: skip
        score = _finish(
            total, query_squares, entity_squares, bias, query_means, entity_means,
            query[:, None], entity, SIMILARITY,
        )  # fmt: skip
        counts = _compared(score, true_scores, first_task, first_task < end, column < columns)
        above_first += counts & 1023
        tied_first += (counts >> 10) & 1023
        missing_first += counts >> 20
        for layer in range(1, most):
            task = first_task + layer
            counts = _compared(score, true_scores, task, task < end, column < columns)
            tl.atomic_add(above + task, (counts & 1023).to(tl.int64), task < end, sem="relaxed")
            tl.atomic_add(
                tied + task, ((counts >> 10) & 1023).to(tl.int64), task < end, sem="relaxed"
            )
            tl.atomic_add(missing + task, (counts >> 20).to(tl.int64), task < end, sem="relaxed")
    tl.atomic_add(above + first_task, above_first, first_task < end, sem="relaxed")
    tl.atomic_add(tied + first_task, tied_first, first_task < end, sem="relaxed")
    tl.atomic_add(missing + first_task, missing_first, first_task < end, sem="relaxed")


@triton.jit
def _squares(panel, stride, vector, scale, depth):
    total = tl.zeros(vector.shape, tl.float64)
    for k in range(depth):
        x = tl.load(panel + k * stride + vector).to(tl.float64) * scale
        total = total + x * x
    return total


@triton.jit(do_not_specialize=["rows", "depth", "stride"])
def sum_squares(
    panel, squares, rows, depth, stride, NORMALISE: tl.constexpr, VECTORS: tl.constexpr
):
    """Sum up the squared components of each vector of a panel in float64, in order.

    With NORMALISE, the vectors are divided by the roots of these sums, in place: once, in float64.
    float64 vectors whose sum has lost digits are first multiplied by a power of two, as
    `normalise_scaled` of the core does.
    """
    row = tl.program_id(0) * VECTORS + tl.arange(0, VECTORS)
    vector = tl.minimum(row, rows - 1)
    one = tl.full((VECTORS,), 1, tl.float64)
    scale = one
    total = _squares(panel, stride, vector, scale, depth)
    tl.store(squares + row, total, mask=row < rows)
    if NORMALISE:
        if panel.dtype.element_ty == tl.float64:
            largest = tl.zeros((VECTORS,), tl.float64)
            for k in range(depth):
                largest = tl.maximum(largest, tl.abs(tl.load(panel + k * stride + vector)))
            lost = (total < _LEAST_SQUARES) | (total == float("inf"))
            lost = lost & (largest > 0) & (largest < float("inf"))
            exponent = 2046 - (largest.to(tl.int64, bitcast=True) >> 52)  # that of the factor
            bits = tl.where(exponent > 0, exponent << 52, 1 << 51)  # the least is subnormal
            scale = tl.where(lost, bits.to(tl.float64, bitcast=True), one)
            total = tl.where(lost, _squares(panel, stride, vector, scale, depth), total)
        root = tl.where(total == 0, one, tl.sqrt(total))
        for k in range(depth):
            at = panel + k * stride + vector
            x = tl.load(at).to(tl.float64) * scale / root
            tl.store(at, x.to(panel.dtype.element_ty), mask=row < rows)
