"""Triton kernels that score vectors, and count the scores, with the bits of the C++ core.

They mirror `cpp/kernels/steps.hpp` and `finish_body` of `similarity.cpp`: each pair has one
accumulator, to which its components are added from first to last by operations that round once. No
sum is split, and no tensor unit is used. The kernels are launched with ``enable_fp_fusion=False``,
so that a product and a sum are fused where `tl.fma` says so and nowhere else.

Triton's `sqrt` and `/` are approximations for float32; its `sqrt_rn` and `div_rn` round to nearest.
For float64, `sqrt` and `/` do.

Vectors are packed: component k of vector i of n is at k * n + i, and fits 32 bits, as a panel is
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
_SIZES = ["rows", "columns", "depth", "out_stride", "tasks"]


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
def _finished(
    total, query_squares, entity_squares, bias, query_means, entity_means, query, entity,
    SIMILARITY: tl.constexpr,
):  # fmt: skip
    """Return the scores of pairs, of their sums.

    A product by -1 keeps the sign of zeros, which 0 - x would not.
    """
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


@triton.jit
def _scores(
    queries, entities, query_squares, entity_squares, bias, query_means, entity_means,
    query, entity, query_stride, entity_stride, depth, SIMILARITY: tl.constexpr,
):  # fmt: skip
    """Return the scores of a tile of pairs, whose places in their panels broadcast to it."""
    total = tl.zeros((query.shape[0], entity.shape[1]), queries.dtype.element_ty)
    if SIMILARITY == "complex_l1":
        for k in range(0, depth, 2):
            at_query = queries + k * query_stride + query
            at_entity = entities + k * entity_stride + entity
            re = tl.load(at_query) - tl.load(at_entity)
            im = tl.load(at_query + query_stride) - tl.load(at_entity + entity_stride)
            total = total + _square_root(tl.fma(re, re, im * im))
    else:
        for k in range(depth):
            q = tl.load(queries + k * query_stride + query)
            e = tl.load(entities + k * entity_stride + entity)
            total = _step(total, q, e, SIMILARITY)
    return _finished(
        total, query_squares, entity_squares, bias, query_means, entity_means, query, entity,
        SIMILARITY,
    )  # fmt: skip


@triton.jit(do_not_specialize=_SIZES)
def store_scores(
    queries, entities, query_squares, entity_squares, bias, query_means, entity_means, out,
    rows, columns, depth, out_stride,
    SIMILARITY: tl.constexpr, QUERIES: tl.constexpr, ENTITIES: tl.constexpr, PAIRED: tl.constexpr,
):  # fmt: skip
    """Write the scores of all queries and entities of two panels; a program makes a tile.

    With PAIRED, those of query i and entity i, in one row.
    """
    across = tl.cdiv(columns, ENTITIES)
    row = (tl.program_id(0) // across) * QUERIES + tl.arange(0, QUERIES)[:, None]
    column = (tl.program_id(0) % across) * ENTITIES + tl.arange(0, ENTITIES)[None, :]
    entity = tl.minimum(column, columns - 1)
    if PAIRED:
        query = entity
        query_stride = columns
    else:
        query = tl.minimum(row, rows - 1)
        query_stride = rows
    score = _scores(
        queries, entities, query_squares, entity_squares, bias, query_means, entity_means,
        query, entity, query_stride, columns, depth, SIMILARITY,
    )  # fmt: skip
    place = out + row.to(tl.int64) * out_stride + column
    tl.store(place, score, mask=(row < rows) & (column < columns))


@triton.jit
def _add_counts(score, is_pair, true_scores, counts, begin, end, layers, tasks):
    """Compare the scores of rows with the true scores of their tasks, from begin to end each."""
    nan = tl.sum(((score != score) & is_pair).to(tl.int32), 1).to(tl.int64)
    for layer in range(layers):
        task = begin + layer
        is_task = task < end
        true = tl.load(true_scores + task, mask=is_task, other=float("nan"))[:, None]
        above = tl.sum(((score > true) & is_pair).to(tl.int32), 1).to(tl.int64)
        tied = tl.sum(((score == true) & is_pair).to(tl.int32), 1).to(tl.int64)
        tl.atomic_add(counts + task, above, is_task, sem="relaxed")
        tl.atomic_add(counts + tasks + task, tied, is_task, sem="relaxed")
        tl.atomic_add(counts + 2 * tasks + task, nan, is_task, sem="relaxed")


@triton.jit(do_not_specialize=_SIZES)
def count_scores(
    queries, entities, query_squares, entity_squares, bias, query_means, entity_means,
    first, true_scores, counts, rows, columns, depth, tasks,
    SIMILARITY: tl.constexpr, QUERIES: tl.constexpr, ENTITIES: tl.constexpr,
):  # fmt: skip
    """Compare the scores of two panels with the true scores of tasks, and add up the counts.

    Query i has the tasks from first[i] to first[i + 1]. A program makes a tile.
    """
    across = tl.cdiv(columns, ENTITIES)
    row = (tl.program_id(0) // across) * QUERIES + tl.arange(0, QUERIES)
    column = (tl.program_id(0) % across) * ENTITIES + tl.arange(0, ENTITIES)[None, :]
    query = tl.minimum(row, rows - 1)
    score = _scores(
        queries, entities, query_squares, entity_squares, bias, query_means, entity_means,
        query[:, None], tl.minimum(column, columns - 1), rows, columns, depth, SIMILARITY,
    )  # fmt: skip
    first_task = tl.load(first + query)
    end = tl.where(row < rows, tl.load(first + query + 1), first_task)
    layers = tl.max(end - first_task, 0)
    _add_counts(score, column < columns, true_scores, counts, first_task, end, layers, tasks)


@triton.jit
def _squares(panel, rows, vector, scale, depth):
    total = tl.zeros(vector.shape, tl.float64)
    for k in range(depth):
        x = tl.load(panel + k * rows + vector).to(tl.float64) * scale
        total = total + x * x
    return total


@triton.jit(do_not_specialize=["rows", "depth"])
def sum_squares(panel, squares, rows, depth, NORMALISE: tl.constexpr, VECTORS: tl.constexpr):
    """Sum up the squared components of each vector of a panel in float64, in order.

    With NORMALISE, the vectors are divided by the roots of these sums, in place: once, in float64.
    float64 vectors whose sum has lost digits are first multiplied by a power of two, as
    `normalise_scaled` of the core does.
    """
    row = tl.program_id(0) * VECTORS + tl.arange(0, VECTORS)
    vector = tl.minimum(row, rows - 1)
    one = tl.full((VECTORS,), 1, tl.float64)
    scale = one
    total = _squares(panel, rows, vector, scale, depth)
    tl.store(squares + row, total, mask=row < rows)
    if NORMALISE:
        if panel.dtype.element_ty == tl.float64:
            largest = tl.zeros((VECTORS,), tl.float64)
            for k in range(depth):
                largest = tl.maximum(largest, tl.abs(tl.load(panel + k * rows + vector)))
            lost = (total < _LEAST_SQUARES) | (total == float("inf"))
            lost = lost & (largest > 0) & (largest < float("inf"))
            exponent = 2046 - (largest.to(tl.int64, bitcast=True) >> 52)  # that of the factor
            bits = tl.where(exponent > 0, exponent << 52, 1 << 51)  # the least is subnormal
            scale = tl.where(lost, bits.to(tl.float64, bitcast=True), one)
            total = tl.where(lost, _squares(panel, rows, vector, scale, depth), total)
        root = tl.where(total == 0, one, tl.sqrt(total))
        for k in range(depth):
            at = panel + k * rows + vector
            x = tl.load(at).to(tl.float64) * scale / root
            tl.store(at, x.to(panel.dtype.element_ty), mask=row < rows)
