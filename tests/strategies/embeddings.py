"""Vectors drawn by hypothesis, and calls on them compared with the oracle."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes
import numpy as np
from hypothesis import strategies as st

import truerank as tr
from oracles.counting import Refused
from oracles.embeddings import (
    EXACT,
    SIMILARITIES,
    kind_of,
    same_bits,
    score,
    scored_by,
    sums_of_maxima,
    top_k,
    with_bias,
    with_csls,
)
from strategies.count_problems import tasks as count_tasks
from support import problems
from support.outcomes import Problem, are_refused, attempt, defined
from support.problems import (
    DISGUISES,
    FLOATS,
    LAYOUTS,
    Array,
    as_dtype,
    assert_same,
    in_blocks,
    pool,
    pool_without_nan,
)
from truerank.alignment import CSLS

# The calls on vectors, of seven queries.
CALLS_OF_VECTORS: list[Callable[..., object]] = [
    lambda **given: tr.rank_embeddings(**given, targets=[0] * 7),
    lambda **given: tr.score_embeddings(**given),
    lambda **given: tr.topk_embeddings(**given, k=2),
]

KINDS = (*FLOATS, *DISGUISES)
# Around the widths and heights of tiles.
ENTITIES = (1, 2, 5, 6, 7, 15, 16, 17, 31, 33, 63, 64, 65, 127, 129)
VALUES = ("few", "tenths", "normal", "scales", "specials")
# Queries, entities and length, each beyond what is computed at a time.
LARGE = ((200, 70, 3), (7, 5000, 3), (3, 70, 4500))
# Of all magnitudes: in a vector, or from vector to vector, also near the ends of the range.
EXTREMES = ("all scales", "scaled vectors")


@dataclass
class Vectors:
    """The arguments of a call on embeddings, except the tasks."""

    queries: Array
    entities: Array
    similarity: str = "dot"
    bias: Array | None = None
    dtype: str | None = None
    csls: CSLS | None = None
    oracle: Callable[..., Array] = score

    @property
    def keywords(self) -> dict[str, Any]:
        keywords = {name: getattr(self, name) for name in ("bias", "dtype", "csls")}
        return keywords | scored_by(self.similarity)

    @property
    def height(self) -> int:
        return len(np.atleast_2d(self.queries))

    @property
    def width(self) -> int:
        return len(self.entities)

    @property
    def is_single(self) -> bool:
        return self.queries.ndim == 1

    def scores(self) -> Array:
        """Return the package's scores of all pairs, after a comparison with the oracle."""
        matrix = np.atleast_2d(self.queries)
        got = tr.score_embeddings(self.queries, self.entities, **self.keywords)
        plain = {name: value for name, value in self.keywords.items() if name != "layout"}
        if self.similarity in EXACT:
            expected = self.oracle(matrix, self.entities, **plain)
            assert_scores(got, expected, self.similarity)
            return got
        # A bias or a mean may cancel with the score, which magnifies relative errors.
        keywords = {**self.keywords, "bias": None, "csls": None}
        alone = tr.score_embeddings(self.queries, self.entities, **keywords)
        plain |= {"bias": None, "csls": None}
        assert_scores(alone, self.oracle(matrix, self.entities, **plain), self.similarity)
        assert same_bits(got, with_csls(with_bias(alone, self.bias, self.dtype), self.csls))
        return got


@dataclass
class TokenLists(Vectors):
    """Those of a call on lists of vectors, queries and entities, which are (vectors, indptr)."""

    similarity: str = "maxsim"

    @property
    def height(self) -> int:
        return len(self.queries[1]) - 1

    @property
    def width(self) -> int:
        return len(self.entities[1]) - 1

    @property
    def is_single(self) -> bool:
        return False

    def scores(self) -> Array:
        """Return the package's scores of all pairs, after a comparison with the oracle."""
        got = tr.score_embeddings(self.queries, self.entities, **self.keywords)
        pair: Any = (self.queries, self.entities)
        expected = sums_of_maxima(*pair, self.oracle, dtype=self.dtype)
        assert got.shape == (self.height, self.width)
        assert same_bits(got, expected), (got, expected)
        return got


