"""Counts decided by certified bounds are those of the scores, on ties and near ties above all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

import truerank as tr
from oracles.embeddings import scored_by
from strategies.near_ties import (
    COVERED,
    FAMILIES,
    LARGEST_ADDEND,
    LINEAR,
    NearTies,
    all_near_ties,
    check_grid,
    check_levels,
    choices,
    compare_levels,
    expected_counts,
    levels,
    near_ties,
    problems,
)
from support.environment import Run
from support.examples import examples
from support.problems import Array, in_blocks
from truerank import _core
from truerank.alignment import csls_means


def call_options(made: NearTies) -> dict[str, Any]:
    return scored_by(made.similarity) | {"block": made.block, "threads": made.threads}


def check_arrays(made: NearTies, call: Callable[[], tuple[Array, ...]]) -> None:
    """Compare what a call returns, in which a NaN stands for a NaN."""

    def arrays() -> list[tuple[Array, ...]]:
        return [tuple(np.nan_to_num(array, nan=0.5) for array in call())]

    with levels("off"):
        expected = arrays()
    compare_levels(made, None, expected, arrays)


def check_lists(made: NearTies, k: int) -> None:
    """Compare the top k of every query."""
    options = {**call_options(made), "candidates": made.allowed, "nan": "worst", "bias": made.bias}
    call = partial(in_blocks(tr.topk_embeddings), made.queries, made.entities, k, **options)
    check_arrays(replace(made, csls=None), lambda: (call().ids, call().scores))


def check_means(made: NearTies, k: int) -> None:
    """Compare the means of CSLS."""
    options = {**call_options(made), "candidates": (None, made.allowed), "nan": "omit"}
    if made.allowed is None or len(made.allowed):
        call = partial(in_blocks(csls_means), made.queries, made.entities, k, **options)
        check_arrays(replace(made, csls=None, bias=None), lambda: call()[:2])


CHECKS: dict[str, Callable[[NearTies, int], object]] = {
    "counts": lambda made, _: check_levels(made),
    "both directions": lambda made, _: check_grid(made),
    "means of CSLS": check_means,
    "lists of the greatest": check_lists,
}


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
@given(made=problems(), k=st.integers(1, 5))
@examples(100)
def test_bounds_change_nothing(
    check: Callable[[NearTies, int], object], made: NearTies, k: int
) -> None:
    event(made.similarity)
    check(made, k)


@pytest.mark.sweep
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("similarity", COVERED)
def test_every_family(similarity: str, family: str) -> None:
    """Short vectors have tight bounds, long ones have sums near the limits.

    Of lists there are more candidates than a panel and a tile hold, so that lists are full before
    the rest comes.
    """
    for made in all_near_ties(family, similarity, ((3, 33, 1), (2, 65, 2), (7, 12, 70))):
        check_levels(made)
    for made in all_near_ties(family, similarity, ((3, 33, 1), (7, 12, 70))):
        check_grid(made)
    for seed, kind in enumerate(("float32", "float64")):
        made = near_ties(seed, family, kind, similarity, (29, 140, 16), ("", "bias")[seed])
        made.block = 64
        check_means(made, 3)
        check_lists(made, 3)


# --- faults of the first bounds

# Of many entities that are alike in turns of 2, 4 or 5, these are targets: each kind, anywhere.
STEP = 13


def sums_at_the_limit_of_words() -> NearTies:
    """Sums of products near 2^30 and a bias come to more than that."""
    rng = np.random.default_rng(1)
    queries = rng.choice([-1, 1], (24, 8)).astype(np.float32)
    entities = np.concatenate([queries, -queries])
    return NearTies(queries, entities, "dot", (rng.random(48) * 1.9).astype(np.float32))


def cosine_of_extreme_doubles(exponent: int) -> NearTies:
    """The squares of these vectors are zero or infinite, but their directions are not."""
    vectors = np.ldexp(np.random.default_rng(2).standard_normal((40, 16)), exponent)
    return NearTies(vectors[:9], vectors[9:], "cosine")


def a_void_bias_hides_no_other() -> NearTies:
    """The largest bias tells how much a score is rounded; a NaN after it is not larger."""
    rng = np.random.default_rng(3)
    entities = rng.standard_normal((200, 16)).astype(np.float32) * 1e6
    queries = rng.standard_normal((9, 16)).astype(np.float32) * 1e6
    bias = -tr.score_embeddings(queries[:1], entities, similarity="l1")[0]
    bias[-2:] = np.nan, 0
    return NearTies(queries, entities, "l1", bias)


def long_chain_that_rounds_one_way(similarity: str, kind: str) -> NearTies:
    """Each late addition loses nearly half a unit, so that scores are far from exact values."""
    term = 1 + 0.49 * 2048 * float(np.finfo(kind).eps)  # sums come to 4096
    entities = np.full((10, 4096), term)
    if "l1" not in similarity and similarity != "dot":
        entities **= 0.5
    if similarity in ("dot", "cosine"):
        entities[5:] *= -1  # which levels represent exactly, as they do 0
        queries = np.ones((2, 4096))
    else:
        entities[5:] = 0
        queries = np.zeros((2, 4096))
    queries[1, 0] += 1
    return NearTies(queries.astype(kind), entities.astype(kind), similarity)


def bytes_with_a_bias(kind: str, similarity: str) -> NearTies:
    """Sums of bytes are exact, but have no bias in them, which decides here."""
    rng = np.random.default_rng(0)
    queries = rng.integers(-30, 31, (2, 8)).astype(kind)
    entities = rng.integers(-30, 31, (64, 8)).astype(kind)
    return NearTies(queries, entities, similarity, 1000.0 * np.arange(64))


def long_bytes_without_a_query(kind: str) -> NearTies:
    """Squares of hundreds of millions, which a float rounds, differ by a few; a bias is added."""
    zero = 128 * (kind == "uint8")
    entities = np.full((192, 20_000), zero + 127, kind)
    entities[:, :5] = zero
    for i in range(192):  # 16^2 more, and 127^2 - 126^2 less
        entities[i, : i % 5] += 16
        entities[i, 5 : 5 + i % 5] -= 1
    queries = np.full((2, 20_000), zero, kind)
    return NearTies(queries, entities, "sql2", np.zeros(192), step=STEP)


def division_leaves_much_over(query: float, entity: float, added: str) -> NearTies:
    """Sums of words by tiles are divided by 2^13, and nearly twice that is left over.

    Nothing else is rounded: steps are 1, and of tiny vectors 2^-40, the least one. A tie whose
    error were much smaller would be taken for less. The second components make the steps. (Of two
    tiny vectors, nearly once 2^13 is left over.)
    """
    entities = np.zeros((192, 20_000))
    entities[:, 0] = entity
    if entity > 1:
        entities[:, 1] = 16383
    entities[::2] *= -1
    queries = np.zeros((2, 20_000))
    queries[:, 0] = query, -query
    return NearTies(queries, entities, "dot", np.zeros(192) if added else None, step=STEP)


def sums_at_the_limit_of_divided_words(length: int) -> NearTies:
    """Products of the greatest levels come to 2^30, once they are divided."""
    queries = np.full((2, length), 16383.0)
    entities = np.full((192, length), 16383.0)
    entities[::2] *= -1
    entities[2::4, :2] = -16382
    return NearTies(queries, entities, "dot", step=STEP)


FAULTS: list[tuple[Any, ...]] = [(sums_at_the_limit_of_words,), (a_void_bias_hides_no_other,)]
FAULTS += [(cosine_of_extreme_doubles, exponent) for exponent in (-1070, -600, 600, 1020)]
FAULTS += [(bytes_with_a_bias, *made) for made in product(("int8", "uint8"), ("dot", "sql2"))]
FAULTS += [(long_bytes_without_a_query, kind) for kind in ("int8", "uint8")]
for added in ("", "bias"):
    FAULTS += [(division_leaves_much_over, 16383.0, 288, added)]
    FAULTS += [(division_leaves_much_over, 255 * 2.0**-40, 288, added)]
    FAULTS += [(division_leaves_much_over, 8191 * 2.0**-40, 2.0**-40, added)]
FAULTS += [(sums_at_the_limit_of_divided_words, length) for length in (4, 512, 4096)]
for name in COVERED[:-1]:
    FAULTS += [(long_chain_that_rounds_one_way, name, kind) for kind in ("float32", "float64")]


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_of_the_first_bounds(fault: tuple[Any, ...]) -> None:
    make, *arguments = fault
    assert check_levels(make(*arguments))[1] > 0


def test_zero_vectors_are_summed_up_anew_for_other_queries() -> None:
    """Their sums are kept for the queries of a cell, and here are several cells."""
    rng = np.random.default_rng(0)
    queries, entities = (rng.standard_normal((n, 64)).astype(np.float32) for n in (9000, 1100))
    entities[[5, 400, 1099]] = 0
    for name in choices():
        with levels(name):
            ranks = tr.rank_embeddings(queries, entities, [400] * 9000, similarity="sql2")
        assert (ranks.tied == 3).all(), name


@pytest.mark.parametrize("similarity", ["dot", "sql2", "l2"])
@pytest.mark.parametrize("kind", ["int8", "uint8"])
def test_panels_of_bytes_that_are_scored(kind: str, similarity: str) -> None:
    """Where bounds decline a panel, its scores are the sums of bytes; the last one is not full."""
    rng = np.random.default_rng(8)
    info = np.iinfo(kind)
    entities = rng.integers(info.min, info.max + 1, (701, 64)).astype(kind)
    queries = rng.integers(info.min, info.max + 1, (203, 64)).astype(kind)
    queries[:9] = entities[:9]
    targets = rng.integers(0, 701, 203)
    for bias in (None, rng.integers(-9, 10, 701) * 1000.0):
        if bias is not None and similarity == "l2":
            continue
        found = []
        for name in ("off", *_core.bounds_choices()[1:]):
            with levels(name):
                ranks = tr.rank_embeddings(
                    queries, entities, targets, similarity=similarity, bias=bias
                )
                lists = tr.topk_embeddings(queries, entities, 9, similarity=similarity, bias=bias)
            found.append([ranks.above, ranks.tied, lists.ids, lists.scores])
        for arrays in found[1:]:
            for ours, theirs in zip(arrays, found[0], strict=True):
                np.testing.assert_array_equal(ours, theirs)


# --- late interaction


def test_a_token_whose_levels_mislead_has_the_maximum() -> None:
    """C makes the step 1: then B has 702 as its sum of levels, A 640, but A scores more.

    Every document has its negative beside it, so that nothing is subtracted before.
    """
    document = np.repeat([[10.51], [10.49], [127.0]], 64, axis=1)
    document[0, :2] -= 1
    document[2, ::2] *= -1
    documents = np.concatenate([document, -document]).astype(np.float32), [0, 3, 6]
    queries = np.ones((70, 64), np.float32), np.arange(71)
    for name in choices():
        with levels(name):
            scores = tr.score_embeddings(queries, documents, similarity="maxsim")
        assert scores[:, 0] == pytest.approx(64 * 10.49, abs=1e-3), name


def test_tokens_far_from_zero_are_rounded_as_far_as_they_are() -> None:
    """What the mean of the tokens adds to a score is rounded, though bounds take it off before."""
    rng = np.random.default_rng(0)
    tokens = rng.standard_normal((180, 32)) + 10.0 ** rng.uniform(3, 6)
    of_queries = rng.standard_normal((160, 32))
    of_queries -= of_queries.mean(axis=1, keepdims=True)
    queries = of_queries.astype(np.float32), np.arange(0, 161, 2)
    documents = tokens.astype(np.float32), np.arange(0, 181, 3)
    rows, targets = np.repeat(np.arange(80), 60), np.tile(np.arange(60), 80)
    with levels("off"):
        scores = tr.score_embeddings(queries, documents, similarity="maxsim")
    expected = expected_counts(scores, rows, targets, np.ones((4800, 60), bool))
    options: dict[str, Any] = {"rows": rows, "similarity": "maxsim"}
    for name in choices():
        with levels(name):
            ranks = tr.rank_embeddings(queries, documents, targets, **options)
        assert (ranks.above == expected[0]).all(), name
        assert (ranks.tied == expected[1]).all(), name


def test_each_query_has_open_documents_of_its_own() -> None:
    """A tile has tokens of several queries, and is screened for what any of them asks."""
    rng = np.random.default_rng(9)
    starts = np.append(0, np.cumsum(rng.integers(1, 9, 100)))
    tokens = rng.standard_normal((starts[-1], 48)).astype(np.float32)
    queries = rng.standard_normal((180, 48)).astype(np.float32), np.arange(0, 181, 3)
    targets = rng.permutation(100)[:60]
    options: dict[str, Any] = {"similarity": "maxsim"}
    with levels("off"):
        expected = tr.rank_embeddings(queries, (tokens, starts), targets, **options)
    for name in choices():
        with levels(name):
            ranks = tr.rank_embeddings(queries, (tokens, starts), targets, **options)
        assert (ranks.above == expected.above).all(), name
        assert (ranks.tied == expected.tied).all(), name


# --- rows that are scored whole, since bounds leave most of their pairs open


def many_open(similarity: str, added: str) -> NearTies:
    """Make queries of zeros and equal ones, and true scores that most entities share."""
    made = near_ties(4, "normal", "float32", similarity, (19, 200, 12), added)
    made.queries[:5] = 0
    made.queries[5:8] = made.queries[5]
    shared = slice(40, 160)
    of_entities = [made.entities]
    if made.bias is not None:
        of_entities.append(made.bias)
    if made.csls is not None:
        of_entities.append(made.csls.entities)
    for array in of_entities:
        array[shared] = array[shared.start]
    rng = np.random.default_rng(6)
    made.filtered = rng.random((len(made.queries) * 200, 200)) < 0.2
    return made


@pytest.mark.sweep
@pytest.mark.parametrize("added", ["", "bias", "means"])
@pytest.mark.parametrize("similarity", COVERED)
def test_rows_scored_whole(similarity: str, added: str) -> None:
    """Equal queries share a row, also where their means differ; the filter takes pairs out of it.

    The true scores of the equal entities leave 120 pairs of each query open, whatever the bounds.
    """
    if added and similarity not in LINEAR:
        added = ""
    made = many_open(similarity, added)
    tally = check_levels(made)
    assert tally[3] > 19 * 120 * 120 * 0.6
    made.filtered = None
    check_grid(made)
    check_means(made, 3)
    check_lists(made, 50)


# --- the certificates themselves

# Cosine normalises vectors, and the others compute no value in the scores' type.
ROUNDED_ONCE = [name for name in COVERED if name not in ("cosine", "complex_l1", "poincare")]


@pytest.mark.sweep
@pytest.mark.parametrize("family", [name for name in FAMILIES if name not in ("huge", "specials")])
@pytest.mark.parametrize("similarity", ROUNDED_ONCE)
def test_thresholds_on_values_in_rational_arithmetic(similarity: str, family: str) -> None:
    """A score is not below itself, and not above: nor may its value be, beyond both thresholds."""
    for kind, added, length in product(("float32", "float64"), ("", "bias", "means"), (8, 70)):
        made = near_ties(length, family, kind, similarity, (2, 7, length), added)
        if added and similarity not in LINEAR:
            continue
        assert_within_thresholds(made)


def assert_within_thresholds(made: NearTies) -> None:
    """Compare the exact value of every pair with the thresholds that its own score gives."""
    scores = made.scores()
    with np.errstate(invalid="ignore"):
        usable = np.isfinite(scores) & (np.abs(scores) < LARGEST_ADDEND)
    wide = scores.dtype == np.float64
    biases = np.zeros(len(made.entities))
    if made.bias is not None:
        biases = made.bias
    largest_bias = max((abs(float(x)) for x in biases if abs(x) <= LARGEST_ADDEND), default=0.0)
    slope = 1  # of the score, as the value grows
    if made.similarity == "sql2":
        slope *= 2
    if made.csls is not None:
        slope *= 2
    for i, j in zip(*np.nonzero(usable), strict=True):
        q, e = ([Fraction(float(x)) for x in v] for v in (made.queries[i], made.entities[j]))
        offset = Fraction(float(biases[j]))
        means = None
        if made.csls is not None:
            means = float(made.csls.queries[i]), float(np.abs(made.csls.entities).max())
            offset -= Fraction(float(made.csls.entities[j]))
        asked = (wide, len(q), float(scores[i, j]), largest_bias, means)
        above, below, gamma = _core.value_thresholds(made.similarity, *asked)
        if not np.isfinite([above, below]).all():
            continue  # every pair is open
        exact = value(made.similarity, q, e) + offset / slope
        over = max(exact - Fraction(above), Fraction(below) - exact)
        if made.similarity == "dot" and over > 0:  # the rounding of a product's sum is added later
            norms = sum(x * x for x in q) * sum(x * x for x in e)
            assert over**2 <= Fraction(gamma) ** 2 * norms, (i, j)
        else:
            assert over <= 0, (i, j, made.similarity, float(over))


def value(similarity: str, q: list[Fraction], e: list[Fraction]) -> Fraction:
    """Return the value of a pair, by its definition."""
    if similarity == "dot":
        return sum((a * b for a, b in zip(q, e, strict=True)), Fraction(0))
    differences = [a - b for a, b in zip(q, e, strict=True)]
    if similarity.endswith("l1"):
        return -sum((abs(x) for x in differences), Fraction(0))
    return -sum((x * x for x in differences), Fraction(0)) / 2


# --- what is chosen


def test_choices(run_python: Run) -> None:
    assert _core.bounds_choices()[:2] == ["off", "int16"]
    before = _core.bounds()
    for name in choices():
        with levels(name):
            assert _core.bounds() == name
    assert _core.bounds() == before
    assert not _core.choose_bounds("int4")
    assert _core.bounds() == before
    with pytest.raises(AssertionError, match=r"TRUERANK_BOUNDS: "):
        run_python("import truerank", env={"TRUERANK_BOUNDS": "int4"})
    script = "from truerank import _core; print(_core.bounds())"
    assert run_python(script, env={"TRUERANK_BOUNDS": "int16!"}) == "int16!\n"


def tally(name: str, call: Callable[[], object]) -> list[int]:
    """Return how many pairs a call had, and how many were bounded, open and scored."""
    before = _core.bounds_tally()
    with levels(name):
        call()
    return [b - a for a, b in zip(before, _core.bounds_tally(), strict=True)]


def near(entities: Array, queries: int) -> Array:
    """Return queries near the first entities."""
    noise = np.random.default_rng(5).standard_normal((queries, entities.shape[1]))
    return (entities[:queries] + noise / 9).astype(np.float32)


def test_bounds_rest_where_they_do_not_gain() -> None:
    """Few queries, short vectors and hostile data are scored; what is forced is not."""
    rng = np.random.default_rng(4)

    def bounded(queries: int, length: int, *, name: str, hostile: bool = False) -> float:
        entities = rng.standard_normal((2000, length)).astype(np.float32)
        vectors = near(entities, queries)
        if hostile:  # all pairs are ties
            entities[:] = entities[0]
        targets = np.arange(queries)
        call = partial(tr.rank_embeddings, vectors, entities, targets, similarity="l1")
        pairs, taken, *_ = tally(name, call)
        assert pairs == queries * 2000
        return taken / pairs

    # The first panel is scored, the second is tried; then it depends on the time that either takes.
    assert 0 < bounded(80, 64, name="int16") < 1
    for queries, length, hostile in ((60, 64, False), (80, 7, False), (80, 64, True)):
        assert bounded(queries, length, name="int16", hostile=hostile) == 0
        assert bounded(queries, length, name="int16!", hostile=hostile) == 1


# --- what bounds spare, and what a call is told of it


def test_bounds_spare_most_scores_of_both_directions() -> None:
    """Not all entities are targets, and some queries have no tasks; means are of all."""
    left = np.random.default_rng(6).standard_normal((700, 32)).astype(np.float32)
    right = near(left, 700)
    pairs = np.repeat(np.arange(0, 700, 2)[:, None], 2, axis=1)
    task = tr.alignment.Task(pairs, left=700, right=700)
    options: dict[str, Any] = {"similarity": "l2", "threads": 1}
    ranks = tally("int16!", partial(task.evaluate_embeddings, left, right, **options))
    assert ranks[0] == ranks[1] == 2 * 350 * 700
    assert ranks[2] < ranks[1] * 0.09
    means = tally("int16!", partial(csls_means, left, right, 2, **options))
    assert means[0] == means[1] == 2 * 700 * 700
    assert means[2] < means[1] * 0.25


@pytest.mark.parametrize("similarity", COVERED)
def test_bounds_spare_most_scores(similarity: str) -> None:
    entities = np.random.default_rng(5).standard_normal((2000, 32)).astype(np.float32)
    queries = near(entities, 500)
    if similarity == "poincare":  # points of the unit ball
        entities = entities / 16
        queries = queries / 16
    options = scored_by(similarity) | {"threads": 1}
    pairs, bounded, still_open, _ = tally(
        "int16!", partial(tr.topk_embeddings, queries, entities, 2, **options)
    )
    assert bounded > pairs * 0.5
    assert still_open < bounded * 0.09


def test_progress_says_what_bounds_spared() -> None:
    """The counts are those of the call, for all of its sides, whatever else the process counts."""
    entities = np.random.default_rng(7).standard_normal((500, 32)).astype(np.float32)
    queries = near(entities, 90)
    reports: list[tr.Progress] = []
    options: dict[str, Any] = {"similarity": "l2", "progress": reports.append}
    triples = np.arange(90)[:, None] + [0, 0, 1]
    task = tr.link_prediction.Task(triples, entities=500)
    for name in ("off", "int16!"):
        tally(name, lambda: tr.rank_embeddings(queries, entities, np.arange(90), **options))
    sides = {"tail": queries, "head": queries, "entities": entities}
    tally("off", lambda: task.evaluate_embeddings(**sides, **options))
    ends = [report for report in reports if report.bounds is not None]
    assert [report.done for report in ends] == [180_000, 180_000, 360_000]
    assert all(report.done == report.total for report in ends)
    off, on, both_sides = (report.bounds for report in ends)
    assert off == ("off", 45_000, 0, 0, 0)
    assert on is not None
    assert on[:3] == ("int16", 45_000, 45_000)
    assert on.scored <= on.open < 4000
    assert both_sides == ("off", 90_000, 0, 0, 0)
