"""Triton kernels that score vectors, and count the scores, with the bits of the C++ core.

They mirror `cpp/kernels/steps.hpp` and `finish_body` of `similarity.cpp`: each pair has one
accumulator, to which its components are added from first to last by operations that round once. No
sum is split, and no tensor unit is used. The kernels are launched with ``enable_fp_fusion=False``,
so that a product and a sum are fused where `tl.fma` says so and nowhere else.

Triton's `sqrt` and `/` are approximations for float32; its `sqrt_rn` and `div_rn` round to nearest.
For float64, `sqrt` and `/` do.

Vectors are packed: component k of vector i of n is at k * n + i, and fits 32 bits, as a panel is
small. A lane beyond the last vector takes the last one, and its result is not stored.

The second half decides by products of half precision on which side of a threshold scores are. Its
proof is in `docs/contributing/device-bounds.md`: whoever changes a term here changes it there. A
vector is a step, which all vectors of its side have, times levels, which are float16, and a
residue. Pairs that the product of the levels leaves open have a bit in a word of 32
candidates, and are scored by the chain that defines their score. Panels of levels and of their
components have a vector in each row, padded with zeros; a zero changes no chain but for the sign of
a zero, which compares equal.
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

# Of bounds:
STEP = 64  # components that are multiplied at a time, and a multiple of which depths are padded to
AT_ONCE = tl.constexpr(8)  # components of a pair that are read at a time
# Levels beyond these are not used: vectors with a greater one have all their pairs open, and what
# is smaller, and would be subnormal, is left to the residue.
_MOST_LEVEL = tl.constexpr(2.0**15)
_LEAST_LEVEL = tl.constexpr(2.0**-14)
# What norms and errors are made larger by, so that their own rounding does not count.
UP = tl.constexpr(1 + 2.0**-10)


@triton.jit
def square_root(x):
    return tl.sqrt(x) if x.dtype == tl.float64 else tl.sqrt_rn(x)


@triton.jit
def inverse_of_one_more(x):
    one = tl.full(x.shape, 1, x.dtype)
    return one / (one + x) if x.dtype == tl.float64 else tl.div_rn(one, one + x)


@triton.jit
def next_total(total, q, e, SIMILARITY: tl.constexpr):
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
        total = square_root(total) * -1
    elif SIMILARITY == "inverse_l1":
        total = inverse_of_one_more(total)
    elif SIMILARITY == "inverse_l2":
        total = inverse_of_one_more(square_root(total))
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
            total = total + square_root(tl.fma(re, re, im * im))
    else:
        for k in range(depth):
            q = tl.load(queries + k * query_stride + query)
            e = tl.load(entities + k * entity_stride + entity)
            total = next_total(total, q, e, SIMILARITY)
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


# -- bounds ----------------------------------------------------------------------------------------


@triton.jit
def _inverse(power):
    """Return one over a power of two, which a division may only be near."""
    return ((254 << 23) - power.to(tl.int32, bitcast=True)).to(tl.float32, bitcast=True)


@triton.jit(do_not_specialize=["size", "depth"])
def make_levels(
    panel, step, components, levels, reaches, squares, size, depth, padded, share, ratio,
    IS_QUERY: tl.constexpr, STEP: tl.constexpr, VECTORS: tl.constexpr,
):  # fmt: skip
    """Turn a packed panel by rows, and find the levels, reach and squares of its vectors.

    The product of the reaches of two vectors is how far off the product of their levels is at most,
    in steps of both; it is NaN if there is no bound.
    """
    row = tl.program_id(0) * VECTORS + tl.arange(0, VECTORS)
    vector = tl.minimum(row, size - 1)
    is_vector = (row < size)[:, None]
    unit = tl.load(step)
    inverse = _inverse(unit)
    length = tl.zeros((VECTORS,), tl.float64)
    left = length
    largest = tl.zeros((VECTORS,), tl.float32)
    for first in range(0, padded, STEP):
        k = first + tl.arange(0, STEP)[None, :]
        x = tl.load(panel + k * size + vector[:, None], mask=k < depth, other=0.0)
        place = vector[:, None] * padded + k
        tl.store(components + place, x, mask=is_vector)
        scaled = x * inverse  # exact, or too small to be a level
        magnitude = tl.abs(scaled)
        is_level = (magnitude >= _LEAST_LEVEL) & (magnitude <= _MOST_LEVEL)
        level = tl.where(is_level, scaled, 0.0).to(tl.float16)
        tl.store(levels + place, level, mask=is_vector)
        largest = tl.maximum(largest, tl.max(magnitude, 1))
        wide = scaled.to(tl.float64)
        residue = wide - level.to(tl.float64)
        length += tl.sum(wide * wide, 1)
        left += tl.sum(residue * residue, 1)
    norm = tl.sqrt(length)
    residue = tl.sqrt(left)
    # A maximum may leave out a NaN, which the norm has.
    is_bounded = (largest <= _MOST_LEVEL) & (norm >= _LEAST_LEVEL)
    if IS_QUERY:
        reach = norm * ratio + residue
    else:
        norm += residue
        reach = tl.maximum(norm, (residue + norm * share) / ratio)
    reach = tl.where(is_bounded, reach * UP, float("nan"))
    unit = unit.to(tl.float64)
    tl.store(reaches + vector, reach.to(tl.float32), mask=row < size)
    tl.store(squares + vector, (length * unit * unit).to(tl.float32), mask=row < size)


@triton.jit
def _products(
    query_levels, entity_levels, query, entity, padded,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, STEP: tl.constexpr,
):  # fmt: skip
    """Return sums of products of levels: float32, of a tensor unit if there is one."""
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for first in range(0, padded, STEP):
        k = first + tl.arange(0, STEP)
        left = tl.load(query_levels + query[:, None] * padded + k[None, :])
        right = tl.load(entity_levels + entity[None, :] * padded + k[:, None])
        total = tl.dot(left, right, total)
    return total


@triton.jit(do_not_specialize=["rows", "columns"])
def store_products(
    query_levels, entity_levels, out, rows, columns, padded,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, STEP: tl.constexpr,
):  # fmt: skip
    """Write what `bound_scores` takes for the products of levels, so that it can be checked."""
    down = tl.cdiv(rows, ROWS)
    row = (tl.program_id(0) % down) * ROWS + tl.arange(0, ROWS)
    column = (tl.program_id(0) // down) * COLUMNS + tl.arange(0, COLUMNS)
    total = _products(
        query_levels, entity_levels, tl.minimum(row, rows - 1), tl.minimum(column, columns - 1),
        padded, ROWS, COLUMNS, STEP,
    )  # fmt: skip
    place = out + row[:, None].to(tl.int64) * columns + column[None, :]
    tl.store(place, total, mask=(row < rows)[:, None] & (column < columns)[None, :])


@triton.jit
def _sides(value, error, thresholds, slacks, task, is_task, inverse):
    """Return which values are certainly above a task's threshold, and which are not decided.

    No comparison with a NaN holds, so that it is open.
    """
    threshold = tl.load(thresholds + task, mask=is_task, other=float("inf")) * inverse
    if slacks is not None:
        error += (tl.load(slacks + task, mask=is_task, other=0.0) * inverse)[:, None]
    difference = value - threshold[:, None]
    is_above = difference > error
    return is_above, ~(is_above | (difference < -error))


@triton.jit(do_not_specialize=["rows", "columns", "across"])
def bound_scores(
    query_levels, entity_levels, query_step, entity_step, query_reaches, entity_reaches,
    query_offsets, entity_offsets, first, thresholds, slacks, counts, words,
    rows, columns, padded, across, slope, share_of_offsets,
    HAS_LAYERS: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, STEP: tl.constexpr,
):  # fmt: skip
    """Count the candidates that are certainly above, and write a bit for each that is open.

    A row has the tasks from first[row] to first[row + 1]: one, or with HAS_LAYERS any number. Then
    a candidate that is open for one of them is counted for none. Rows and columns beyond the last
    have NaN for a reach, so that they are open, and their bits are taken out.
    """
    down = tl.cdiv(rows, ROWS)
    left = tl.program_id(0) // down
    row = (tl.program_id(0) % down) * ROWS + tl.arange(0, ROWS)
    column = left * COLUMNS + tl.arange(0, COLUMNS)
    query = tl.minimum(row, rows - 1)
    entity = tl.minimum(column, columns - 1)
    value = _products(
        query_levels, entity_levels, query, entity, padded, ROWS, COLUMNS, STEP
    )  # fmt: skip
    inverse = _inverse(tl.load(query_step) * tl.load(entity_step) * slope.to(tl.float32))
    is_row = row < rows
    reach = tl.load(entity_reaches + column, mask=column < columns, other=float("nan"))
    error = tl.load(query_reaches + query)[:, None] * reach[None, :]
    if entity_offsets is not None:
        offset = (tl.load(entity_offsets + entity) * inverse)[None, :]
        size = tl.abs(offset)
        if query_offsets is not None:
            of_query = (tl.load(query_offsets + query) * inverse)[:, None]
            offset = offset + of_query
            size = size + tl.abs(of_query)
        value += offset
        error += size * share_of_offsets
    task = tl.load(first + query)
    if HAS_LAYERS:
        end = tl.where(is_row, tl.load(first + query + 1), task)
        layers = tl.max(end - task, 0)
        is_open = tl.zeros((ROWS, COLUMNS), tl.int1)
        for layer in range(layers):
            there = task + layer < end
            _, more = _sides(value, error, thresholds, slacks, task + layer, there, inverse)
            is_open = is_open | more
        for layer in range(layers):
            there = task + layer < end
            is_above, _ = _sides(value, error, thresholds, slacks, task + layer, there, inverse)
            above = tl.sum((is_above & ~is_open).to(tl.int32), 1).to(tl.int64)
            tl.atomic_add(counts + task + layer, above, there, sem="relaxed")
    else:
        is_above, is_open = _sides(value, error, thresholds, slacks, task, is_row, inverse)
        above = tl.sum(is_above.to(tl.int32), 1).to(tl.int64)
        tl.atomic_add(counts + task, above, is_row, sem="relaxed")
    bits = tl.reshape(is_open.to(tl.int32), (ROWS, COLUMNS // 32, 32))
    bits = tl.sum(bits << tl.arange(0, 32)[None, None, :], 2)
    word = left * (COLUMNS // 32) + tl.arange(0, COLUMNS // 32)
    lanes = tl.minimum(tl.maximum(columns - word * 32, 0), 32).to(tl.int64)
    real = ((tl.full(lanes.shape, 1, tl.int64) << lanes) - 1).to(tl.int32)
    place = words + row[:, None].to(tl.int64) * across + word[None, :]
    tl.store(place, bits & real[None, :], mask=is_row[:, None])


@triton.jit(do_not_specialize=["rows", "depth", "across", "tasks"])
def score_open_pairs(
    queries, entities, bias, query_means, entity_means, first, true_scores, counts, words,
    rows, depth, padded, across, tasks,
    SIMILARITY: tl.constexpr, ROWS: tl.constexpr, WORDS: tl.constexpr,
):  # fmt: skip
    """Score the open pairs of some rows and words, and compare them with the rows' true scores.

    The lowest bit of every word is taken out, until there is none.
    """
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    is_row = row < rows
    begin = tl.load(first + row, mask=is_row, other=0)
    end = tl.load(first + row + 1, mask=is_row, other=0)
    layers = tl.max(end - begin, 0)
    at_word = (tl.program_id(1) * WORDS + tl.arange(0, WORDS))[None, :]
    query = tl.minimum(row, rows - 1)[:, None]
    is_word = is_row[:, None] & (at_word < across)
    word = tl.load(words + query.to(tl.int64) * across + at_word, mask=is_word, other=0)
    while tl.max(tl.max((word != 0).to(tl.int32), 1), 0) > 0:
        is_pair = word != 0
        lowest = (word & (0 - word)).to(tl.uint32, bitcast=True)
        bit = (lowest.to(tl.float32).to(tl.int32, bitcast=True) >> 23) - 127
        entity = tl.where(is_pair, at_word * 32 + bit, 0)
        total = tl.zeros((ROWS, WORDS), tl.float32)
        for start in range(0, depth, AT_ONCE):  # and zeros, up to a multiple of it
            for k in tl.static_range(AT_ONCE):
                q = tl.load(queries + query * padded + (start + k))
                e = tl.load(entities + entity * padded + (start + k), mask=is_pair, other=0.0)
                # as in `next_total`; the interpreter takes long to call functions
                if SIMILARITY == "dot" or SIMILARITY == "cosine":
                    q, e = tl.broadcast(q, e)
                    total = tl.fma(q, e, total)
                else:
                    difference = q - e
                    total = tl.fma(difference, difference, total)
        score = _finished(
            total, None, None, bias, query_means, entity_means, query, entity, SIMILARITY
        )  # fmt: skip
        _add_counts(score, is_pair, true_scores, counts, begin, end, layers, tasks)
        word = word & (word - 1)