def assert_scores(got: Array, expected: Array, similarity: str) -> None:
    assert got.dtype == expected.dtype
    assert got.shape == expected.shape
    if similarity in EXACT:
        assert same_bits(got, expected), (got, expected)
        return
    # Rounded once to float32, a score is nearly always exact; in float64 every operation errs.
    most = {"float32": 1, "float64": 12}[got.dtype.name]
    with np.errstate(invalid="ignore"):
        near = np.abs(got - expected) <= most * np.spacing(np.abs(expected))
    assert (near | (got == expected) | (np.isnan(got) & np.isnan(expected))).all(), (got, expected)


def numbers(rng: np.random.Generator, values: str, kind: str, shape: Any, *, nan: bool) -> Array:
    """Draw numbers of a kind: few or many distinct ones, near each other or not."""
    carrier = pool(kind).dtype
    if values == "specials":
        some = pool(kind) if nan else pool_without_nan(kind)
        picked: Array = rng.choice(some, 4)[rng.integers(0, 4, shape)]
        return picked
    name = "bfloat16" if kind in DISGUISES else kind
    info = ml_dtypes.finfo(as_dtype(name))
    least = int(info.minexp) - int(info.nmant)
    most = int(info.maxexp)
    ends = np.array([least, least // 2, least // 4, 0, most // 4, most // 2, most - 1])
    heights = shape
    if isinstance(shape, tuple):
        heights = (shape[0], 1)
    with np.errstate(over="ignore"):
        made = {
            "few": lambda: rng.integers(-2, 3, shape).astype(float),
            "tenths": lambda: rng.integers(-9, 10, shape) / 10,
            "normal": lambda: rng.standard_normal(shape),
            "scales": lambda: scaled(rng, rng.integers(-14, 14, shape)),
            "all scales": lambda: scaled(rng, rng.integers(least, most, shape)),
            "scaled vectors": lambda: scaled(rng, rng.choice(ends, heights), shape),
        }[values]()
        return made.astype(as_dtype(name)).view(carrier)


def scaled(rng: np.random.Generator, exponents: Array, shape: Any = None) -> Array:
    """Draw normal numbers times powers of two."""
    if shape is None:
        shape = exponents.shape
    return np.ldexp(rng.standard_normal(shape), exponents)


def tenths(kind: str, height: int, seed: int = 1, d: int = 10) -> Array:
    return numbers(np.random.default_rng(seed), "tenths", kind, (height, d), nan=False)


def vectors_of(*kinds: str, **keywords: Any) -> Vectors:
    """Return seven queries and nineteen entities, of the same kind or of two kinds."""
    arrays = (tenths(kinds[0], 7), tenths(kinds[-1], 19, 2))
    return Vectors(*arrays, dtype=dtype_of(kinds), **keywords)


def dtype_of(kinds: Iterable[str]) -> str | None:
    """Return the keyword `dtype` for vectors of these kinds, some of which may be raw bits."""
    if any(kind in DISGUISES for kind in kinds):
        return "bfloat16"
    return None


def in_ball(vectors: Array, kind: str) -> Array:
    """Scale vectors so that they lie inside the unit ball or a little outside."""
    if kind in DISGUISES or vectors.size == 0:
        return vectors
    with np.errstate(all="ignore"):
        wide = vectors.astype(np.float64)
        longest = np.sqrt((wide * wide).sum(axis=1).max())
        if not longest > 0:
            return vectors
        return (wide / (longest * 1.02)).astype(vectors.dtype)


@st.composite
def kinds_of_sides(draw: st.DrawFn) -> list[str]:
    """Draw the kinds of queries and entities; float16 is refused beside the name of bfloat16."""
    kinds = [draw(st.sampled_from(KINDS)) for _ in range(2)]
    if dtype_of(kinds) is None:
        return kinds
    return ["bfloat16" if kind == "float16" else kind for kind in kinds]


@st.composite
def pairs_of_vectors(
    draw: st.DrawFn,
    rng: np.random.Generator,
    values: str,
    kinds: list[str],
    sizes: tuple[int, int, int],
    *,
    nan: bool,
) -> list[Array]:
    """Draw queries and entities, of which some are equal."""
    *heights, d = sizes
    made = []
    for kind, height in zip(kinds, heights, strict=True):
        distinct = numbers(rng, values, kind, (max(1, height), d), nan=nan)
        made.append(distinct[rng.integers(0, draw(st.integers(1, len(distinct))), height)])
    if kinds[0] == kinds[1] and min(heights) and draw(st.booleans()):
        made[1][rng.integers(heights[1])] = made[0][rng.integers(heights[0])]
    return made


@st.composite
def vectors(
    draw: st.DrawFn,
    *,
    nan: bool,
    similarities: tuple[str, ...] = SIMILARITIES,
    oracle: Callable[..., Array] = score,
    large: bool = False,
) -> Vectors:
    """Draw queries and entities of any dtype, layout and size; entities repeat or equal queries.

    An oracle that is fast for all numbers also gets numbers of all magnitudes; with `large`, sizes
    beyond those that are computed at a time.
    """
    similarity = draw(st.sampled_from(similarities))
    kinds = draw(kinds_of_sides())
    is_fast = oracle is not score
    choices = VALUES
    if is_fast:
        choices += EXTREMES
    values = draw(st.sampled_from(choices))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    q = draw(st.integers(0, 13))
    n = draw(st.one_of(st.sampled_from(ENTITIES), st.integers(0, 40)))
    # That oracle is slow for doubles of all magnitudes and for distances in the ball.
    slow = not is_fast and "float64" in kinds and values in ("scales", "specials")
    most = 40 if q * n < 400 else 12
    d = draw(st.integers(1, 4 if slow else most))
    if large:
        q, n, d = (draw(st.integers(1, length)) for length in draw(st.sampled_from(LARGE)))
    if similarity == "complex_l1":
        d = 2 * d
    if slow or (not is_fast and similarity == "poincare"):
        q = min(q, 4)
        n = min(n, 33)
    made = draw(pairs_of_vectors(rng, values, kinds, (q, n, d), nan=nan))
    if similarity == "poincare" and values != "specials":
        made = [in_ball(x, kind) for x, kind in zip(made, kinds, strict=True)]
    layouts = [LAYOUTS[draw(st.sampled_from(list(LAYOUTS)))] for _ in made]
    queries, entities = (place(x) for place, x in zip(layouts, made, strict=True))
    bias = None
    if draw(st.booleans()):
        kinds_of_bias = [kind_of(queries, entities).__name__, "bfloat16"]
        if dtype_of(kinds) is None:
            kinds_of_bias.append("float16")
        kind = draw(st.sampled_from(kinds_of_bias))
        bias = numbers(rng, draw(st.sampled_from(choices)), kind, n, nan=nan)
        bias = draw(st.sampled_from([bias, np.repeat(bias, 2)[::-2][::-1]]))
    if len(queries) and draw(st.integers(0, 9)) == 0:
        queries = queries[0]
    csls = None
    if draw(st.integers(0, 3)) == 0:
        values = draw(st.sampled_from(choices))
        kind = draw(st.sampled_from(["float32", "float64"]))
        sizes = (len(np.atleast_2d(queries)), n)
        csls = CSLS(*(numbers(rng, values, kind, size, nan=nan) for size in sizes), 3)
    return Vectors(queries, entities, similarity, bias, dtype_of(kinds), csls, oracle)


@st.composite
def starts(draw: st.DrawFn, lists: int, longest: int) -> Array:
    """Draw where lists of unlike lengths begin, and where the last one ends."""
    lengths = draw(st.lists(st.integers(1, longest), min_size=lists, max_size=lists))
    if lists and draw(st.booleans()):
        lengths[draw(st.integers(0, lists - 1))] = 1
    return np.cumsum([0, *lengths])


@st.composite
def token_lists(draw: st.DrawFn, *, nan: bool, oracle: Callable[..., Array] = score) -> TokenLists:
    """Draw lists of vectors of any dtype and layout; tokens repeat, within lists and among them.

    With an oracle that is fast, lists are longer than what is computed at a time, and there are
    more of them.
    """
    is_fast = oracle is not score
    kinds = draw(kinds_of_sides())
    values = draw(st.sampled_from(VALUES))
    slow = not is_fast and "float64" in kinds and values in ("scales", "specials")
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    of_queries = draw(starts(draw(st.integers(0, 7)), 9 if is_fast else 4))
    n = draw(st.one_of(st.sampled_from([1, 7, 16, 17]), st.integers(0, 20)))
    of_entities = draw(starts(n, draw(st.sampled_from([2, 40, 300] if is_fast else [1, 3, 7]))))
    d = draw(st.integers(1, 3 if slow else 9))
    sizes = int(of_queries[-1]), int(of_entities[-1]), d
    made = draw(pairs_of_vectors(rng, values, kinds, sizes, nan=nan))
    bits = made[1].view(f"u{made[1].dtype.itemsize}")
    bits[bits << 1 == 0] = 3  # Entities of zeros, also negative ones, are refused.
    layouts = [LAYOUTS[draw(st.sampled_from(list(LAYOUTS)))] for _ in made]
    queries, entities = (place(x) for place, x in zip(layouts, made, strict=True))
    given: Any = (queries, of_queries), (entities, of_entities)
    return TokenLists(*given, dtype=dtype_of(kinds), oracle=oracle)


def listener(_: tr.Progress) -> None:
    """Hear how far a call has come, which changes none of its results."""


@st.composite
def tasks(draw: st.DrawFn, given: Vectors, *, errors: bool = False) -> Problem:
    """Draw targets, rows and selections for vectors; with `errors`, some are out of range.

    The scores are not those of the vectors, but have their shape.
    """
    shape = given.height, max(1, given.width)
    targets, keywords = draw(count_tasks(*shape, single=given.is_single, errors=errors))
    keywords["block"] = draw(st.sampled_from([None, 1, 2, 5, 6, 7, 100]))
    keywords["progress"] = draw(st.sampled_from([None, listener]))
    return Problem(np.zeros(shape), targets, keywords)


def assert_refused(error: Exception, refused: Refused) -> None:
    """Check that the error of the package has the reason that the definition gives."""
    problems.assert_refused(error, refused, "^scores: .* at row {}, column {} is NaN")


def check(given: Vectors, problem: Problem, *, audit: bool = False) -> None:
    """Check that the package and the definition give the same integers or the same refusal."""
    scores = given.scores()
    if given.is_single:
        scores = scores[0]
    expected = defined(replace(problem, scores=scores))
    targets, keywords = problem.call()
    keywords |= given.keywords | {"audit": audit}
    got = attempt(in_blocks(tr.rank_embeddings), given.queries, given.entities, targets, **keywords)
    if are_refused(got, expected):
        assert_refused(got, expected)
        return
    assert_same(got, expected, audit=audit)
    assert got.protocol is not None
    name = given.similarity
    if given.csls is not None:
        name += f", csls {given.csls.k}"
    assert (got.protocol.similarity, got.protocol.dtype) == (name, scores.dtype.name)


def with_rows(given: Vectors, problem: Problem) -> Problem:
    """Give each task of a single query its row, since a call without targets cannot count them."""
    if "rows" in problem.keywords or given.height != 1:
        return problem
    rows = [0] * len(np.atleast_1d(problem.targets))
    return replace(problem, keywords=problem.keywords | {"rows": rows})


def check_top_k(given: Vectors, k: int, problem: Problem) -> None:
    """Check that ids and scores are those of sorting, or that the refusal is the same."""
    problem = with_rows(given, problem)
    expected = attempt(top_k, given.scores(), k, **problem.plain)
    _, keywords = problem.call()
    keywords |= given.keywords
    got = attempt(in_blocks(tr.topk_embeddings), given.queries, given.entities, k, **keywords)
    if are_refused(got, expected):
        assert_refused(got, expected)
        return
    ids, scores = expected
    assert got.ids.dtype == np.int64
    np.testing.assert_array_equal(got.ids, ids, strict=True)
    assert same_bits(got.scores, scores)


def check_pairs(given: Vectors, rows: list[int], targets: list[int], threads: int | None) -> None:
    """Check that the scores of pairs, and of chosen rows, are entries of the matrix."""
    scores = given.scores()

    def ask(*targets: object, rows: object = None) -> Array:
        vectors = (given.queries, given.entities)
        keywords = {"rows": rows, "threads": threads, **given.keywords}
        found: Array = attempt(tr.score_embeddings, *vectors, *targets, **keywords)
        return found

    chosen = np.array(rows, np.int64)
    assert same_bits(ask(rows=chosen), scores[chosen])
    if given.width:
        assert same_bits(ask(targets, rows=chosen), scores[chosen, targets])
        assert same_bits(ask(0, rows=chosen), scores[chosen, 0])
        assert same_bits(ask([0] * given.height), scores[:, 0])
